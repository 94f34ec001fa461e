package governor

import (
	"testing"
	"time"

	"pawl"
	"pawl/internal/driver"
)

// Of the closed accounts that effects wait for, opens returns the time of the one that
// opens first.
func TestOpens(t *testing.T) {
	type account struct {
		closed  time.Duration // from now
		waiting bool          // an effect waits for it
	}
	for name, test := range map[string]struct {
		a, b account
		want time.Duration // 0 = none
	}{
		"None":            {account{}, account{}, 0},
		"NobodyWaits":     {account{5, false}, account{3, false}, 0},
		"OpenAndFull":     {account{0, true}, account{-1, true}, 0},
		"First":           {account{3, true}, account{5, true}, 3},
		"Second":          {account{5, true}, account{3, true}, 3},
		"OnlyWithWaiters": {account{3, false}, account{5, true}, 5},
		"OnlyClosed":      {account{0, true}, account{5, true}, 5},
	} {
		d := newDesk(Limits{Machine: 64}, start)
		for i, a := range []account{test.a, test.b} {
			pool := accountPrefix + string(rune('a'+i))
			d.take(start, key{"p", "001-a"}, 1, need{pool: pool, model: "m"}) // takes the only place
			if a.waiting {
				d.take(start, key{"p", "001-a"}, 2, need{pool: pool, model: "m"})
			}
			d.pool(pool).account(pawl.Account{}, start).until = start.Add(a.closed)
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

// The probe is the call that gets its places first, not the one that arrives first: a call that
// waits for the machine or a lane keeps no other from being the probe. F-15
func TestTheProbeIsWhoIsServed(t *testing.T) {
	const pool = accountPrefix + "a"
	d := newDesk(Limits{Machine: 2, Calls: 8, Heavy: 3}, start)
	a, b, c := key{"p", "a"}, key{"p", "b"}, key{"p", "c"}
	call := need{pool: pool, model: "m"}
	d.give(start, d.take(start, a, 1, call), failure(pawl.ModelQuota, 0))
	now := start.Add(BreakerRest)
	gates := []*ticket{d.take(now, a, 2, need{pool: heavyLane}), d.take(now, a, 3, need{pool: heavyLane})} // the machine is full
	first, second, third := d.take(now, a, 4, call), d.take(now, b, 1, call), d.take(now, c, 1, call)
	for _, x := range []*ticket{first, second, third} {
		if x.err != nil || !x.begun.IsZero() {
			t.Fatalf("call %d of %s does not wait for the machine: %v", x.id, x.flows[0].run.run, x.err)
		}
	}
	account := first.account
	if account.probing("m") != nil || d.waitsFor(d.tenant(b)) != machinePool {
		t.Errorf("while the machine is full there is a probe, or b waits for %s", d.waitsFor(d.tenant(b)))
	}
	now = now.Add(time.Minute) // a keeps the others waiting and is charged for it
	d.give(now, gates[0], nil)
	if second.begun.IsZero() || !first.begun.IsZero() || !third.begun.IsZero() || account.probing("m").probe != second {
		t.Fatal("the probe is not the call of the run whose turn it is")
	}
	d.give(now, gates[1], nil)
	if !d.opens().IsZero() || !first.begun.IsZero() || !third.begun.IsZero() || d.waitsFor(d.tenant(a)) != pool {
		t.Errorf("beside a probe another call begins, waits for a time or for %s", d.waitsFor(d.tenant(a)))
	}
	d.give(now, second, nil)
	if third.begun.IsZero() == first.begun.IsZero() || account.probing("m") == nil {
		t.Error("of those that wait not one is the next probe")
	}
	for _, x := range []*ticket{first, third, first} { // one that waits gives up its place in the queue
		d.give(now, x, nil)
	}
	if account.probing("m") != nil || account.tickets != 0 || len(d.pool(pool).flows) != 0 {
		t.Error("something is left")
	}
}

// A limit keeps the probe of a breaker back until it is over, and then lets one call through. F-15
func TestLimitAndBreaker(t *testing.T) {
	d := newDesk(Limits{Machine: 8, Calls: 8}, start)
	k, call := key{"p", "a"}, need{pool: accountPrefix + "a", model: "m"}
	d.give(start, d.take(start, k, 1, call), failure(pawl.ModelQuota, 0))
	now := start.Add(BreakerRest)
	d.give(now, d.take(now, k, 2, call), failure(pawl.ModelRateLimit, time.Hour))
	opens := now.Add(time.Hour)
	first, second := d.take(now, k, 3, call), d.take(now, k, 4, call)
	if !d.opens().Equal(opens) || !first.begun.IsZero() {
		t.Errorf("the account opens at %s, want %s", d.opens(), opens)
	}
	if l, waits := d.waits(now, k, 3); !waits || !closedOf(l).Until.Equal(opens) {
		t.Errorf("it waits %t for %+v", waits, l)
	}
	d.tick(opens)
	if first.begun.IsZero() || !second.begun.IsZero() || !d.opens().IsZero() {
		t.Error("when the limit is over, not one call is let through")
	}
	d.give(opens, first, &pawl.ModelReplied{})
	if second.begun.IsZero() {
		t.Error("after the probe's success the next call does not begin")
	}
}

// A call that two breakers concern is the probe of both. F-15
func TestProbeOfTwoBreakers(t *testing.T) {
	d := newDesk(Limits{Machine: 8, Calls: 8}, start)
	k, pool := key{"p", "a"}, accountPrefix+"a"
	m, n := need{pool: pool, model: "m"}, need{pool: pool, model: "n"}
	x, y := d.take(start, k, 1, m), d.take(start, k, 2, n)
	d.give(start, x, failure(pawl.ModelAuth, 0))
	d.give(start, y, failure(pawl.ModelQuota, 0))
	d.retry(start)
	probe, sameModel, otherModel := d.take(start, k, 3, m), d.take(start, k, 4, m), d.take(start, k, 5, n)
	if probe.begun.IsZero() || !sameModel.begun.IsZero() || !otherModel.begun.IsZero() {
		t.Fatal("it is not the only call that is sent")
	}
	d.give(start, probe, failure(pawl.ModelAuth, 0)) // says nothing of the quota
	if sameModel.err == nil || otherModel.err != nil || otherModel.begun.IsZero() {
		t.Errorf("after the key is refused for m, its other call gets %v and the call of n %v", sameModel.err, otherModel.err)
	}
	d.give(start, otherModel, &pawl.ModelReplied{})
	if a := otherModel.account; len(a.breakers) != 1 || a.breakers[0].model != "m" {
		t.Errorf("%d breakers are left, want the one of m", len(a.breakers))
	}
}

// When both the machine and a lane have free places, the one with fewer of them chooses the
// next run. The lane chooses if both have the same number.
func TestTheScarcePoolChooses(t *testing.T) {
	a, b := key{"p", "a"}, key{"p", "b"}
	serve := func(l Limits, other string, holds, blocks int) (order string) {
		d, id := newDesk(l, start), pawl.Seq(0)
		take := func(k key, lane string) *ticket {
			id++
			return d.take(start, k, id, need{pool: lane, model: "m"})
		}
		for range holds { // run a already has places of the machine
			take(a, other)
		}
		var blockers []*ticket
		for range blocks { // run x has the places that a and b will wait for
			blockers = append(blockers, take(key{"p", "x"}, noNetLane))
		}
		for range 2 {
			take(a, noNetLane)
			take(b, noNetLane)
		}
		now := start.Add(quantum) // the credit of the first round is used up
		for _, x := range blockers {
			d.moved = nil
			d.give(now, x, nil)
			for i := 0; i < len(d.moved); i++ { // each effect ends at once
				y := d.moved[i]
				order += string(y.flows[0].run.run)
				d.give(now, y, nil)
			}
		}
		return order
	}
	// The machine has fewer free places than the lane. b is served first, because it has no
	// place of the machine.
	if got := serve(Limits{Machine: 3, Heavy: 3, NoNet: 3}, heavyLane, 2, 1); got != "bbaa" {
		t.Errorf("with the machine scarcer they are served in the order %s, want bbaa", got)
	}
	// The machine and the lane have one free place each: a and b take turns in the lane.
	if got := serve(Limits{Machine: 2, Heavy: 1, NoNet: 1}, heavyLane, 1, 1); got != "abab" {
		t.Errorf("with both equally scarce they are served in the order %s, want abab", got)
	}
	// The lane has four places and the machine has many: a and b take turns in the lane.
	if got := serve(Limits{Machine: 64, Heavy: 9, NoNet: 4}, heavyLane, 8, 4); got != "abab" {
		t.Errorf("with the lane scarcer they are served in the order %s, want abab", got)
	}
}

// waitsFor returns the full pool that the oldest effect of a run waits for, and "" if no
// effect waits.
func TestWhatARunWaitsFor(t *testing.T) {
	for _, test := range []struct {
		heavy, net pawl.Seq // the effect that waits for each lane; 0 = none
		want       string
	}{{10, 11, heavyLane}, {11, 10, netLane}, {0, 10, netLane}, {0, 0, ""}} {
		d := newDesk(Limits{Machine: 64}, start)
		for i, lane := range []string{heavyLane, netLane} {
			d.take(start, key{"p", "other"}, pawl.Seq(i), need{pool: lane}) // takes the only place
		}
		k := key{"p", "a"}
		if test.heavy > 0 {
			d.take(start, k, test.heavy, need{pool: heavyLane})
		}
		if test.net > 0 {
			d.take(start, k, test.net, need{pool: netLane})
		}
		if got := d.waitsFor(d.tenant(k)); got != test.want {
			t.Errorf("with effect %d waiting for heavy and %d for net the run waits for %q, want %q", test.heavy, test.net, got, test.want)
		}
	}
}

// A tick without elapsed time changes no run's credit.
func TestNoTimePasses(t *testing.T) {
	d := newDesk(Limits{Machine: 2}, start)
	d.take(start, key{"p", "a"}, 1, need{pool: heavyLane})
	f := d.machine().flows[0]
	f.deficit = quantum / 2
	if d.tick(start); f.deficit != quantum/2 {
		t.Errorf("after a tick without elapsed time the credit is %s, want %s", f.deficit, quantum/2)
	}
	if d.tick(start.Add(1)); f.deficit != 0 {
		t.Errorf("after elapsed time without waiting effects the credit is %s, want 0", f.deficit)
	}
}

// lately returns what a run has used in the last minute, in spans of five seconds.
func TestLately(t *testing.T) {
	type use struct {
		from, length time.Duration
		places       int
	}
	const s = time.Second
	for name, test := range map[string]struct {
		uses       []use
		now        time.Duration
		used, want time.Duration
	}{
		"Nothing":        {nil, s, 0, 0},
		"NoPlaces":       {[]use{{0, 7 * s, 0}}, 7 * s, 0, 0},
		"Now":            {[]use{{0, 7 * s, 2}}, 7 * s, 14 * s, 14 * s},
		"WithinAMinute":  {[]use{{0, 7 * s, 2}}, 59 * s, 14 * s, 14 * s},
		"PartlyWithin":   {[]use{{0, 7 * s, 2}}, 60 * s, 14 * s, 4 * s},
		"Outside":        {[]use{{0, 7 * s, 2}}, 65 * s, 14 * s, 0},
		"AcrossTwoSpans": {[]use{{3 * s, 4 * s, 1}}, 60 * s, 4 * s, 2 * s},
		"Added":          {[]use{{0, s, 1}, {s, 2 * s, 3}}, 3 * s, 7 * s, 7 * s},
		"AMinute":        {[]use{{0, 60 * s, 1}}, 60 * s, 60 * s, 55 * s},
		"FiveMinutes":    {[]use{{0, 300 * s, 1}}, 300 * s, 300 * s, 55 * s},
		"AMinuteApart":   {[]use{{0, 5 * s, 1}, {60 * s, 5 * s, 1}}, 64 * s, 10 * s, 5 * s},
	} {
		var run tenant
		for _, u := range test.uses {
			run.spend(start.Add(u.from), u.length, u.places)
		}
		if got := run.lately(start.Add(test.now)); got != test.want || run.used != test.used {
			t.Errorf("%s: the run has used %s lately and %s in all, want %s and %s", name, got, run.used, test.want, test.used)
		}
	}
}

// A project has all heavy places but one, so that another one's gate begins at once. A gate that was light
// on the base needs none. F-69
func TestHeavyPlacesOfAProject(t *testing.T) {
	d := newDesk(Limits{Machine: 16, NoNet: 2, Heavy: 3}, start)
	heavy := needs(driver.Job{Effect: &pawl.Effect{Do: &pawl.RunGate{}}})
	light := needs(driver.Job{Effect: &pawl.Effect{Do: &pawl.RunGate{Light: true}}})
	a, b, other := key{"shop", "a"}, key{"shop", "b"}, key{"till", "a"}
	first, second := d.take(start, a, 1, heavy), d.take(start, b, 1, heavy)
	third := d.take(start, a, 2, heavy)
	if first.begun.IsZero() || second.begun.IsZero() || !third.begun.IsZero() {
		t.Fatal("of three heavy places a project does not have two")
	}
	if w, waits := d.waits(start, a, 2); !waits || w.Name != heavyLane || w.Slots != 2 || w.Used != 2 || d.waitsFor(d.tenant(a)) != heavyLane {
		t.Errorf("the third gate waits (%t) for %+v", waits, w)
	}
	if x := d.take(start, a, 3, light); x.begun.IsZero() {
		t.Error("a light gate waits")
	}
	if x := d.take(start, other, 1, heavy); x.begun.IsZero() {
		t.Error("the gate of another project waits")
	}
	d.give(start, first, nil)
	if third.begun.IsZero() {
		t.Error("the third gate does not begin when the project has given a place back")
	}
	one := newDesk(Limits{Machine: 16, Heavy: 1}, start) // a project may have the only one
	if x := one.take(start, a, 1, heavy); x.begun.IsZero() {
		t.Error("the only heavy place stays empty")
	}
}
