package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"pawl/internal/store/storetest"
)

// benchUnitBytes is what a benchUnit stores.
const benchUnitBytes = 2*2048 + 300

// BenchmarkRawFdatasync is the disk's limit: the bytes of as many units as
// there are runs in one write and one fdatasync, to a file that grows and to
// one that is there already. A WAL is the second most of the time, but what is
// in it is then written once more, to a file that grows.
func BenchmarkRawFdatasync(b *testing.B) {
	for _, there := range []bool{false, true} {
		for _, units := range []int{1, 50, 500} {
			b.Run(fmt.Sprintf("preallocated=%t/units=%d", there, units), func(b *testing.B) {
				rawFdatasync(b, there, storetest.Noise(1, units*benchUnitBytes))
				b.ReportMetric(float64(b.N*units)/b.Elapsed().Seconds(), "units/s")
			})
		}
	}
}

func rawFdatasync(b *testing.B, there bool, data []byte) {
	file, err := os.Create(filepath.Join(b.TempDir(), "raw"))
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	const size = 32 << 20
	if there {
		if _, err := file.Write(make([]byte, size)); err != nil {
			b.Fatal(err)
		}
		if err := file.Sync(); err != nil {
			b.Fatal(err)
		}
	}
	offset := int64(0)
	b.ResetTimer()
	for range b.N {
		if there && offset+int64(len(data)) > size {
			offset = 0
		}
		if _, err := file.WriteAt(data, offset); err != nil {
			b.Fatal(err)
		}
		offset += int64(len(data))
		if err := syscall.Fdatasync(int(file.Fd())); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
}
