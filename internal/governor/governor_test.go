package governor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"pawl"
	"pawl/internal/driver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func job(run string, id pawl.Seq, do pawl.Do) driver.Job {
	var s pawl.Settings
	for i, name := range []string{"small", "medium", "large"} {
		s.Models[i] = pawl.ModelChoice{Provider: "anthropic", Name: name}
	}
	return driver.Job{Effect: &pawl.Effect{ID: id, Do: do}, Run: pawl.RunID(run), Settings: &s}
}

func call(run string, id pawl.Seq, tier int) driver.Job {
	return job(run, id, &pawl.CallModel{Tier: tier})
}

func failure(kind pawl.ModelErrorKind, wait time.Duration) pawl.Answer {
	return &pawl.EffectFailed{Failure: pawl.Failure{Code: pawl.FailureCode(kind), Message: "the provider says " + string(kind), Wait: wait}}
}

// MustTake takes the places of an effect. In a bubble it fails at once if the effect never
// receives them.
func MustTake(tb testing.TB, g *Governor, j driver.Job) func(pawl.Answer) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Hour)
	defer cancel()
	give, err := g.Places("p").Take(ctx, j)
	if err != nil {
		tb.Fatal(err)
	}
	return give
}

func poolOf(g *Governor, name string) pawl.PoolLoad {
	for _, p := range g.Load().Pools {
		if p.Name == name {
			return p
		}
	}
	return pawl.PoolLoad{}
}

// closedOf returns the account of a pool that is closed; zero = none is.
func closedOf(p pawl.PoolLoad) pawl.AccountLoad {
	if len(p.Accounts) == 0 {
		return pawl.AccountLoad{}
	}
	return p.Accounts[0]
}

// elapse lets time pass on a bubble's clock.
func elapse(d time.Duration) { <-time.After(d) }

var roomy = Limits{Machine: 16, Calls: 10, NoNet: 10, Net: 5, Heavy: 2}

// which places an effect takes, all or none.
func TestWhatEffectsTake(t *testing.T) { synctest.Test(t, whatEffectsTake) }

func whatEffectsTake(t *testing.T) {
	for _, m := range []struct {
		do   pawl.Do
		want string
	}{
		{&pawl.CallModel{Tier: 1}, "machine account:anthropic"},
		{&pawl.CallTool{Tool: "run"}, "machine lane:no-net"},
		{&pawl.CallTool{Tool: "read"}, "machine lane:no-net"},
		{&pawl.CallTool{Tool: "edit"}, "machine lane:no-net"},
		{&pawl.CallTool{Tool: "somebody's"}, "machine lane:net"},
		{&pawl.RunGate{}, "machine lane:heavy"},
		{&pawl.Prepare{}, "machine lane:net"},
		{&pawl.AssemblePrompt{}, ""},
		{&pawl.Commit{}, ""},
		{&pawl.Merge{}, ""},
		{&pawl.Wait{}, ""},
		{&pawl.CallModel{Tier: 9}, ""}, // it is refused where it would be sent
	} {
		g := New(roomy, nil)
		give := MustTake(t, g, job("001-a", 1, m.do))
		var used []string
		for _, p := range g.Load().Pools {
			if p.Used > 0 {
				used = append(used, p.Name)
			}
		}
		if got := strings.Join(used, " "); got != m.want {
			t.Errorf("%s takes %q, want %q", m.do.Verb(), got, m.want)
		}
		give(nil)
		give(nil)
		for _, p := range g.Load().Pools {
			if p.Used != 0 {
				t.Errorf("%s leaves %d of %s", m.do.Verb(), p.Used, p.Name)
			}
		}
	}
}

// One that is waited for no more leaves no trace, and what it would have had goes to the next.
func TestCancelledWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{Machine: 4, Heavy: 1}, nil)
		first := MustTake(t, g, job("001-a", 1, &pawl.RunGate{}))
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan error, 2)
		go func() {
			_, err := g.Places("p").Take(ctx, job("002-b", 1, &pawl.RunGate{}))
			got <- err
		}()
		go func() {
			give, err := g.Places("p").Take(t.Context(), job("003-c", 1, &pawl.RunGate{}))
			if err == nil {
				give(nil)
			}
			got <- err
		}()
		synctest.Wait()
		if l := g.Load(); len(l.Runs) != 3 || poolOf(g, heavyLane).Waiting != 2 || l.Runs[1].For != heavyLane || l.Runs[1].Waiting != 1 {
			t.Errorf("got %+v", l)
		}
		cancel()
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if l := g.Load(); len(l.Runs) != 2 || poolOf(g, heavyLane).Waiting != 1 {
			t.Errorf("got %+v", l)
		}
		first(nil)
		if err := <-got; err != nil {
			t.Error(err)
		}
		if l := g.Load(); len(l.Runs) != 0 {
			t.Errorf("got %+v", l.Runs)
		}
		if _, err := g.Places("p").Take(ctx, job("002-b", 2, &pawl.RunGate{})); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

