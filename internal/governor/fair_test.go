package governor

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pawl"
)

var start = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// load is a run that always has so many effects waiting or under way, of these
// lengths in turn.
type load struct {
	name    string
	depth   int
	pools   []string
	lengths []time.Duration
	gap     time.Duration // between an effect's end and the next request
	joins   time.Duration // after the beginning
	stops   time.Duration // after the beginning; 0 = never
}

// happening is something at a time: a request, or the end of an effect.
type happening struct {
	at time.Time
	n  int // of two at one time the earlier one comes first
	do func()
}

type agenda []*happening

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	if !a[i].at.Equal(a[j].at) {
		return a[i].at.Before(a[j].at)
	}
	return a[i].n < a[j].n
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(*happening)) }
func (a *agenda) Pop() any {
	old := *a
	x := old[len(old)-1]
	*a = old[:len(old)-1]
	return x
}

// world drives a desk on a virtual clock.
type world struct {
	tb      testing.TB
	d       *desk
	now     time.Time
	todo    agenda
	n       int
	id      pawl.Seq
	begun   map[*ticket]func()
	used    map[string]time.Duration // per run, within the window
	by      map[string]time.Duration // per run and pool, within the window
	served  map[string]int
	longest map[string]time.Duration // a run's longest wait
	window  [2]time.Time
}

func newWorld(tb testing.TB, l Limits, window [2]time.Duration) *world {
	return &world{tb: tb, d: newDesk(l, start), now: start, begun: map[*ticket]func(){}, used: map[string]time.Duration{}, by: map[string]time.Duration{},
		served: map[string]int{}, longest: map[string]time.Duration{}, window: [2]time.Time{start.Add(window[0]), start.Add(window[1])}}
}

func (w *world) at(t time.Time, do func()) {
	w.n++
	heap.Push(&w.todo, &happening{at: t, n: w.n, do: do})
}

// request asks for the places of one effect of a run, and for those of the next when it
// is over.
func (w *world) request(l load, n int) {
	if l.stops > 0 && w.now.Sub(start) >= l.stops {
		return
	}
	w.id++
	pool, length := l.pools[n%len(l.pools)], l.lengths[n%len(l.lengths)]
	asked := w.now
	t := w.d.take(w.now, key{"p", pawl.RunID(l.name)}, w.id, need{pool: pool, model: "m"})
	w.begun[t] = func() {
		began := w.now
		w.served[l.name]++
		w.longest[l.name] = max(w.longest[l.name], began.Sub(asked))
		w.at(began.Add(length), func() {
			w.count(l.name, pool, began)
			w.d.give(w.now, t, nil)
			w.moved()
			w.at(w.now.Add(l.gap), func() { w.request(l, n+1); w.moved() })
		})
	}
}

// count counts what of an effect lies in the window.
func (w *world) count(run, pool string, began time.Time) {
	from, to := began, w.now
	if from.Before(w.window[0]) {
		from = w.window[0]
	}
	if to.After(w.window[1]) {
		to = w.window[1]
	}
	if to.After(from) {
		w.used[run] += to.Sub(from)
		w.by[run+" "+pool] += to.Sub(from)
	}
}

func (w *world) moved() {
	for _, t := range w.d.moved {
		do := w.begun[t]
		delete(w.begun, t)
		do()
	}
	w.d.moved = nil
	w.sound()
}

// sound checks that places are counted right and that none is free that could be used.
func (w *world) sound() {
	for _, p := range w.d.pools {
		used, waiting, ready := 0, 0, 0
		for _, f := range p.flows {
			for _, t := range f.queue {
				if !t.blocked(w.now) {
					ready++
				}
			}
			used, waiting = used+f.running, waiting+f.waiting
			if f.deficit > quantum {
				w.tb.Fatalf("%s has a credit of %s", f.run.run, f.deficit)
			}
		}
		if used != p.used || waiting != p.waiting || used > p.slots || used < 0 || waiting < 0 {
			w.tb.Fatalf("%s: %d of %d used, its runs say %d; %d wait, its runs say %d", p.name, p.used, p.slots, used, p.waiting, waiting)
		}
		if got := p.ready(w.now); p != w.d.machine() && got != ready {
			w.tb.Fatalf("%s has %d effects ready, want %d", p.name, got, ready)
		}
		if p != w.d.machine() && p.waiting > 0 && !p.full() && !w.d.machine().full() && p.ready(w.now) > 0 {
			w.tb.Fatalf("%s has %d waiting and room for them", p.name, p.waiting)
		}
		for _, a := range p.accounts {
			for _, b := range a.breakers {
				if b.probe != nil && (b.probe.flows[0] == nil || b.probe.begun.IsZero()) {
					w.tb.Fatalf("call %d is the probe of a breaker of %s and is not under way", b.probe.id, p.name)
				}
			}
		}
	}
}

