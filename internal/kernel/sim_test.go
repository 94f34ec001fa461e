package kernel

import (
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl"
)

// TestSimulation drives many runs through random worlds: answers that fail, come
// twice, late, out of order or of the wrong kind, drivers that die with effects
// done or undone, users who pause, resume, cancel and change limits. What must
// hold at every event is checked by the world and its ledger. Then all goes
// well, and the run must end.
func TestSimulation(t *testing.T) { plain.test(t) }

var plain = simulation{env: "PAWL_SEED", seeds: 2000, short: 4, simulate: simulate, complete: (*census).complete}

// simulation is a kind of random run, of which many are simulated.
type simulation struct {
	// env names the variable that has one run simulated alone: NAME=n; NAMES=n is how
	// many there are instead of seeds.
	env      string
	seeds    uint64
	short    uint64   // a short test simulates one in so many
	found    []uint64 // runs that once showed a defect; a short test simulates every fourth
	simulate func(testing.TB, uint64) *world
	complete func(*census, *testing.T) // checks that enough has happened
}

func (s *simulation) test(t *testing.T) {
	if one, err := strconv.ParseUint(os.Getenv(s.env), 10, 64); err == nil {
		s.simulate(t, one)
		return
	}
	var all census
	t.Cleanup(func() { s.complete(&all, t) })
	parts, seeds := uint64(runtime.GOMAXPROCS(0)), s.seeds
	if testing.Short() {
		seeds /= s.short
	}
	if n, err := strconv.ParseUint(os.Getenv(s.env+"S"), 10, 64); err == nil {
		seeds = n
	}
	for part := range parts {
		t.Run(fmt.Sprint("part ", part), func(t *testing.T) {
			t.Parallel()
			for seed := part; seed < seeds; seed += parts {
				all.count(s.seeded(t, seed))
			}
			for i, seed := range s.found {
				if uint64(i)%parts == part && (!testing.Short() || i%4 == 0) {
					s.seeded(t, seed)
				}
			}
		})
	}
}

// seeded simulates one run and says which one it was when it fails.
func (s *simulation) seeded(t *testing.T, seed uint64) *world {
	passed := false
	defer func() {
		if !passed {
			t.Logf("this was %s=%d", s.env, seed)
		}
	}()
	w := s.simulate(t, seed)
	passed = true
	return w
}

// census counts what happened in all simulated runs: what never happened was not tested.
type census struct {
	mu       sync.Mutex
	events   int
	kinds    map[pawl.Kind]int
	outcomes map[pawl.Outcome]int
	ends     map[pawl.SessionResult]int
	answers  map[string]int // by the question's kind and the choice: "plan_limit continue"
}

func (c *census) count(w *world) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kinds == nil {
		c.kinds, c.outcomes, c.ends, c.answers = map[pawl.Kind]int{}, map[pawl.Outcome]int{}, map[pawl.SessionResult]int{}, map[string]int{}
	}
	c.events += len(w.log)
	asked := map[int]pawl.QuestionKind{}
	for _, e := range w.log {
		c.kinds[e.Body.EventKind()]++
		switch b := e.Body.(type) {
		case *pawl.RunEnded:
			c.outcomes[b.Outcome]++
		case *pawl.SessionEnded:
			c.ends[b.Result]++
		case *pawl.RunResumed:
			if b.PlanAnew {
				c.answers["resumed with another plan"]++
			}
		case *pawl.GateOverruled:
			c.answers["overruled"]++
		case *pawl.GateJudged:
			if strings.HasPrefix(b.Reason, "overruled by ") {
				c.answers["passed overruled"]++
			}
		case *pawl.QuestionAsked:
			asked[b.N] = b.Kind
		case *pawl.QuestionAnswered:
			c.answers[fmt.Sprint(asked[b.N], " ", b.Choice)]++
		}
	}
}

func (c *census) complete(t *testing.T) {
	if t.Failed() {
		return
	}
	for k := pawl.Kind(1); k < 100; k++ {
		if known := !strings.HasPrefix(k.String(), "kind "); known && !treeKind(k) && !batchKind(k) && c.kinds[k] < 10 {
			t.Errorf("%s happened %d times in %d events", k, c.kinds[k], c.events)
		}
	}
	for _, o := range []pawl.Outcome{pawl.OutcomeComplete, pawl.OutcomeUnverified, pawl.OutcomeIncomplete, pawl.OutcomeBlocked,
		pawl.OutcomeHalted, pawl.OutcomeCancelled, pawl.OutcomeFailed, pawl.OutcomeRefused} {
		if c.outcomes[o] < 5 {
			t.Errorf("%d runs ended %s", c.outcomes[o], o)
		}
	}
	for _, r := range []pawl.SessionResult{pawl.SessionDone, pawl.SessionTurns, pawl.SessionTimeout, pawl.SessionNoResult, pawl.SessionFailed, pawl.SessionAbandoned} {
		if c.ends[r] < 3 {
			t.Errorf("%d sessions ended %s", c.ends[r], r)
		}
	}
	if c.answers["overruled"] < 5 || c.answers["passed overruled"] < 5 {
		t.Errorf("%d halts were overruled, and %d reviews passed so", c.answers["overruled"], c.answers["passed overruled"])
	}
	t.Logf("%d events; runs ended %v; sessions ended %v; persons did %v", c.events, c.outcomes, c.ends, c.answers)
}