// R-21 R-B19: a rate limit closes the account for everything until the time the provider
// named; then it opens by itself, and nobody has to resume anything.
func TestRateLimitClosesTheAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(roomy, nil)
		begin := time.Now()
		MustTake(t, g, call("001-a", 1, 1))(failure(pawl.ModelRateLimit, 17*time.Minute))
		began := make(chan time.Duration, 3)
		for i, tier := range []int{1, 2, 3} {
			go func() {
				give, err := g.Places("p").Take(t.Context(), call(fmt.Sprintf("00%d-b", i+2), 1, tier))
				if err != nil {
					t.Error(err)
					return
				}
				began <- time.Since(begin)
				give(&pawl.ModelReplied{})
			}()
		}
		synctest.Wait()
		p := poolOf(g, "account:anthropic")
		if !closedOf(p).Until.Equal(begin.Add(17*time.Minute)) || closedOf(p).Why != "the provider says rate_limit" || p.Waiting != 3 || p.Used != 0 {
			t.Errorf("got %+v", p)
		}
		for _, r := range g.Load().Runs {
			if r.For != "account:anthropic" || r.Waiting != 1 || r.Running != 0 {
				t.Errorf("got %+v", r)
			}
		}
		MustTake(t, g, job("001-a", 2, &pawl.RunGate{}))(nil) // what does not need the account goes on
		for range 3 {
			if at := <-began; at != 17*time.Minute {
				t.Errorf("began after %s", at)
			}
		}
		if p := poolOf(g, "account:anthropic"); len(p.Accounts) != 0 {
			t.Errorf("got %+v", p)
		}
	})
}

// Without a time the account rests for 2, 4, … 64 seconds, and calls that were under way
// together count once.
func TestRateLimitWithoutATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(roomy, nil)
		var together []func(pawl.Answer)
		for i := range 5 {
			together = append(together, MustTake(t, g, call("001-a", pawl.Seq(100+i), 1)))
		}
		elapse(time.Second)
		for _, give := range together {
			give(failure(pawl.ModelRateLimit, 0))
		}
		for i, want := range []time.Duration{2, 4, 8, 16, 32, 64, 64} {
			begin := time.Now()
			give := MustTake(t, g, call("001-a", pawl.Seq(i), 1))
			if got := time.Since(begin); got != want*time.Second {
				t.Errorf("the %d. time it was closed for %s, want %d s", i+1, got, want)
			}
			elapse(time.Millisecond)
			give(failure(pawl.ModelRateLimit, 0))
		}
		MustTake(t, g, call("001-a", 50, 1))(&pawl.ModelReplied{})
		MustTake(t, g, call("001-a", 51, 1))(failure(pawl.ModelRateLimit, 0))
		begin := time.Now()
		MustTake(t, g, call("001-a", 52, 1))(nil)
		if got := time.Since(begin); got != 2*time.Second {
			t.Errorf("after a success it was closed for %s", got)
		}
	})
}

// A quota that is used up fails what waits and what comes at once, unsent, until a call
// that is let through succeeds.
func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{Machine: 80, Calls: 1}, nil)
		give := MustTake(t, g, call("000-a", 1, 1))
		got := make(chan error, 75)
		take := func(n, tier int) {
			give, err := g.Places("p").Take(t.Context(), call(fmt.Sprint(n), 1, tier))
			if err == nil {
				give(nil)
			}
			got <- err
		}
		for i := range 75 {
			go take(i, 1+i%3)
		}
		synctest.Wait()
		give(failure(pawl.ModelQuota, 0))
		begin := time.Now()
		for range 75 {
			e, ok := errors.AsType[*pawl.ModelError](<-got)
			if !ok || e.Kind != pawl.ModelQuota || !e.Unsent || !strings.HasPrefix(e.Message, "the provider says quota (not sent: ") {
				t.Fatalf("got %v", e)
			}
		}
		if time.Since(begin) != 0 {
			t.Error("they did not fail at once")
		}
		if p := poolOf(g, "account:anthropic"); !closedOf(p).Until.Equal(begin.Add(BreakerRest)) || p.Waiting != 0 {
			t.Errorf("got %+v", p)
		}
		elapse(BreakerRest)
		probe := MustTake(t, g, call("000-a", 2, 2)) // one is let through
		go take(1, 1)
		synctest.Wait()
		if p := poolOf(g, "account:anthropic"); p.Used != 1 || p.Waiting != 1 || len(got) != 0 {
			t.Errorf("beside the probe the pool is %+v, want one call to wait", p)
		}
		probe(failure(pawl.ModelQuota, 0))
		if err := <-got; err == nil {
			t.Error("the call that waited for the probe is sent although the probe failed")
		}
		take(1, 1)
		if err := <-got; err == nil {
			t.Error("it is over although it failed again")
		}
		g.Places("p").Wanted() // a person resumes a run
		MustTake(t, g, call("000-a", 3, 1))(&pawl.ModelReplied{})
		for range 3 {
			take(1, 1)
			if err := <-got; err != nil {
				t.Errorf("after a success: %v", err)
			}
		}
	})
}

