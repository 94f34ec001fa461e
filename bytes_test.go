package pawl_test

import (
	"testing"

	"pawl"
)

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 bytes", 999: "999 bytes", 1000: "1 kB", 1999: "1.9 kB", 999_999: "999.9 kB", 1_000_000: "1 MB", 10_000_000_000: "10 GB",
		2_560_000_000_000: "2.5 TB", 1_000_000_000_000_000: "1000 TB", 1<<63 - 1: "9223372 TB",
	} {
		if got := pawl.Bytes(n).String(); got != want {
			t.Errorf("%d bytes are %q, want %q", n, got, want)
		}
	}
}
