package governor

import (
	"cmp"
	"slices"
	"time"

	"pawl"
)

// desk is who has which places and who waits for some. It has no clock: every method is
// told the time, which never goes back. What follows from a call is collected in moved.
type desk struct {
	limits Limits
	now    time.Time
	pools  []*pool // the machine first, then by name
	runs   map[key]*tenant
	turns  uint64    // how many turns there were
	moved  []*ticket // those that got their places, or will not get them
}

// key names a run of a project.
type key struct {
	project string
	run     pawl.RunID
}

// tenant is a run. It is kept as long as the process lives, in some 300 bytes.
type tenant struct {
	key
	flows  []*flow
	used   time.Duration // of the machine's places
	recent [spans]span
}

// ticket is an effect that waits for its places, or has them.
type ticket struct {
	id      pawl.Seq
	model   string
	account *account  // whose limits it counts against; nil = it calls no model
	flows   [2]*flow  // of the machine, and of its provider or lane
	begun   time.Time // when it got its places; zero = it waits
	err     error     // why it will not get them
	ready   chan struct{}

	patience time.Duration // see [need]
}

// blocked reports whether a ticket waits for more than a place: for its account to open, or for
// the answer of another call.
func (t *ticket) blocked(now time.Time) bool {
	return t.account != nil && (t.account.shut(now) || t.account.probing(t.model) != nil)
}

func newDesk(l Limits, now time.Time) *desk {
	d := &desk{limits: l, now: now, runs: make(map[key]*tenant)}
	d.pools = []*pool{{name: machinePool, slots: l.slots(machinePool)}}
	for _, name := range []string{noNetLane, netLane, heavyLane} {
		d.pool(name)
	}
	return d
}

func (d *desk) machine() *pool { return d.pools[0] }

// pool is the one of a name. A provider's is made when it is first used.
func (d *desk) pool(name string) *pool {
	i, found := slices.BinarySearchFunc(d.pools[1:], name, func(p *pool, name string) int { return cmp.Compare(p.name, name) })
	if i++; found {
		return d.pools[i]
	}
	p := &pool{name: name, slots: d.limits.slots(name)}
	d.pools = slices.Insert(d.pools, i, p)
	return p
}

func (d *desk) tenant(k key) *tenant {
	t := d.runs[k]
	if t == nil {
		t = &tenant{key: k}
		d.runs[k] = t
	}
	return t
}

// flow is what the run has of a pool; a new one comes last in the round.
func (d *desk) flow(t *tenant, p *pool) *flow {
	for _, f := range t.flows {
		if f.pool == p {
			return f
		}
	}
	d.turns++
	f := &flow{run: t, pool: p, served: d.turns}
	t.flows, p.flows = append(t.flows, f), append(p.flows, f)
	return f
}

// take asks for the places of an effect.
func (d *desk) take(now time.Time, k key, id pawl.Seq, n need) *ticket {
	d.pass(now)
	p, run := d.pool(n.pool), d.tenant(k)
	t := &ticket{id: id, model: n.model, patience: n.patience, account: p.account(n.account, d.now), ready: make(chan struct{})}
	if t.account != nil {
		if t.err = t.account.refuses(d.now, t); t.err != nil {
			d.moved = append(d.moved, t)
			return t
		}
		t.account.tickets++
	}
	t.flows = [2]*flow{d.flow(run, d.machine()), d.flow(run, p)}
	for _, f := range t.flows {
		f.waiting++
		f.pool.waiting++
	}
	q := &t.flows[1].queue
	i, _ := slices.BinarySearchFunc(*q, id, func(t *ticket, id pawl.Seq) int { return cmp.Compare(t.id, id) })
	*q = slices.Insert(*q, i, t)
	d.serve()
	return t
}

// give takes the places of an effect back, or its place in the queue. The answer tells
// of the account; nil = there was none. Giving again does nothing.
func (d *desk) give(now time.Time, t *ticket, answer pawl.Answer) {
	d.pass(now)
	switch {
	case t.flows[0] == nil:
		return
	case t.begun.IsZero():
		d.unqueue(t)
	default:
		for _, f := range t.flows {
			f.running--
			f.pool.used--
		}
	}
	p := t.flows[1].pool
	d.leave(t)
	if t.account != nil && t.account.learn(d.now, t, answer) {
		d.refuse(p, t.account)
	}
	d.serve()
}

