package prompt

import (
	"strings"
	"testing"
	"time"

	"pawl"
)

// What a fork has in common with the run it is of is told once, as the fork has it;
// under a number that it has given to something else the other run's is none of its
// records.
func TestForkToldOnce(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	entry := func(run pawl.RunID, seq pawl.Seq, learning int, text string) pawl.MemoryEntry {
		return pawl.MemoryEntry{Run: run, Seq: seq, Time: at.Add(time.Duration(seq)), Kind: pawl.MemoryDecision, Learning: learning, Text: text}
	}
	first := []pawl.MemoryEntry{entry("007-x", 5, 1, "common"), entry("007-x", 9, 2, "of the first"), entry("007-x", 10, 3, "later")}
	own := []pawl.MemoryEntry{entry("007-x-r2", 5, 1, "common"), entry("007-x-r2", 7, 2, "of the fork")}
	other := entry("006-y", 5, 1, "common") // says the same, but is another event
	other.Time = at.Add(time.Hour)
	for name, c := range map[string]struct {
		earlier, found []pawl.MemoryEntry
		want           string
	}{
		"AllOfTask": {first, own, "007-x later 007-x-r2 common 007-x-r2 of the fork"},
		"Project":   {nil, append([]pawl.MemoryEntry{other, first[0]}, own...), "006-y common 007-x-r2 common 007-x-r2 of the fork"},
		"OfOthers":  {nil, []pawl.MemoryEntry{first[1], entry("007-x-r3", 9, 2, "of the first")}, "007-x of the first"},
	} {
		var got []string
		for _, e := range once("007-x-r2", c.earlier, c.found) {
			got = append(got, string(e.Run)+" "+e.Text)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s, want %s", name, s, c.want)
		}
	}
}