// play plays until the end of the window and what began in it.
func (w *world) play(loads ...load) {
	for _, l := range loads {
		for i := range l.depth {
			w.at(start.Add(l.joins), func() { w.request(l, i); w.moved() })
		}
	}
	for w.todo.Len() > 0 {
		h := heap.Pop(&w.todo).(*happening)
		if h.at.After(w.window[1].Add(time.Minute)) {
			return
		}
		w.now = h.at
		h.do()
	}
}

func (w *world) share(run string) float64 {
	var all time.Duration
	for _, used := range w.used {
		all += used
	}
	return 100 * float64(w.used[run]) / float64(all)
}

func within(tb testing.TB, what string, got, least, most float64) {
	tb.Helper()
	if got < least || got > most {
		tb.Errorf("%s: %.1f %%, want %.0f to %.0f %%", what, got, least, most)
	}
}

const ms = time.Millisecond

// Two saturated runs get 45 to 55 % of the time in places over 60 seconds each,
// whatever their effects are like.
func TestTwoRunsShareEqually(t *testing.T) {
	const lane = noNetLane
	account := "account:a"
	plain := load{name: "b", depth: 40, pools: []string{lane}, lengths: []time.Duration{500 * ms}}
	for _, m := range []struct {
		name string
		a, b load
	}{
		{"alike", load{depth: 40, lengths: []time.Duration{500 * ms}}, plain},
		{"ten times as many waiting", load{depth: 400, lengths: []time.Duration{500 * ms}}, plain},
		{"ten times as long", load{depth: 40, lengths: []time.Duration{5 * time.Second}}, plain},
		{"a tenth as long", load{depth: 40, lengths: []time.Duration{50 * ms}}, plain},
		{"both", load{depth: 400, lengths: []time.Duration{5 * time.Second}}, plain},
		{"mixed", load{depth: 40, lengths: []time.Duration{10 * ms, 3 * time.Second, 100 * ms, 900 * ms}}, plain},
		{"a moment between effects", load{depth: 20, lengths: []time.Duration{2000 * ms, 1700 * ms, 2100 * ms}, gap: ms}, load{name: "b", depth: 20, pools: []string{lane}, lengths: []time.Duration{200 * ms, 230 * ms, 170 * ms}, gap: ms}},
		{"another account", load{depth: 40, pools: []string{account}, lengths: []time.Duration{2 * time.Second}}, plain},
	} {
		for _, places := range []int{1, 2, 3, 8, 16} {
			t.Run(fmt.Sprintf("%s/%d", m.name, places), func(t *testing.T) {
				a := m.a
				a.name = "a"
				if a.pools == nil {
					a.pools = []string{lane}
				}
				// Where they are: the machine is scarce, or the lane is.
				for _, l := range []Limits{{Machine: places, Calls: 64, NoNet: 64}, {Machine: 64, Calls: places, NoNet: places}} {
					if l.Machine == 64 && a.pools[0] != lane {
						continue // they do not meet
					}
					w := newWorld(t, l, [2]time.Duration{0, time.Minute})
					w.play(a, m.b)
					within(t, fmt.Sprintf("a of %d places", places), w.share("a"), 45, 55)
				}
			})
		}
	}
}

// n saturated runs get a part in n each.
func TestManyRunsShareEqually(t *testing.T) {
	for _, n := range []int{3, 8} {
		for _, places := range []int{2, 8, 16} {
			w := newWorld(t, Limits{Machine: places, NoNet: 64}, [2]time.Duration{0, 2 * time.Minute})
			var loads []load
			for i := range n {
				loads = append(loads, load{name: fmt.Sprint("r", i), depth: 20 * (1 + 9*(i%2)), pools: []string{noNetLane},
					lengths: []time.Duration{time.Duration(1+i) * 300 * ms}})
			}
			w.play(loads...)
			for _, l := range loads {
				fair := 100 / float64(n)
				within(t, fmt.Sprintf("%s of %d at %d places", l.name, n, places), w.share(l.name), fair*0.85, fair*1.15)
			}
		}
	}
}

