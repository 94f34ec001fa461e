package pawl_test

import (
	"testing"
	"time"

	"pawl"
)

func TestRoomLimits(t *testing.T) {
	const machine = 10_000_000_000 // bytes
	for name, c := range map[string]struct {
		limits pawl.RoomLimits
		memory int64
	}{
		"Default":           {pawl.RoomLimits{}, 8_000_000_000},
		"Bytes":             {pawl.RoomLimits{Memory: 9_500_000_000}, 9_500_000_000},
		"Percent":           {pawl.RoomLimits{MemoryPercent: 25}, 2_500_000_000},
		"BytesBelowPercent": {pawl.RoomLimits{Memory: 1_000_000_000, MemoryPercent: 80}, 1_000_000_000},
		"PercentBelowBytes": {pawl.RoomLimits{Memory: 9_500_000_000, MemoryPercent: 80}, 8_000_000_000},
	} {
		if got := c.limits.Filled().MemoryOf(machine); got != c.memory {
			t.Errorf("%s: %d bytes of memory, want %d", name, got, c.memory)
		}
	}
	own := pawl.RoomLimits{Processes: 1, Memory: 2, FileSize: 3, Disk: 4, Files: 5, CPU: time.Second}
	if got := own.Filled(); got != own {
		t.Errorf("limits that are set become %+v", got)
	}
	if got := (pawl.RoomLimits{}).Filled(); got != pawl.DefaultRoomLimits {
		t.Errorf("limits that are not set become %+v", got)
	}
}

func TestRoomLimitsCheck(t *testing.T) {
	for _, l := range []pawl.RoomLimits{{}, pawl.DefaultRoomLimits, {Processes: 64, Memory: 64 << 20, FileSize: 1, Disk: 1, Files: 1, CPU: time.Second}} {
		if err := l.Check(); err != nil {
			t.Errorf("%+v: %v", l, err)
		}
	}
	for _, l := range []pawl.RoomLimits{{Processes: 63}, {Memory: 1 << 20}, {MemoryPercent: -1}, {FileSize: -1}, {Disk: -1}, {Files: -1}, {CPU: -time.Second}} {
		if err := l.Check(); pawl.CodeOf(err) != pawl.CodeInvalid {
			t.Errorf("%+v: error %v, want an invalid one", l, err)
		}
	}
}

// A line about a limit says which setting changes it.
func TestResourceMet(t *testing.T) {
	for want, m := range map[string]pawl.ResourceMet{
		"the limit of 64 processes was met (limits.room.processes)":            {Resource: pawl.ResourceProcesses, Max: 64},
		"the limit of 200 MB of memory was met (limits.room.memory)":           {Resource: pawl.ResourceMemory, Max: 200_000_000},
		"the limit of 20000 MB of disk space was met (limits.room.disk)":       {Resource: pawl.ResourceDisk, Max: 20_000_000_000},
		"the limit of 100 files was met (limits.room.files)":                   {Resource: pawl.ResourceFiles, Max: 100},
		"the limit of 50 MB for one file was met (limits.room.file_size)":      {Resource: pawl.ResourceFileSize, Max: 50_000_000},
		"the limit of 3 seconds of CPU time was met (limits.room.cpu_seconds)": {Resource: pawl.ResourceCPU, Max: 3},
	} {
		if got := m.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
