package governor

import (
	"cmp"
	"slices"
	"time"

	"pawl"
)

// The last minute is kept in spans of five seconds.
const (
	spanLength = 5 * time.Second
	spans      = int(time.Minute / spanLength)
)

// span is what a run used in one span of time.
type span struct {
	n    int64 // the span's number, since 1970
	used time.Duration
}

// spend notes that the run had places for a time.
func (t *tenant) spend(from time.Time, dt time.Duration, places int) {
	if places == 0 {
		return
	}
	t.used += time.Duration(places) * dt
	early := max(0, dt-time.Minute) // use that is too old for lately
	from, dt = from.Add(early), dt-early
	for dt > 0 {
		n := from.UnixNano() / int64(spanLength)
		part := min(dt, time.Duration((n+1)*int64(spanLength)-from.UnixNano()))
		s := &t.recent[int(n)%spans]
		if s.n != n {
			*s = span{n: n}
		}
		s.used += time.Duration(places) * part
		from, dt = from.Add(part), dt-part
	}
}

// lately is what the run used in the minute before now.
func (t *tenant) lately(now time.Time) (sum time.Duration) {
	n := now.UnixNano() / int64(spanLength)
	for _, s := range t.recent {
		if s.n > n-int64(spans) {
			sum += s.used
		}
	}
	return sum
}

// load returns how the pool is used.
func (d *desk) load(now time.Time) pawl.Load {
	d.pass(now)
	out := pawl.Load{At: now, Pools: []pawl.PoolLoad{}, Runs: []pawl.RunLoad{}}
	for _, p := range d.pools {
		out.Pools = append(out.Pools, p.load(now))
	}
	var all time.Duration
	for _, t := range d.runs {
		all += t.lately(now)
	}
	for _, f := range d.machine().flows {
		if f.running == 0 && f.waiting == 0 {
			continue
		}
		out.Runs = append(out.Runs, pawl.RunLoad{
			Project: f.run.project, Run: f.run.run, Running: f.running, Waiting: f.waiting, Used: f.run.used,
			Share: int((100*f.run.lately(now) + all/2) / max(all, 1)), For: d.waitsFor(f.run),
		})
	}
	slices.SortFunc(out.Runs, func(a, b pawl.RunLoad) int {
		return cmp.Or(cmp.Compare(b.Running, a.Running), cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(b.Share, a.Share),
			cmp.Compare(a.Project, b.Project), cmp.Compare(a.Run, b.Run))
	})
	return out
}

// waitsFor is the pool that the run's oldest waiting effect waits for.
func (d *desk) waitsFor(t *tenant) string {
	var oldest *ticket
	for _, f := range t.flows {
		if len(f.queue) > 0 && (oldest == nil || f.queue[0].id < oldest.id) {
			oldest = f.queue[0]
		}
	}
	if oldest == nil {
		return ""
	}
	return d.lacks(oldest).name
}

// lacks returns the pool that keeps a ticket waiting.
func (d *desk) lacks(t *ticket) *pool {
	if p := t.flows[1].pool; p.full() || t.flows[1].barred() || t.blocked(d.now) {
		return p
	}
	return d.machine()
}

// waits returns the pool that an effect of a run waits for. It reports false when the effect
// does not wait.
func (d *desk) waits(now time.Time, k key, id pawl.Seq) (pawl.PoolLoad, bool) {
	d.pass(now)
	if run := d.runs[k]; run != nil {
		for _, f := range run.flows {
			for _, t := range f.queue {
				if t.id == id {
					return d.waitOf(t, k.project), true
				}
			}
		}
	}
	return pawl.PoolLoad{}, false
}

// waitOf returns what a ticket waits for, in the eyes of a project. While a probe is under way
// its account has one place, which the probe has; nobody knows until when.
func (d *desk) waitOf(t *ticket, project string) pawl.PoolLoad {
	p, a := d.lacks(t), t.account
	l := p.load(d.now)
	l.Accounts = nil
	if f := t.flows[1]; f.pool == p && !p.full() && f.barred() { // of the places for its project
		l.Slots, l.Used = p.slots-1, f.held()
	}
	if !t.blocked(d.now) {
		return p.seenBy(project, l)
	}
	if a.shut(d.now) {
		l.Accounts = []pawl.AccountLoad{{Account: a.String(), Until: a.until, Why: cut(a.why)}}
		return p.seenBy(project, l)
	}
	b := a.probing(t.model)
	l.Accounts = []pawl.AccountLoad{{Account: a.String(), Why: cut(b.failure.Message)}}
	l.Slots, l.Used = 1, 1
	if by := b.probe.flows[0].run; by.project == project {
		l.Runs = []pawl.RunID{by.run}
	} else {
		l.Elsewhere = 1
	}
	return l
}

// seenBy adds who has the places of a pool, in the eyes of a project.
func (p *pool) seenBy(project string, l pawl.PoolLoad) pawl.PoolLoad {
	for _, f := range p.flows {
		switch {
		case f.running == 0:
		case f.run.project == project:
			l.Runs = append(l.Runs, f.run.run)
		default:
			l.Elsewhere += f.running
		}
	}
	slices.Sort(l.Runs)
	return l
}

// load returns what the pool is used for.
func (p *pool) load(now time.Time) pawl.PoolLoad {
	l := pawl.PoolLoad{Name: p.name, Slots: p.slots, Used: p.used, Waiting: p.waiting}
	for _, a := range p.accounts {
		if load, limited := a.load(now); limited {
			l.Accounts = append(l.Accounts, load)
		}
	}
	return l
}