// A run whose effects are short waits no longer for a place than one of the others' effects takes.
func TestShortEffectsDoNotStarve(t *testing.T) {
	w := newWorld(t, Limits{Machine: 8, NoNet: 64}, [2]time.Duration{0, 2 * time.Minute})
	loads := []load{{name: "short", depth: 1, pools: []string{noNetLane}, lengths: []time.Duration{100 * ms}, gap: ms, joins: time.Second}}
	for i := range 4 {
		loads = append(loads, load{name: fmt.Sprint("long", i), depth: 100, pools: []string{noNetLane}, lengths: []time.Duration{10*time.Second + time.Duration(i)*700*ms}})
	}
	w.play(loads...)
	if w.longest["short"] > 13*time.Second || w.served["short"] < 20 {
		t.Errorf("served %d times, waited up to %s", w.served["short"], w.longest["short"])
	}
}

// A run that had nothing to do, or was not there, has gathered no credit; one that had
// the machine to itself owes nothing for it.
func TestNewcomersShareFromTheStart(t *testing.T) {
	w := newWorld(t, Limits{Machine: 8, NoNet: 64}, [2]time.Duration{10 * time.Minute, 11 * time.Minute})
	w.play(load{name: "a", depth: 40, pools: []string{noNetLane}, lengths: []time.Duration{900 * ms}},
		load{name: "idle", depth: 40, pools: []string{noNetLane}, lengths: []time.Duration{300 * ms}, stops: 5 * time.Second},
		load{name: "b", depth: 40, pools: []string{noNetLane}, lengths: []time.Duration{700 * ms}, joins: 10 * time.Minute},
	)
	within(t, "the newcomer", w.share("b"), 45, 55)
}

// What a run uses of one pool that nobody else wants is not held against it in another.
func TestPoolsAreSharedEachByItself(t *testing.T) {
	w := newWorld(t, Limits{Machine: 32, Calls: 20, Heavy: 1}, [2]time.Duration{0, 10 * time.Minute})
	w.play(load{name: "calls", depth: 40, pools: []string{"account:a"}, lengths: []time.Duration{4 * time.Second}},
		load{name: "calls", depth: 4, pools: []string{heavyLane}, lengths: []time.Duration{3 * time.Second}},
		load{name: "gates", depth: 4, pools: []string{heavyLane}, lengths: []time.Duration{3 * time.Second}})
	gates := w.by["gates "+heavyLane]
	within(t, "gates of the run that only has gates", 100*float64(gates)/float64(gates+w.by["calls "+heavyLane]), 45, 55)
	if w.by["calls account:a"] < 190*time.Minute {
		t.Errorf("the account was used for %s of 200 minutes", w.by["calls account:a"])
	}
}

// Who waits an hour for something else than the machine has no claim on the machine for it.
func TestWaitingForAClosedAccountIsNoCredit(t *testing.T) {
	w := newWorld(t, Limits{Machine: 4, Calls: 64, NoNet: 64}, [2]time.Duration{time.Hour, time.Hour + time.Minute})
	p := w.d.pool("account:shut")
	p.account(pawl.Account{}, start).until = start.Add(time.Hour)
	w.at(start.Add(time.Hour), func() { w.d.tick(w.now); w.moved() })
	w.play(load{name: "b", depth: 40, pools: []string{p.name}, lengths: []time.Duration{time.Second}},
		load{name: "a", depth: 40, pools: []string{noNetLane}, lengths: []time.Duration{time.Second}})
	within(t, "who waited", w.share("b"), 45, 55)
}

// Of one run the oldest effect is first, in whatever order they ask.
func TestOldestFirst(t *testing.T) {
	d := newDesk(Limits{Machine: 8, NoNet: 1, Heavy: 1}, start)
	k := key{"p", "001-a"}
	running := d.take(start, k, 1, need{pool: noNetLane})
	for _, id := range []pawl.Seq{9, 4, 7, 2} {
		d.take(start, k, id, need{pool: noNetLane})
	}
	gate := d.take(start, k, 20, need{pool: heavyLane}) // younger, and nothing keeps it
	if gate.begun.IsZero() {
		t.Error("the gate waits for a lane it does not need")
	}
	d.moved = nil
	d.give(start, running, nil)
	for _, want := range []pawl.Seq{2, 4, 7, 9} {
		if len(d.moved) != 1 || d.moved[0].id != want {
			t.Fatalf("served %v, want %d", d.moved, want)
		}
		next := d.moved[0]
		d.moved = nil
		d.give(start, next, nil)
	}
	d.give(start, gate, nil)
	if len(d.machine().flows) != 0 || len(d.pool(noNetLane).flows) != 0 {
		t.Error("something is left")
	}
}