// taken is the outcome of a Take.
type taken struct {
	give func(pawl.Answer)
	err  error
}

// begin asks for the places of an effect and returns when the effect has them, waits or is
// refused. The channel receives the outcome.
func begin(ctx context.Context, g *Governor, j driver.Job) <-chan taken {
	out := make(chan taken, 1)
	go func() {
		give, err := g.Places("p").Take(ctx, j)
		out <- taken{give, err}
	}()
	synctest.Wait()
	return out
}

// Calls that arrive while a breaker's probe is under way wait for its answer. A success sends
// them all, the failure that tripped the breaker refuses them all, and anything else makes the
// oldest of them the next probe. F-15
func TestCallsWaitForTheProbe(t *testing.T) {
	for _, kind := range []pawl.ModelErrorKind{pawl.ModelQuota, pawl.ModelAuth} {
		for name, test := range map[string]struct {
			answer  pawl.Answer
			after   time.Duration // until something happens to those that wait
			sent    int           // of two
			refused int
		}{
			"Success":    {&pawl.ModelReplied{}, 0, 2, 0},
			"Same":       {failure(kind, 0), 0, 0, 2},
			"None":       {nil, 0, 1, 0},
			"Network":    {failure(pawl.ModelNetwork, 0), 0, 1, 0},
			"Overloaded": {failure(pawl.ModelOverloaded, 0), 0, 1, 0},
			"RateLimit":  {failure(pawl.ModelRateLimit, 17*time.Second), 17 * time.Second, 1, 0},
			"Reset":      {failure(kind, 2*time.Hour), 2 * time.Hour, 1, 0},
		} {
			t.Run(string(kind)+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					g := New(roomy, nil)
					MustTake(t, g, call("001-a", 1, 1))(failure(kind, 0))
					elapse(time.Second)
					g.Places("p").Wanted() // a person resumes two runs
					probe := MustTake(t, g, call("001-a", 2, 1))
					elapse(time.Second)
					g.Places("p").Wanted()
					waiting := []<-chan taken{begin(t.Context(), g, call("002-b", 1, 1)), begin(t.Context(), g, call("003-c", 1, 1))}
					elapse(10 * time.Minute)
					if len(waiting[0])+len(waiting[1]) > 0 {
						t.Fatal("the calls do not wait for the probe")
					}
					probe(test.answer)
					synctest.Wait()
					if test.after > 0 {
						elapse(test.after - 1)
						if len(waiting[0])+len(waiting[1]) > 0 {
							t.Fatal("the calls do not wait for the limit")
						}
						elapse(1)
						synctest.Wait()
					}
					sent, refused := 0, 0
					var give func(pawl.Answer)
					for i, w := range waiting {
						if len(w) == 0 {
							continue
						}
						x := <-w
						if waiting[i] = nil; x.err != nil {
							refused++
							continue
						}
						sent++
						give = x.give
						defer x.give(nil)
					}
					if sent != test.sent || refused != test.refused {
						t.Fatalf("%d calls are sent and %d refused, want %d and %d", sent, refused, test.sent, test.refused)
					}
					if sent == 1 { // it is the next probe
						if waiting[0] != nil {
							t.Error("the younger call is sent first")
						}
						give(&pawl.ModelReplied{})
						if x := <-waiting[1]; x.err != nil {
							t.Errorf("after the next probe's success: %v", x.err)
						} else {
							x.give(nil)
						}
					}
				})
			})
		}
	}
}

