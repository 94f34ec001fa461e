package main

import (
	"slices"
	"testing"
)

// What a mapping has of its own is never dropped: nobody could bring it back.
func TestOnlyWhatTheFileHasIsDropped(t *testing.T) {
	const smaps = `00400000-00401000 r-xp 00000000 fe:00 1    /bin/pawl
Private_Dirty:         0 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
00401000-00402000 r--p 00001000 fe:00 1    /bin/pawl
Private_Dirty:         4 kB
Anonymous:             4 kB
VmFlags: rd mr mw me
00402000-00403000 rw-p 00002000 fe:00 1    /bin/pawl
Private_Dirty:         0 kB
Anonymous:             0 kB
VmFlags: rd wr mr mw me
00403000-00404000 r--p 00000000 fe:00 2    /lib/other
Private_Dirty:         0 kB
Anonymous:             0 kB
VmFlags: rd mr mw me
c000000000-c000400000 rw-p 00000000 00:00 0
Private_Dirty:         0 kB
Anonymous:             0 kB
VmFlags: rd wr mr mw me
00404000-00405000 r--p 00003000 fe:00 1    /bin/pawl
Private_Dirty:         0 kB
Anonymous:             0 kB
VmFlags: rd mr mw me
`
	want := []mapping{{0x400000, 0x401000}, {0x404000, 0x405000}}
	if got := unchanged(smaps, "/bin/pawl"); !slices.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
	rest() // and this process lives
}