// The oldest is first also where its effects want different places.
func TestOldestFirstOfSeveralLanes(t *testing.T) {
	for _, lanes := range [][2]string{{noNetLane, heavyLane}, {heavyLane, noNetLane}} {
		d := newDesk(Limits{Machine: 1}, start)
		k := key{"p", "001-a"}
		running := d.take(start, k, 1, need{pool: netLane})
		d.take(start, k, 3, need{pool: lanes[0]})
		d.take(start, k, 2, need{pool: lanes[1]})
		d.moved = nil
		d.give(start, running, nil)
		if len(d.moved) != 1 || d.moved[0].id != 2 {
			t.Errorf("served %v", d.moved)
		}
	}
}

// Runs that are alike are served in turn, one effect each.
func TestRunsTakeTurns(t *testing.T) {
	d := newDesk(Limits{Machine: 1}, start)
	now, id := start, pawl.Seq(0)
	blocker := d.take(start, key{"p", "x"}, 1, need{pool: heavyLane})
	for range 4 {
		for _, run := range []pawl.RunID{"a", "b", "c"} {
			id++
			d.take(now, key{"p", run}, id, need{pool: noNetLane})
		}
	}
	d.moved = nil
	d.give(start, blocker, nil)
	order := ""
	for len(d.moved) == 1 {
		x := d.moved[0]
		order += string(x.flows[0].run.run)
		d.moved = nil
		now = now.Add(10 * ms)
		d.give(now, x, nil)
	}
	if order != "abcabcabcabc" {
		t.Errorf("served in the order %s", order)
	}
}

// Places that are free again go to the run that has the fewest: what the others will
// still be charged for is not handed out twice.
func TestPlacesStayEven(t *testing.T) {
	d := newDesk(Limits{Machine: 10, NoNet: 64}, start)
	id := pawl.Seq(0)
	blocker := d.take(start, key{"p", "x"}, 1, need{pool: heavyLane})
	for range 20 {
		for _, run := range []pawl.RunID{"long", "short"} {
			id++
			d.take(start, key{"p", run}, id, need{pool: noNetLane})
		}
	}
	d.give(start, blocker, nil)
	var short []*ticket
	for _, x := range d.moved {
		if x.flows[0] != nil && x.flows[0].run.run == "short" {
			short = append(short, x)
		}
	}
	d.moved = nil
	for _, x := range short {
		d.give(start.Add(time.Second), x, nil)
	}
	for _, x := range d.moved {
		if x.flows[0].run.run != "short" {
			t.Errorf("a place of %s went to %s", "short", x.flows[0].run.run)
		}
	}
	if len(d.moved) != 5 || len(short) != 5 {
		t.Errorf("%d places were given to it, then %d", len(short), len(d.moved))
	}
}

// Time in places is charged where it keeps another run waiting, and nowhere else.
func TestWhatIsCharged(t *testing.T) {
	d := newDesk(Limits{Machine: 4, NoNet: 64, Heavy: 1}, start)
	a, b := key{"p", "a"}, key{"p", "b"}
	owes := func(lane string) time.Duration { return d.flow(d.tenant(a), d.pool(lane)).deficit }
	d.take(start, a, 1, need{pool: heavyLane})
	d.take(start, a, 2, need{pool: heavyLane})
	d.tick(start.Add(time.Minute))
	if owes(heavyLane) < 0 {
		t.Errorf("for keeping itself waiting it owes %s", owes(heavyLane))
	}
	d.take(d.now, b, 1, need{pool: heavyLane})
	d.tick(start.Add(2 * time.Minute))
	if got := owes(heavyLane); got > -time.Minute+quantum || got < -time.Minute {
		t.Errorf("for keeping another waiting for a minute it owes %s", got)
	}
	if got := d.machine().flows[0].deficit; got < 0 {
		t.Errorf("it owes %s of the machine, which has room", got)
	}
}