// A call that waits for a probe that fails is told when the probe failed and when the account
// is asked again, with the date. Calls that arrive then are refused at once. F-15
func TestRefusedAfterTheProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(roomy, nil)
		job := func(id pawl.Seq) driver.Job {
			return with(call("001-a", id, 1), "https://api.example.com", "key")
		}
		MustTake(t, g, job(1))(failure(pawl.ModelQuota, 0))
		elapse(BreakerRest)
		probe := MustTake(t, g, job(2))
		waits := begin(t.Context(), g, job(3))
		elapse(5 * time.Minute)
		probe(failure(pawl.ModelQuota, 0))
		at := time.Now()
		want := fmt.Sprintf("the provider says quota (not sent: api.example.com with key 2c70e1 answered so at %s, and is asked again from %s on)",
			at.Local().Format("2006-01-02 15:04:05"), at.Add(BreakerRest).Local().Format("2006-01-02 15:04:05"))
		for _, x := range []taken{<-waits, <-begin(t.Context(), g, job(4))} {
			if e, ok := errors.AsType[*pawl.ModelError](x.err); !ok || e.Kind != pawl.ModelQuota || !e.Unsent || e.Message != want {
				t.Errorf("got  %v\nwant %s, unsent", x.err, want)
			}
		}
		if time.Since(at) != 0 {
			t.Error("they did not fail at once")
		}
	})
}

// The probe of a model holds up no other model, and a quota's probe holds up all of them. F-15
func TestWhomAProbeHoldsUp(t *testing.T) {
	for kind, want := range map[pawl.ModelErrorKind]int{pawl.ModelAuth: 1, pawl.ModelQuota: 3} {
		synctest.Test(t, func(t *testing.T) {
			g := New(roomy, nil)
			MustTake(t, g, call("001-a", 1, 3))(failure(kind, 0))
			elapse(BreakerRest)
			probe := MustTake(t, g, call("001-a", 2, 3))
			var calls []<-chan taken
			for tier := 1; tier <= 3; tier++ {
				calls = append(calls, begin(t.Context(), g, call("002-b", pawl.Seq(tier), tier)))
			}
			if p := poolOf(g, "account:anthropic"); p.Waiting != want {
				t.Errorf("%d calls wait for the probe after %s, want %d", p.Waiting, kind, want)
			}
			probe(&pawl.ModelReplied{})
			for _, c := range calls {
				if x := <-c; x.err != nil {
					t.Error(x.err)
				} else {
					x.give(nil)
				}
			}
		})
	}
}

// A call that waits for a probe is shown as waiting for the one call that its account lets
// through, and why. No time is shown: nobody knows when the probe answers. F-15
func TestWhatACallWaitsForBesideAProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(roomy, nil)
		MustTake(t, g, call("001-a", 1, 1))(failure(pawl.ModelQuota, 0))
		elapse(BreakerRest)
		other := call("009-z", 1, 1) // of another account
		other.Settings.Models[0].Key = pawl.KeyOf("another key")
		give := MustTake(t, g, other)
		probe := MustTake(t, g, call("001-a", 2, 1))
		waits := begin(t.Context(), g, call("002-b", 1, 1))
		abroad := make(chan taken, 1)
		go func() {
			give, err := g.Places("other").Take(t.Context(), call("001-a", 1, 1))
			abroad <- taken{give, err}
		}()
		synctest.Wait()
		for project, j := range map[string]driver.Job{"p": call("002-b", 1, 1), "other": call("001-a", 1, 1)} {
			l, waits := g.Places(project).Waits(j)
			a := closedOf(l)
			if !waits || l.Name != "account:anthropic" || l.Slots != 1 || l.Used != 1 || a.Account == "" || a.Why != "the provider says quota" || !a.Until.IsZero() {
				t.Errorf("a call of project %s waits: %t, for %+v", project, waits, l)
			}
			if mine := slices.Equal(l.Runs, []pawl.RunID{"001-a"}) && l.Elsewhere == 0; mine != (project == "p") {
				t.Errorf("a call of project %s waits for the calls of %v and %d elsewhere", project, l.Runs, l.Elsewhere)
			}
			if project == "other" && (len(l.Runs) > 0 || l.Elsewhere != 1) {
				t.Errorf("a call of another project waits for the calls of %v and %d elsewhere", l.Runs, l.Elsewhere)
			}
		}
		for _, r := range g.Load().Runs {
			if r.Waiting > 0 && r.For != "account:anthropic" {
				t.Errorf("run %s waits for %s", r.Run, r.For)
			}
		}
		if p := poolOf(g, "account:anthropic"); len(p.Accounts) > 0 || p.Waiting != 2 || p.Used != 2 {
			t.Errorf("the provider's pool is %+v, want no account to be closed until a time", p)
		}
		give(nil)
		probe(&pawl.ModelReplied{})
		(<-waits).give(nil)
		(<-abroad).give(nil)
	})
}