// leave lets go of a ticket that neither waits nor has places any more.
func (d *desk) leave(t *ticket) {
	for _, f := range t.flows {
		f.leave()
	}
	t.flows = [2]*flow{}
	if t.account != nil {
		t.account.tickets--
	}
}

func (d *desk) unqueue(t *ticket) {
	for _, f := range t.flows {
		f.waiting--
		f.pool.waiting--
	}
	q := &t.flows[1].queue
	*q = slices.DeleteFunc(*q, func(x *ticket) bool { return x == t })
}

// refuse lets go of the effects that wait for an account of a pool and would fail.
func (d *desk) refuse(p *pool, a *account) {
	for _, f := range slices.Clone(p.flows) {
		for _, t := range slices.Clone(f.queue) {
			if t.account != a {
				continue
			}
			if t.err = a.refuses(d.now, t); t.err == nil {
				continue
			}
			d.unqueue(t)
			d.leave(t)
			d.moved = append(d.moved, t)
		}
	}
}

// retry ends the rest of each breaker.
func (d *desk) retry(now time.Time) {
	d.pass(now)
	for a := range d.accounts {
		for _, b := range a.breakers {
			b.until = d.now
		}
	}
}

// accounts goes through all accounts there are.
func (d *desk) accounts(yield func(*account) bool) {
	for _, p := range d.pools {
		for _, a := range p.accounts {
			if !yield(a) {
				return
			}
		}
	}
}

// tick lets time pass: an account may have opened.
func (d *desk) tick(now time.Time) {
	d.pass(now)
	d.serve()
}

// opens is when the next account opens that effects wait for; zero = none does.
func (d *desk) opens() time.Time {
	var next time.Time
	for _, p := range d.pools {
		for _, f := range p.flows {
			for _, t := range f.queue {
				if t.account.shut(d.now) && (next.IsZero() || t.account.until.Before(next)) {
					next = t.account.until
				}
			}
		}
	}
	return next
}

// serve gives places to effects until no effect can have its own.
func (d *desk) serve() {
	for t := d.next(); t != nil; t = d.next() {
		d.turns++
		t.begun = d.now
		d.unqueue(t)
		for _, f := range t.flows {
			f.running++
			f.pool.used++
			f.served = d.turns
		}
		if t.account != nil {
			t.account.begin(t)
		}
		d.moved = append(d.moved, t)
	}
}

// next is the effect that is served next; nil = none can be.
func (d *desk) next() *ticket {
	m := d.machine()
	if m.full() || m.waiting == 0 {
		return nil
	}
	for _, p := range d.pools[1:] {
		p.turn = nil
		p.open = !p.full()
		if free := p.slots - p.used; p.open && p.ready(d.now) > free && free <= m.slots-m.used { // it is what is scarce
			p.turn = p.choose(func(f *flow) bool { return f.first(d.now) != nil && !f.barred() })
		}
	}
	f := m.choose(func(f *flow) bool { return f.run.oldest(d.now) != nil })
	if f == nil {
		return nil
	}
	return f.run.oldest(d.now)
}

// oldest is the run's oldest effect that may have its places now.
func (t *tenant) oldest(now time.Time) *ticket {
	var out *ticket
	for _, f := range t.flows {
		p := f.pool
		if !p.open || p.turn != nil && p.turn != f || f.barred() {
			continue
		}
		if first := f.first(now); first != nil && (out == nil || first.id < out.id) {
			out = first
		}
	}
	return out
}

// pass lets time pass up to now: whoever has places is charged for it where others wait.
func (d *desk) pass(now time.Time) {
	dt := now.Sub(d.now)
	if dt <= 0 {
		return
	}
	for _, f := range d.machine().flows {
		f.run.spend(d.now, dt, f.running)
	}
	for _, p := range d.pools {
		switch {
		case p.waiting == 0:
			p.forgive(dt)
		case p.full():
			p.charge(dt)
		}
	}
	d.now = now
}