func simulate(t testing.TB, seed uint64) *world {
	w := newWorld(t)
	c := newChance(w, seed)
	w.start(c.recipe(), c.settings())
	for range 50 + c.IntN(200) {
		if !c.step() {
			break
		}
	}
	c.calmDown()
	return w
}

// step lets one thing happen and reports whether anything still can.
func (c *chance) step() bool {
	w := c.w
	w.now = w.now.Add(time.Duration(c.IntN(3)) * time.Second)
	_, most := w.state.Unanswered()
	switch n := c.IntN(100); {
	case w.state.Status == pawl.StatusEnded:
		return c.afterEnd()
	case most > 0 && c.more.IntN(4) == 0:
		w.now = w.now.Add(most)
		w.mustTake(Input{Unanswered: true})
	case n < 3:
		c.crash()
	case n < 6:
		c.again()
	case n < 7:
		c.stranger()
	case n < 10:
		c.steer(pawl.Steering{Verb: pawl.SteerPause})
	case n < 16:
		c.steer(pawl.Steering{Verb: pawl.SteerResume, Accounts: c.accounts()})
	case n < 17:
		limits := c.limits()
		c.steer(pawl.Steering{Verb: pawl.SteerLimits, Limits: &limits, Accounts: c.accounts()})
	case c.wood != nil && n < 18:
		c.tellsLoops()
	case (c.grove != nil || c.mix != nil) && n < 24:
		c.person()
	case c.wood == nil && c.mix == nil && n < 18 && c.in(4) || c.grove != nil && n < 25 && c.in(10) || (c.wood != nil || c.mix != nil) && n < 25 && c.in(200):
		c.steer(pawl.Steering{Verb: pawl.SteerCancel, Running: pick(c, pawl.DrainFinish, pawl.DrainBoundary, pawl.DrainNow)})
	case len(w.flights) > 0:
		c.landAny()
	}
	return true
}

// landAny lets any flight land, not just the first.
func (c *chance) landAny() {
	w := c.w
	i := c.IntN(len(w.flights))
	w.flights[i].lands = w.now
	w.flights[0], w.flights[i] = w.flights[i], w.flights[0]
	for j := 1; j < len(w.flights); j++ {
		if w.flights[j].lands.Before(w.now) {
			w.flights[j].lands = w.now
		}
	}
	if f := w.flights[0].effect; f.Do.Verb() == pawl.VerbWait {
		w.now = w.now.Add(time.Minute)
	}
	if c.grove == nil && c.wood == nil && c.mix == nil && w.inputs%50 == 49 { // the models of the others' times do not know of it
		w.jump(time.Duration(w.inputs*37%2000-1000) * time.Hour)
	}
	w.land()
}

// crash kills the driver. Some of what was under way has happened all the same,
// and a command may have left anything.
func (c *chance) crash() {
	w := c.w
	for _, f := range w.flights {
		if c.in(2) {
			w.touch(f)
			if c.field != nil {
				c.field.happened[f.effect.ID] = true
			}
		} else if f.effect.Class == pawl.CrashOnce && c.in(2) {
			w.folderOf(f.effect.Loop).tree += "+"
		}
	}
	if c.in(2) {
		w.crash(time.Duration(c.IntN(5000)) * time.Second)
		return
	}
	w.flights = nil
	w.mustTake(Input{Recover: &Recover{}})
	w.checkAlive()
}

// again gives an answer that was given before.
func (c *chance) again() {
	e := c.w.log[c.IntN(len(c.w.log))]
	if a, ok := e.Body.(pawl.Answer); ok {
		before := len(c.w.log)
		c.w.mustTake(Input{Answer: a})
		if len(c.w.log) != before+1 {
			c.w.t.Fatalf("an answer that came twice led to %d events", len(c.w.log)-before)
		}
	}
}

// stranger gives an answer that fits nothing.
func (c *chance) stranger() {
	id := c.w.state.Seq + 5
	if len(c.w.flights) > 0 {
		id = c.w.flights[0].effect.ID
	}
	if f := c.w.state.Find(id); f != nil && f.Do.Verb() == pawl.VerbCommit {
		id = 0
	}
	c.w.mustTake(Input{Answer: &pawl.Committed{Effect: id, Commit: "stranger"}})
}