// A success ends the breaker for all calls: two calls can then run at the same time.
func TestSuccessEndsTheBreaker(t *testing.T) {
	for _, kind := range []pawl.ModelErrorKind{pawl.ModelQuota, pawl.ModelAuth} {
		synctest.Test(t, func(t *testing.T) {
			g := New(roomy, nil)
			MustTake(t, g, call("001-a", 1, 1))(failure(kind, 0))
			elapse(BreakerRest)
			MustTake(t, g, call("001-a", 2, 1))(&pawl.ModelReplied{})
			first := MustTake(t, g, call("001-a", 3, 1))
			MustTake(t, g, call("001-a", 4, 1))(nil)
			first(nil)
		})
	}
}

// shown returns the limit of an account that lasts longest, and nothing once it is over.
func TestWhatIsShownOfAnAccount(t *testing.T) {
	now := start
	rests := func(until time.Duration) *breaker {
		return &breaker{failure: pawl.Failure{Message: "breaker"}, until: start.Add(until)}
	}
	for name, test := range map[string]struct {
		a     account
		until time.Duration // 0 = nothing is shown
		why   string
	}{
		"Nothing":         {account{}, 0, ""},
		"Closed":          {account{until: start.Add(2), why: "closed"}, 2, "closed"},
		"Opened":          {account{until: start, why: "closed"}, 0, ""},
		"Breaker":         {account{breakers: []*breaker{rests(2)}}, 2, "breaker"},
		"BreakerRested":   {account{breakers: []*breaker{rests(0)}}, 0, ""},
		"BreakerLonger":   {account{until: start.Add(2), why: "closed", breakers: []*breaker{rests(3)}}, 3, "breaker"},
		"BreakerShorter":  {account{until: start.Add(3), why: "closed", breakers: []*breaker{rests(2)}}, 3, "closed"},
		"BreakersOverlap": {account{breakers: []*breaker{rests(3), rests(2)}}, 3, "breaker"},
	} {
		until, why := test.a.shown(now)
		want := start.Add(test.until)
		if test.until == 0 {
			want = time.Time{}
		}
		if !until.Equal(want) || why != test.why {
			t.Errorf("%s: shown returns %s until %s, want %s until %s", name, why, until, test.why, want)
		}
	}
}

// cut shortens a provider's message to at most 200 bytes and splits no character.
func TestCut(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"", ""},
		{strings.Repeat("x", 200), strings.Repeat("x", 200)},
		{strings.Repeat("x", 201), strings.Repeat("x", 197) + "…"},
		{strings.Repeat("é", 100), strings.Repeat("é", 100)},
		{strings.Repeat("é", 101), strings.Repeat("é", 98) + "…"},
		{strings.Repeat("𝄞", 51), strings.Repeat("𝄞", 49) + "…"},
		{"a\xffb", "a\uFFFDb"},
	} {
		if got := cut(test.in); got != test.want {
			t.Errorf("cut(%q) = %q, want %q", test.in, got, test.want)
		}
	}
}

// A call that was accepted before the quota was used up says nothing of it.
func TestEarlierSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(roomy, nil)
		early, failing := MustTake(t, g, call("001-a", 1, 1)), MustTake(t, g, call("002-b", 1, 1))
		elapse(time.Second)
		failing(failure(pawl.ModelQuota, 0))
		early(&pawl.ModelReplied{})
		if _, err := g.Places("p").Take(t.Context(), call("001-a", 2, 1)); err == nil {
			t.Error("it is sent")
		}
	})
}

// A call that was under way when the quota was used up says nothing new by failing too, and does
// not fail those that wait for a probe. F-15
func TestEarlierFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(roomy, nil)
		early, failing := MustTake(t, g, call("001-a", 1, 1)), MustTake(t, g, call("002-b", 1, 1))
		elapse(time.Second)
		failing(failure(pawl.ModelQuota, 0))
		elapse(BreakerRest)
		probe := MustTake(t, g, call("003-c", 1, 1))
		waits := begin(t.Context(), g, call("004-d", 1, 1))
		early(failure(pawl.ModelQuota, 0))
		synctest.Wait()
		if len(waits) > 0 {
			t.Fatalf("the call beside the probe does not wait: %v", (<-waits).err)
		}
		probe(&pawl.ModelReplied{})
		if x := <-waits; x.err != nil {
			t.Error(x.err)
		} else {
			x.give(nil)
		}
	})
}

