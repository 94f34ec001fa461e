package governor

import (
	"testing"
	"time"
)

// The next account to open is the earliest of those that are closed and waited for.
func TestOpens(t *testing.T) {
	type account struct {
		closed  time.Duration // from now
		waiting bool
	}
	for name, test := range map[string]struct {
		a, b account
		want time.Duration // 0 = none
	}{
		"None":           {account{}, account{}, 0},
		"NobodyWaits":    {account{5, false}, account{3, false}, 0},
		"OpenAndFull":    {account{0, true}, account{-1, true}, 0},
		"First":          {account{3, true}, account{5, true}, 3},
		"Second":         {account{5, true}, account{3, true}, 3},
		"OnlyWhoWaits":   {account{3, false}, account{5, true}, 5},
		"OnlyWhatIsShut": {account{0, true}, account{5, true}, 5},
	} {
		d := newDesk(Limits{Machine: 64}, start)
		for i, a := range []account{test.a, test.b} {
			pool := accountPrefix + string(rune('a'+i))
			d.take(start, key{"p", "001-a"}, 1, pool, "m") // has the only place
			if a.waiting {
				d.take(start, key{"p", "001-a"}, 2, pool, "m")
			}
			d.pool(pool).account.until = start.Add(a.closed)
		}
		want := start.Add(test.want)
		if test.want == 0 {
			want = time.Time{}
		}
		if got := d.opens(); !got.Equal(want) {
			t.Errorf("%s: the next account opens at %s, want %s", name, got, want)
		}
	}
}