// steer gives a command. It may be refused, and then changes nothing.
func (c *chance) steer(s pawl.Steering) {
	before := len(c.w.log)
	if err := c.w.steer(s); err != nil {
		if code := pawl.CodeOf(err); code != pawl.CodeState {
			c.w.t.Fatalf("%s is refused with %s: %v", s.Verb, code, err)
		}
		if len(c.w.log) != before {
			c.w.t.Fatalf("%s was refused and led to events", s.Verb)
		}
	}
}

// afterEnd may resume the run that has ended.
func (c *chance) afterEnd() bool {
	w := c.w
	switch {
	case c.in(3):
		c.again()
	case w.state.isSuspended() && c.more.IntN(2) == 0:
		return c.consent()
	case c.in(3) || !w.state.Outcome.Resumable():
		return false
	case c.field != nil && c.in(4):
		c.boss()
	case w.state.Outcome == pawl.OutcomeHalted && c.more != nil && c.more.IntN(3) > 0 && c.overrules():
	default:
		w.now = w.now.Add(time.Duration(c.IntN(100)) * time.Hour)
		limits := c.limits()
		limits.Iterations += w.state.Loop(1).Iteration
		c.steer(pawl.Steering{Verb: pawl.SteerResume, Limits: &limits})
	}
	return true
}

// overrules lets a person overrule the halt of a review, if one halted the run: at a terminal or not,
// of another gate or for no reason now and then. It reports whether a review halted it.
func (c *chance) overrules() bool {
	for l := range c.w.state.each {
		a := l.lastAttempt()
		if a == nil || a.Halted == nil || l.inIteration {
			continue
		}
		for _, r := range a.Results {
			if r.Verdict != pawl.VerdictHalt || r.Kind != "" {
				continue
			}
			s := pawl.Steering{Verb: pawl.SteerOverride, Gate: r.Gate, Reason: "a false alarm", By: "ann", Terminal: c.more.IntN(8) > 0}
			switch c.more.IntN(10) {
			case 0:
				s.Gate = "tests"
			case 1:
				s.Reason = " "
			}
			err := c.command(s)
			if right := s.Terminal && s.Gate == r.Gate && s.Reason != " "; right != (err == nil) && (!right || !strings.Contains(err.Error(), "used")) {
				c.w.t.Fatalf("%+v: %v", s, err)
			}
			return true
		}
	}
	return false
}

// accounts are those of whoever steers the run: every third time they are others.
func (c *chance) accounts() []pawl.Account {
	have := c.w.state.Settings.Models[0].Account()
	if c.w.state.Seq%3 == 0 {
		have.Address, have.Key = "https://proxy.example/v1", pawl.KeyOf(fmt.Sprint(c.w.state.Seq))
	}
	return []pawl.Account{have, {Provider: "another", Key: "unused"}}
}

// calmDown lets all go well until the run has ended.
func (c *chance) calmDown() {
	w := c.w
	c.calm = true
	if w.state.isSuspended() {
		c.consent()
	}
	if w.state.Status == pawl.StatusPaused {
		w.mustTake(Input{Steer: &pawl.Steering{Verb: pawl.SteerResume}})
	}
	for steps := 0; w.state.Status != pawl.StatusEnded; steps++ {
		if steps > maxCalm || !w.land() && !(c.wood != nil && c.decides()) && !c.consent() && !c.release() {
			w.t.Fatalf("after %d steps in which nothing failed the run has not ended: %s", steps, describe(w.state))
		}
	}
	w.checkWhole()
}

// checkWhole folds the whole stored log once more. If an event was changed after it had been
// decided, that state differs.
func (w *world) checkWhole() {
	w.t.Helper()
	s := fold(w.t, w.stored)
	s.Started, s.Recipe, s.Settings = w.state.Started, w.state.Recipe, w.state.Settings
	for _, l := range s.loops {
		l.Kind, l.flow = w.state.loops[l.Ref-1].Kind, w.state.loops[l.Ref-1].flow
	}
	if !reflect.DeepEqual(s, w.state) {
		w.t.Fatalf("the log folds to another state:\n%s\n%s", describe(s), describe(w.state))
	}
}

// checkAlive checks that a recovery did not make the run older.
func (w *world) checkAlive() {
	if total := w.now.Sub(worldBegin); w.state.Alive > total {
		w.t.Fatalf("the run was driven for %s in %s", w.state.Alive, total)
	}
}

func fold(t testing.TB, log []pawl.Event) *State {
	t.Helper()
	s := &State{}
	for _, e := range log {
		if err := Apply(s, e); err != nil {
			t.Fatal(err)
		}
	}
	return s
}