// A key that is refused for one model may be good for another; another key is tried at once.
func TestRefusedKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(roomy, nil)
		MustTake(t, g, call("001-a", 1, 3))(failure(pawl.ModelAuth, 0))
		if _, err := g.Places("p").Take(t.Context(), call("002-b", 1, 3)); err == nil {
			t.Error("the refused model is asked again")
		}
		MustTake(t, g, call("002-b", 2, 1))(&pawl.ModelReplied{})
		if _, err := g.Places("p").Take(t.Context(), call("002-b", 3, 3)); err == nil {
			t.Error("another model's success lets the refused one be asked")
		}
		other := call("002-b", 4, 3)
		other.Settings.Models[2].Key = pawl.KeyOf("another key")
		MustTake(t, g, other)(&pawl.ModelReplied{})
	})
}

// with returns an effect whose model calls count against an account at an address.
func with(j driver.Job, address, key string) driver.Job {
	for i := range j.Settings.Models {
		j.Settings.Models[i].Address, j.Settings.Models[i].Key = address, pawl.KeyOf(key)
	}
	return j
}

// What a provider says of one account concerns no other address of that provider, and no
// other key. The places are the provider's.
// F-15
func TestAccountsOfOneProvider(t *testing.T) {
	const home, proxy = "https://api.example.com", "https://user-proxy.example/v1"
	others := func() []driver.Job {
		return []driver.Job{with(call("002-b", 1, 1), home, "another"), with(call("003-c", 1, 1), proxy, "key"), with(call("004-d", 1, 1), home, "")}
	}
	for _, kind := range []pawl.ModelErrorKind{pawl.ModelAuth, pawl.ModelQuota, pawl.ModelRateLimit} {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := New(Limits{Machine: 16, Calls: 3}, nil)
				MustTake(t, g, with(call("001-a", 1, 1), home, "key"))(failure(kind, 5*time.Hour))
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute/2)
				defer cancel()
				if _, err := g.Places("p").Take(ctx, with(call("005-e", 1, 1), home, "key")); err == nil {
					t.Error("a call of the account itself goes through")
				}
				var gives []func(pawl.Answer)
				for _, j := range others() {
					gives = append(gives, MustTake(t, g, j))
				}
				if p := poolOf(g, "account:anthropic"); p.Used != 3 || p.Slots != 3 || len(p.Accounts) != 1 || p.Accounts[0].Account != "api.example.com with key 2c70e1" {
					t.Errorf("the provider's places are %+v, want one pool of 3 with one closed account", p)
				}
				full, end := context.WithTimeout(t.Context(), time.Second)
				defer end()
				if _, err := g.Places("p").Take(full, with(call("006-f", 1, 1), home, "a third")); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("a fourth call of the provider: %v, want it to wait for a place", err)
				}
				for _, give := range gives {
					give(&pawl.ModelReplied{})
				}
			})
		})
	}
}

// An effect of a closed account does not stand in the way of one of an open account, neither
// of its own run nor of another one.
// F-15
func TestClosedAccountKeepsNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{Machine: 16, Calls: 1}, nil)
		MustTake(t, g, with(call("001-a", 1, 1), "https://a.example", ""))(failure(pawl.ModelRateLimit, time.Hour))
		first := make(chan func(pawl.Answer), 1)
		go func() {
			give, err := g.Places("p").Take(t.Context(), with(call("001-a", 2, 1), "https://a.example", ""))
			if err != nil {
				t.Error(err)
			}
			first <- give
		}()
		synctest.Wait()
		for id := range 3 {
			MustTake(t, g, with(call("001-a", pawl.Seq(3+id), 1), "https://b.example", ""))(&pawl.ModelReplied{})
		}
		if l, waits := g.Places("p").Waits(call("001-a", 2, 1)); !waits || closedOf(l).Account != "a.example" || time.Until(closedOf(l).Until) != time.Hour {
			t.Errorf("it waits %t for %+v, want account a.example for an hour", waits, l)
		}
		begin := time.Now()
		(<-first)(nil)
		if waited := time.Since(begin); waited != time.Hour {
			t.Errorf("the closed account opens after %s, want 1h", waited)
		}
	})
}