// A round pays the debts of a run that wants nothing, and gives it no credit.
func TestRounds(t *testing.T) {
	p := &pool{slots: 1}
	idle, wants, rich := &flow{pool: p, running: 1, deficit: -1500 * ms}, &flow{pool: p, waiting: 1, deficit: -1500 * ms}, &flow{pool: p, waiting: 1, deficit: 200 * ms}
	p.flows = []*flow{idle, wants, rich}
	p.rounds(1)
	if idle.deficit != -500*ms || wants.deficit != -500*ms || rich.deficit != quantum {
		t.Errorf("after one: %s, %s, %s", idle.deficit, wants.deficit, rich.deficit)
	}
	p.rounds(3)
	if idle.deficit != 0 || wants.deficit != quantum {
		t.Errorf("after four: %s, %s", idle.deficit, wants.deficit)
	}
}

// A run without credit is not served while another run has credit.
func TestWhoHasSomethingLeftIsServed(t *testing.T) {
	p := &pool{slots: 4}
	none, some := &flow{pool: p, waiting: 1}, &flow{pool: p, waiting: 1, running: 3, deficit: 1}
	p.flows = []*flow{none, some}
	all := func(*flow) bool { return true }
	if p.choose(all) != some {
		t.Error("choose returns the run without credit")
	}
	if some.deficit = 0; p.choose(all) != none {
		t.Error("after another round choose does not return the run with the fewest places")
	}
}

// Whatever is taken, given back and given up, in whatever order: places are counted
// right, nothing that could begin waits, only what a breaker at rest concerns is refused, and at
// the end nothing is left.
func TestNothingIsLost(t *testing.T) {
	pools := []string{noNetLane, netLane, heavyLane, "account:a", "account:b"}
	answers := []pawl.Answer{nil, &pawl.ModelReplied{}, &pawl.ToolReturned{},
		&pawl.EffectFailed{Failure: pawl.Failure{Code: pawl.FailureCode(pawl.ModelRateLimit), Wait: 3 * time.Second}},
		&pawl.EffectFailed{Failure: pawl.Failure{Code: pawl.FailureCode(pawl.ModelRateLimit)}},
		&pawl.EffectFailed{Failure: pawl.Failure{Code: pawl.FailureCode(pawl.ModelAuth)}},
		&pawl.EffectFailed{Failure: pawl.Failure{Code: pawl.FailureCode(pawl.ModelQuota)}}}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 5))
		w := newWorld(t, Limits{Machine: 1 + r.IntN(8), Calls: 1 + r.IntN(4), NoNet: 1 + r.IntN(4), Net: 1, Heavy: 1}, [2]time.Duration{0, time.Hour})
		open := map[*ticket]bool{}
		var order []*ticket
		settle := func() {
			for _, x := range w.d.moved {
				if x.err != nil {
					delete(open, x)
					if !slices.ContainsFunc(x.account.breakers, func(b *breaker) bool { return b.concerns(x.model) && b.until.After(w.now) }) {
						t.Fatalf("refused while no breaker rests: %v", x.err)
					}
				} else if x.begun.IsZero() || !open[x] {
					t.Fatal("served and not waiting")
				}
			}
			w.d.moved = nil
			w.sound()
		}
		for i := range 400 {
			w.now = w.now.Add(time.Duration(r.IntN(3000)) * ms)
			w.d.tick(w.now)
			if r.IntN(20) == 0 {
				w.d.retry(w.now)
			}
			settle()
			if x := pick(r, order); x != nil && open[x] && r.IntN(2) == 0 {
				delete(open, x)
				w.d.give(w.now, x, answers[r.IntN(len(answers))])
				w.d.give(w.now, x, nil) // once more changes nothing
			} else {
				x := w.d.take(w.now, key{"p", pawl.RunID(fmt.Sprint(r.IntN(5)))}, pawl.Seq(i), need{
					pool: pools[r.IntN(len(pools))], model: fmt.Sprint(r.IntN(2)), account: pawl.Account{Key: fmt.Sprint(r.IntN(2))},
				})
				open[x] = true
				order = append(order, x)
			}
			settle()
		}
		for _, x := range order {
			w.d.give(w.now, x, nil)
			settleAny(w)
		}
		w.d.tick(w.now.Add(time.Hour))
		for _, p := range w.d.pools {
			if p.used != 0 || p.waiting != 0 || len(p.flows) != 0 {
				t.Fatalf("seed %d: %s has %d used, %d waiting, %d runs left", seed, p.name, p.used, p.waiting, len(p.flows))
			}
		}
	}
}

func settleAny(w *world) { w.d.moved = nil; w.sound() }

func pick(r *rand.Rand, list []*ticket) *ticket {
	if len(list) == 0 {
		return nil
	}
	return list[r.IntN(len(list))]
}
