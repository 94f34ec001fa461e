package governor

import (
	"slices"
	"strings"
	"time"

	"pawl"
)

// quantum is what a round gives to each run. Between runs whose deficits differ by
// less, the number of places they have decides.
const quantum = time.Second

// pool is a number of places and the runs that have or want some of them.
type pool struct {
	name     string
	slots    int
	used     int
	waiting  int
	flows    []*flow    // in the order they came
	accounts []*account // of a provider's pool, in the order they came
	turn     *flow      // whose turn it is while choosing; nil = everybody's
	open     bool       // while choosing: it has free slots
}

// flow is what one run has of one pool.
type flow struct {
	run     *tenant
	pool    *pool
	running int
	waiting int
	deficit time.Duration // time in places it may still use; below zero, what it owes
	served  uint64        // the number of its last turn
	queue   []*ticket     // that wait, oldest first; of accounts and lanes only
}

func (p *pool) full() bool { return p.used >= p.slots }

// barred reports whether a run waits because its project has all heavy places but one, which is for
// other projects. It does not if there is only one.
func (f *flow) barred() bool {
	return f.pool.name == heavyLane && f.pool.slots > 1 && f.held() >= f.pool.slots-1
}

// held returns how many places of the pool the runs of the flow's project have.
func (f *flow) held() (n int) {
	for _, o := range f.pool.flows {
		if o.run.project == f.run.project {
			n += o.running
		}
	}
	return n
}

// account returns what is known of an account; nil in a pool that has none.
func (p *pool) account(of pawl.Account, now time.Time) *account {
	if !strings.HasPrefix(p.name, accountPrefix) {
		return nil
	}
	p.accounts = slices.DeleteFunc(p.accounts, func(a *account) bool { return a.Account != of && a.idle(now) })
	for _, a := range p.accounts {
		if a.Account == of {
			return a
		}
	}
	a := &account{Account: of}
	p.accounts = append(p.accounts, a)
	return a
}

// first is the oldest ticket that waits for nothing but a place; nil = there is none.
func (f *flow) first(now time.Time) *ticket {
	for _, t := range f.queue {
		if !t.blocked(now) {
			return t
		}
	}
	return nil
}

// ready counts the tickets that wait for a place alone.
func (p *pool) ready(now time.Time) int {
	n := p.waiting
	for _, a := range p.accounts {
		if a.open(now) {
			continue
		}
		for _, f := range p.flows {
			for _, t := range f.queue {
				if t.account == a && t.blocked(now) {
					n--
				}
			}
		}
	}
	return n
}

// charge lets time pass in which the pool is full and effects wait: whoever keeps
// another run waiting is charged.
func (p *pool) charge(dt time.Duration) {
	for _, f := range p.flows {
		if p.waiting > f.waiting {
			f.deficit -= time.Duration(f.running) * dt
		}
	}
}

// forgive lets time pass in which nobody waits.
func (p *pool) forgive(dt time.Duration) {
	for i := len(p.flows) - 1; i >= 0; i-- {
		f := p.flows[i]
		f.deficit = min(0, f.deficit+time.Duration(p.slots)*dt)
		f.leave()
	}
}

// leave forgets a flow that has nothing, wants nothing and owes nothing.
func (f *flow) leave() {
	if f.running > 0 || f.waiting > 0 || f.deficit < 0 {
		return
	}
	drop(&f.pool.flows, f)
	drop(&f.run.flows, f)
}

func drop(list *[]*flow, f *flow) {
	if i := slices.Index(*list, f); i >= 0 {
		*list = slices.Delete(*list, i, i+1)
	}
}

// choose is the flow whose turn it is among those that can be served; nil = none can.
func (p *pool) choose(can func(*flow) bool) *flow {
	var best, least *flow // least: the one that owes least
	for _, f := range p.flows {
		if !can(f) {
			continue
		}
		if least == nil || f.deficit > least.deficit {
			least = f
		}
		if f.deficit > 0 && (best == nil || f.before(best)) {
			best = f
		}
	}
	if best != nil || least == nil {
		return best
	}
	p.rounds(1 + -least.deficit/quantum)
	return p.choose(can)
}

// before reports whether f is served sooner than g when both may be.
func (f *flow) before(g *flow) bool {
	if f.running != g.running {
		return f.running < g.running
	}
	return f.served < g.served
}

// rounds gives each run so many quanta. One that wants nothing is paid its debts only,
// and nobody gathers more than one quantum.
func (p *pool) rounds(n time.Duration) {
	for _, f := range p.flows {
		most := quantum
		if f.waiting == 0 {
			most = 0
		}
		f.deficit = max(f.deficit, min(f.deficit+n*quantum, most))
	}
}