// A quota that comes back at a time that the provider names is waited for like a rate limit. The
// message of a call that is refused because of one that does not says that nothing was sent,
// since when, and when it is asked again. F-44
func TestQuotaWithReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(roomy, nil)
		for _, kind := range []pawl.ModelErrorKind{pawl.ModelQuota, pawl.ModelAuth} {
			MustTake(t, g, call("001-a", 1, 1))(failure(kind, 40*time.Second))
			begin := time.Now()
			MustTake(t, g, call("002-b", 1, 1))(&pawl.ModelReplied{})
			if waited := time.Since(begin); waited != 40*time.Second {
				t.Errorf("after %s, the next call waits for %s, want 40s", kind, waited)
			}
		}
		MustTake(t, g, with(call("001-a", 2, 1), "https://api.example.com", "key"))(failure(pawl.ModelQuota, 0))
		at := time.Now()
		_, err := g.Places("p").Take(t.Context(), with(call("002-b", 2, 1), "https://api.example.com", "key"))
		want := fmt.Sprintf("the provider says quota (not sent: api.example.com with key 2c70e1 answered so at %s, and is asked again from %s on)",
			at.Local().Format(time.DateTime), at.Add(BreakerRest).Local().Format(time.DateTime))
		if typed, ok := errors.AsType[*pawl.ModelError](err); !ok || !typed.Unsent || typed.Message != want {
			t.Errorf("got %v\nwant %s, unsent", err, want)
		}
	})
}

// A call whose tier has a further model does not wait longer for its account than the run has patience
// for, whether the account closes before it or while it waits. The last model of a tier waits.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		with := func(id pawl.Seq, choice int, after time.Duration) driver.Job {
			j := call("002-b", id, 1)
			j.Settings.Fallbacks[0] = []pawl.ModelChoice{{Provider: "anthropic", Name: "second"}}
			j.Settings.FallbackAfter = after
			j.Effect.Do.(*pawl.CallModel).Choice = choice
			return j
		}
		g := New(Limits{Machine: 16, Calls: 1, NoNet: 1, Net: 1, Heavy: 1}, nil)
		begin := time.Now()
		give := MustTake(t, g, call("001-a", 1, 1))
		ended := make(chan error, 2)
		wait := func(j driver.Job) {
			give, err := g.Places("p").Take(t.Context(), j)
			if err == nil {
				give(&pawl.ModelReplied{})
			}
			ended <- err
		}
		go wait(with(2, 0, 0))
		go wait(with(3, 1, 0))
		synctest.Wait()
		give(failure(pawl.ModelQuota, 5*time.Hour))
		typed, ok := errors.AsType[*pawl.ModelError](<-ended)
		want := fmt.Sprintf("the provider says quota (not sent: anthropic opens at %s)", begin.Add(5*time.Hour).Local().Format(time.DateTime))
		if !ok || typed.Kind != pawl.ModelQuota || !typed.Unsent || typed.Wait != 5*time.Hour || typed.Message != want || !time.Now().Equal(begin) {
			t.Errorf("got %+v, want %s", typed, want)
		}
		if _, err := g.Places("p").Take(t.Context(), with(4, 0, 5*time.Hour-1)); err == nil {
			t.Error("a call waits for longer than it has patience for")
		}
		go wait(with(5, 0, 5*time.Hour))
		for range 2 { // the last model, and one with as much patience
			if err := <-ended; err != nil || time.Since(begin) != 5*time.Hour {
				t.Errorf("after %s: %v", time.Since(begin), err)
			}
		}
	})
}

func TestLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{Machine: 3, Calls: 10, Accounts: map[string]int{"anthropic": 2}, NoNet: 10, Net: 5, Heavy: 1}, nil)
		a := MustTake(t, g, call("001-a", 1, 1))
		b := MustTake(t, g, job("002-b", 1, &pawl.RunGate{}))
		c := MustTake(t, g, job("002-b", 2, &pawl.CallTool{Tool: "run"}))
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, _ = g.Places("p").Take(ctx, call("001-a", 2, 1)) }()
		synctest.Wait()
		elapse(10 * time.Second)
		l := g.Load()
		var names []string
		for _, p := range l.Pools {
			names = append(names, fmt.Sprintf("%s %d/%d %d", p.Name, p.Used, p.Slots, p.Waiting))
		}
		if got, want := strings.Join(names, ", "), "machine 3/3 1, account:anthropic 1/2 1, lane:heavy 1/1 0, lane:net 0/5 0, lane:no-net 1/10 0"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		want := []pawl.RunLoad{
			{Project: "p", Run: "002-b", Running: 2, Used: 20 * time.Second, Share: 67},
			{Project: "p", Run: "001-a", Running: 1, Waiting: 1, Used: 10 * time.Second, Share: 33, For: machinePool},
		}
		if fmt.Sprint(l.Runs) != fmt.Sprint(want) {
			t.Errorf("got  %+v\nwant %+v", l.Runs, want)
		}
		b(nil)
		c(nil)
		elapse(2 * time.Minute)
		if r := g.Load().Runs; len(r) != 1 || r[0].Share != 100 {
			t.Errorf("two minutes later: %+v", r)
		}
		cancel()
		a(nil)
	})
}

// The smallest machine there can be still does everything, one at a time.
func TestZeroLimits(t *testing.T) { synctest.Test(t, zeroLimits) }

func zeroLimits(t *testing.T) {
	g := New(Limits{}, nil)
	for i, do := range []pawl.Do{&pawl.CallModel{Tier: 1}, &pawl.CallTool{Tool: "run"}, &pawl.CallTool{Tool: "x"}, &pawl.RunGate{}} {
		MustTake(t, g, job("001-a", pawl.Seq(i), do))(nil)
	}
}

// BenchmarkTakeAndGive serves effects one after another while a thousand wait, of one
// run or of a thousand.
func BenchmarkTakeAndGive(b *testing.B) {
	for _, runs := range []int{1, 10, 1000} {
		b.Run(fmt.Sprintf("1000 waiting of %d runs", runs), func(b *testing.B) {
			d := newDesk(Limits{Machine: 16, NoNet: 10}, start)
			now := start
			take := func(i int) {
				d.take(now, key{"p", pawl.RunID(fmt.Sprint(i % runs))}, pawl.Seq(i), need{pool: noNetLane})
			}
			for i := range 1010 {
				take(i)
			}
			running := append([]*ticket(nil), d.moved...)
			d.moved = nil
			for i := 0; b.Loop(); i++ {
				now = now.Add(time.Millisecond)
				d.give(now, running[0], nil)
				running = append(running[1:], d.moved...)
				d.moved = d.moved[:0]
				take(1010 + i)
			}
		})
	}
}

// Who waits can learn for which pool, and when an account opens. F-24
func TestWhatAnEffectWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{Machine: 4, Heavy: 1, Calls: 4}, nil)
		p, gate, second := g.Places("p"), job("001-a", 1, &pawl.RunGate{}), job("002-b", 1, &pawl.RunGate{})
		give := MustTake(t, g, gate)
		got := make(chan func(pawl.Answer))
		take := func(j driver.Job) {
			give, _ := p.Take(t.Context(), j)
			got <- give
		}
		go take(second)
		synctest.Wait()
		if l, waits := p.Waits(second); !waits || l.Name != "lane:heavy" || l.Slots != 1 || l.Used != 1 || l.Waiting != 1 ||
			!slices.Equal(l.Runs, []pawl.RunID{"001-a"}) || l.Elsewhere != 0 {
			t.Errorf("the second gate waits: %t, for %+v", waits, l)
		}
		abroad := make(chan func(pawl.Answer))
		go func() {
			give, _ := g.Places("other").Take(t.Context(), job("001-a", 9, &pawl.RunGate{}))
			abroad <- give
		}()
		synctest.Wait()
		if l, waits := g.Places("other").Waits(job("001-a", 9, &pawl.RunGate{})); !waits || len(l.Runs) > 0 || l.Elsewhere != 1 {
			t.Errorf("the gate of another project waits: %t, for %+v", waits, l)
		}
		for what, j := range map[string]driver.Job{"the first gate": gate, "another effect": job("002-b", 7, &pawl.RunGate{}), "another run": job("003-c", 1, &pawl.RunGate{})} {
			if l, waits := p.Waits(j); waits {
				t.Errorf("%s waits for %+v", what, l)
			}
		}
		if l, waits := g.Places("other").Waits(second); waits {
			t.Errorf("the gate of another project waits for %+v", l)
		}
		give(nil)
		give = <-got
		defer func() { (<-abroad)(nil) }()
		if l, waits := p.Waits(second); waits {
			t.Errorf("the second gate has its places and waits for %+v", l)
		}
		give(nil)
		MustTake(t, g, call("001-a", 2, 1))(failure(pawl.ModelRateLimit, time.Minute))
		go take(call("001-a", 3, 1))
		synctest.Wait()
		if l, waits := p.Waits(call("001-a", 3, 1)); !waits || l.Name != "account:anthropic" || time.Until(closedOf(l).Until) != time.Minute || closedOf(l).Why == "" {
			t.Errorf("the call waits: %t, for %+v", waits, l)
		}
		(<-got)(nil)
	})
}
