package view

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"pawl"
)

// What an effect waits for is said in words. F-24
func TestWaitingText(t *testing.T) {
	opens := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for want, w := range map[string]pawl.Waiting{
		"gate tests waits for the one heavy place, 12s so far":                                                                                      {Name: "gate tests", Pool: "lane:heavy", Slots: 1, For: 12 * time.Second},
		"gate tests waits for one of 2 heavy places, 1m so far, and 3 others with it":                                                               {Name: "gate tests", Pool: "lane:heavy", Slots: 2, For: time.Minute, Others: 3},
		"tool run of x waits for one of 10 places for tools, 3s so far":                                                                             {Name: "tool run of x", Pool: "lane:no-net", Slots: 10, For: 3 * time.Second},
		"tool mine waits for the one place for commands with a network, 3s so far":                                                                  {Name: "tool mine", Pool: "lane:net", Slots: 1, For: 3 * time.Second},
		"gate tests waits for one of 16 places of the machine, 2s so far":                                                                           {Name: "gate tests", Pool: "machine", Slots: 16, For: 2 * time.Second},
		"model call x waits for account api.example.com of openai, which one call tries (held by 002-b) (too many requests), 2s so far":             {Name: "model call x", Pool: "account:openai", Slots: 1, Account: "api.example.com", Runs: []pawl.RunID{"002-b"}, For: 2 * time.Second, Why: "too many requests"}, // F-15
		"model call x waits for account api.example.com with key 3f2a91 of openai, which opens at 2026-01-02 03:04:05 (all used), 2s so far":        {Name: "model call x", Pool: "account:openai", Account: "api.example.com with key 3f2a91", For: 2 * time.Second, Until: opens, Why: "all used"},                   // F-15
		"model call x continues, after 40s":                                                                                                         {Name: "model call x", Account: "api.example.com", For: 40 * time.Second, Over: true},                                                                             // F-15
		"gate tests waits for the one heavy place (held by 002-b), 2s so far":                                                                       {Name: "gate tests", Pool: "lane:heavy", Slots: 1, For: 2 * time.Second, Runs: []pawl.RunID{"002-b"}},
		"prepare waits for one of 5 places for commands with a network (held by 1, 2, 3, 1 other run, other repositories, see pawl top), 2s so far": {Name: "prepare", Pool: "lane:net", Slots: 5, For: 2 * time.Second, Runs: []pawl.RunID{"1", "2", "3", "4"}, Elsewhere: 1},
		"waits until its log can be written, 5s so far: no space. Free some":                                                                        {Name: "the run", Pool: pawl.PoolStore, For: 5 * time.Second, Why: "no space. Free some"},
		"its log can be written again, after 5s":                                                                                                    {Pool: pawl.PoolStore, For: 5 * time.Second, Over: true},
		"gate tests waits for space on a disk, 5s so far, and 1 other with it: /x has 12 kB free. Free some; it continues by itself":                {Name: "gate tests", Pool: pawl.PoolDisk, For: 5 * time.Second, Why: "/x has 12 kB free", Others: 1}, // F-18
		"gate tests continues, after 6s":                                                                                                            {Name: "gate tests", Pool: pawl.PoolDisk, For: 6 * time.Second, Over: true},
		"anthropic/claude has sent nothing for 20s (model call 3 of implement in iteration 1)":                                                      {Name: "model call 3 of implement in iteration 1", Pool: pawl.PoolModel, Model: "anthropic/claude", For: 20*time.Second + 900*time.Millisecond}, // F-49
		"anthropic/claude has sent nothing for 20s (a call), and 1 other of this run waits":                                                         {Name: "a call", Pool: pawl.PoolModel, Model: "anthropic/claude", For: 20 * time.Second, Others: 1},
		"anthropic/claude has sent nothing for 20s (a call), and 2 others of this run wait":                                                         {Name: "a call", Pool: pawl.PoolModel, Model: "anthropic/claude", For: 20 * time.Second, Others: 2},
		"anthropic/claude sends again, after 25s (a call)":                                                                                          {Name: "a call", Pool: pawl.PoolModel, Model: "anthropic/claude", For: 25 * time.Second, Over: true},
		"gate tests has its place, after 14s":                                                                                                       {Name: "gate tests", For: 14 * time.Second, Over: true},
	} {
		if got := WaitingText(&w); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

// watched shows what has happened so far in lines and on a screen, and returns both with what writes
// further updates to them. Lines have the time if clock is set.
func (s *story) watched(t *testing.T, clock bool) (lines *bytes.Buffer, scr *screen, live *Progress, write func(pawl.Update)) {
	t.Helper()
	lines, scr = &bytes.Buffer{}, &screen{tb: t, width: 120}
	written := NewProgress(New(), ProgressOptions{Out: lines, Least: Important, Clock: clock})
	live = NewProgress(New(), ProgressOptions{Out: scr, Live: true, Width: func() int { return 120 }, Least: Important})
	write = func(u pawl.Update) {
		t.Helper()
		mustProgress(t, written.Write(u))
		mustProgress(t, live.Write(u))
	}
	for _, e := range s.events {
		write(pawl.Update{Event: &e})
	}
	return lines, scr, live, write
}

// That an effect waits, and that it does no more, is told once each where lines are written,
// and stands in every view as long as it lasts. F-24
func TestWaitingIsTold(t *testing.T) {
	s := begin(t, 2, 1, nil)
	id := s.ask(0, pawl.Place{Loop: "task", Step: "tests"}, &pawl.RunGate{Gate: "tests", Commit: "base", OnBase: true})
	since := s.now
	plain, scr, live, write := s.watched(t, true)
	said := plain.Len()
	says := func(effect pawl.Seq, long time.Duration, over bool) {
		t.Helper()
		write(pawl.Update{Live: &pawl.Live{Effect: effect, Waiting: &pawl.Waiting{Effect: effect, Name: "gate tests", Pool: "lane:heavy", Slots: 1, Since: since, For: long, Over: over}}})
	}
	screenSays := func(text string) bool { return strings.Contains(strings.Join(scr.rows, "\n"), text) }
	says(1, time.Second, false) // an effect that there is not
	says(id, 2*time.Second, false)
	says(id, 4*time.Second, false)
	const waits = "gate tests waits for the one heavy place, "
	if got, want := plain.String()[said:], Clock(since.Add(2*time.Second))+"  "+waits+"2s so far\n"; got != want {
		t.Errorf("lines:\n got %q\nwant %q", got, want)
	}
	mustProgress(t, live.Tick(since.Add(9*time.Second)))
	if !screenSays(waits + "9s") {
		t.Errorf("the screen has\n%s", strings.Join(scr.rows, "\n"))
	}
	r := live.Run()
	if text := Show(r, s.read); !strings.Contains(text, "  Waiting    "+waits+"4s so far\n") {
		t.Errorf("show:\n%s", text)
	}
	if text := WhyText(r); !strings.Contains(text, "for gate tests on the base, since "+Clock(since)+", which has waited 4s for the one heavy place") {
		t.Errorf("why:\n%s", text)
	}
	says(id, 10*time.Second, true)
	says(id, 10*time.Second, true)
	if got := plain.String()[said:]; strings.Count(got, "\n") != 2 || !strings.HasSuffix(got, "  gate tests has its place, after 10s\n") {
		t.Errorf("lines: %q", got)
	}
	if screenSays(waits) || strings.Contains(Show(r, s.read), "Waiting") || strings.Contains(WhyText(r), "has waited") {
		t.Errorf("it is over, and still said:\n%s\n%s\n%s", strings.Join(scr.rows, "\n"), Show(r, s.read), WhyText(r))
	}

	// An answer ends it too: what is live may be lost.
	says(id, 12*time.Second, false)
	s.add(1, &pawl.GateJudged{Effect: id, Gate: "tests", Kind: pawl.GateTests, Verdict: pawl.VerdictPass, OnBase: true})
	write(pawl.Update{Event: &s.events[len(s.events)-1]})
	if screenSays(waits) || r.Waiting() != nil {
		t.Errorf("the gate has judged, and it still waits:\n%s", strings.Join(scr.rows, "\n"))
	}
}

// A run that waits until a provider lets its account call again says in every view which account
// that is, and until when. F-15
func TestAccountsAreNamed(t *testing.T) {
	s := begin(t, 6, 2, nil)
	s.iterate(2, "")
	x := s.implementing()
	call := s.ask(x.Session, at(x, 1), &pawl.CallModel{Tier: 2, Try: 1})
	s.add(s.ref, &pawl.EffectFailed{Effect: call, Failure: pawl.Failure{Code: "quota", Message: "HTTP 429: all used", Wait: 40 * time.Second}})
	account := pawl.Account{Provider: "openai", Address: "https://api.example.com/v1", Key: "3f2a910000"}
	id := s.ask(x.Session, x.Place, &pawl.Wait{For: 40 * time.Second, Reason: "the provider asked for it: quota", Account: account, Why: "HTTP 429: all used"})
	r := fold(s.events)
	until := s.now.Add(40 * time.Second)
	const named = " for account api.example.com with key 3f2a91 of openai: the provider asked for it: quota"
	if got, want := Line(s.events[len(s.events)-1], r, s.read), "Waiting 40s"+named; got != want {
		t.Errorf("the log has %q, want %q", got, want)
	}
	if text := WhyText(r); !strings.Contains(text, "  … waits 40s until "+Clock(until)+named) {
		t.Errorf("why:\n%s", text)
	}
	p := NewProgress(r, ProgressOptions{Out: &bytes.Buffer{}, Live: true, Width: func() int { return 200 }})
	mustProgress(t, p.Tick(s.now.Add(22*time.Second)))
	if got := strings.Join(p.live, "\n"); !strings.Contains(got, "  waiting 18s more"+named) {
		t.Errorf("while it is followed:\n%s", got)
	}
	heard := &pawl.Waiting{Effect: id, Name: "model call task/1/implement", Pool: "account:openai", Account: account.String(), Until: until, Why: "HTTP 429: all used", Since: s.now, For: 5 * time.Second}
	const waits = "model call task/1/implement waits for account api.example.com with key 3f2a91 of openai, which opens at "
	if got := r.Hear(heard); !strings.HasPrefix(got, waits+Clock(until)+" (HTTP 429: all used), 5s so far") {
		t.Errorf("it says %q", got)
	}
	if text := Show(r, s.read); !strings.Contains(text, "  Waiting    "+waits+Clock(until)) {
		t.Errorf("show:\n%s", text)
	}
}

// That a run waits for its log is told, also where the screen shows it as long as it lasts,
// and over with its next event. F-18
func TestWaitForTheLogIsTold(t *testing.T) {
	s := begin(t, 2, 1, nil)
	s.ask(0, pawl.Place{Loop: "task", Step: "tests"}, &pawl.RunGate{Gate: "tests", Commit: "base", OnBase: true})
	var out bytes.Buffer
	p := NewProgress(New(), ProgressOptions{Out: &out, Least: Important})
	for _, e := range s.events[:len(s.events)-1] {
		mustProgress(t, p.Write(pawl.Update{Event: &e}))
	}
	says := func(over bool) {
		t.Helper()
		mustProgress(t, p.Write(pawl.Update{Live: &pawl.Live{Waiting: &pawl.Waiting{Name: "the run", Pool: pawl.PoolStore, Since: s.now, Why: "no space. Free some", Over: over}}}))
	}
	says(false)
	says(false)
	if n := strings.Count(out.String(), "waits until its log can be written, 0s so far: no space. Free some\n"); n != 1 {
		t.Errorf("told %d times:\n%s", n, out.String())
	}
	r := p.Run()
	if text := Show(r, s.read); !strings.Contains(text, "  Waiting    waits until its log can be written") {
		t.Errorf("show:\n%s", text)
	}
	if text := WhyText(r); !strings.Contains(text, "until its log can be written, since "+Clock(s.now)+": no space. Free some") {
		t.Errorf("why:\n%s", text)
	}
	says(true)
	if !strings.Contains(out.String(), "its log can be written again") || r.Waiting() != nil {
		t.Errorf("over:\n%s", out.String())
	}
	says(false)
	mustProgress(t, p.Write(pawl.Update{Event: &s.events[len(s.events)-1]}))
	if w := r.Waiting(); w != nil {
		t.Errorf("after an event it waits for %+v", w)
	}
}

// A model that sends nothing is named in every view, with for how long. Where lines are written it is
// said after 20 seconds and each time the silence has doubled, on a screen as long as it lasts. F-49
func TestSilentModel(t *testing.T) {
	s := begin(t, 2, 1, nil)
	s.iterate(1, "")
	x := s.implementing()
	id := s.ask(x.Session, at(x, 1), &pawl.CallModel{Tier: 1, Try: 1})
	since := s.now
	out, scr, live, write := s.watched(t, false)
	said := out.Len()
	silent := func(long time.Duration, over bool) {
		t.Helper()
		write(pawl.Update{Live: &pawl.Live{Effect: id, Waiting: &pawl.Waiting{Effect: id, Name: "model call 1 of implement in iteration 1",
			Pool: pawl.PoolModel, Model: "anthropic/claude", Since: since, For: long, Over: over}}})
	}
	for long := pawl.SilentAfter; long < 5*time.Minute; long += 2 * time.Second {
		silent(long, false)
	}
	var want string
	for _, long := range []string{"20s", "40s", "1m20s", "2m40s"} {
		want += "anthropic/claude has sent nothing for " + long + " (model call 1 of implement in iteration 1)\n"
	}
	if got := out.String()[said:]; got != want {
		t.Errorf("lines:\n%swant\n%s", got, want)
	}
	mustProgress(t, live.Tick(since.Add(5*time.Minute)))
	r := live.Run()
	for what, text := range map[string]string{"the screen": strings.Join(scr.rows, "\n"), "show": Show(r, s.read), "why": WhyText(r)} {
		long := map[string]string{"the screen": "5m"}[what]
		if long == "" {
			long = "4m58s"
		}
		if n := strings.Count(text, "anthropic/claude has sent nothing for "+long); n != 1 {
			t.Errorf("%s says it %d times:\n%s", what, n, text)
		}
	}
	silent(5*time.Minute, true)
	if got := out.String()[said:]; !strings.HasSuffix(got, "\nanthropic/claude sends again, after 5m (model call 1 of implement in iteration 1)\n") {
		t.Errorf("lines:\n%s", got)
	}
	silent(pawl.SilentAfter, false) // once more
	if got := out.String()[said:]; strings.Count(got, "nothing for 20s") != 2 {
		t.Errorf("lines:\n%s", got)
	}
	s.add(s.ref, &pawl.EffectFailed{Effect: id, Failure: pawl.Failure{Code: "timeout", Message: "nothing came for 5m0s"}})
	write(pawl.Update{Event: &s.events[len(s.events)-1]})
	if text := strings.Join(scr.rows, "\n") + Show(r, s.read); strings.Contains(text, "has sent nothing") {
		t.Errorf("the call has failed, and it is still said:\n%s", text)
	}
}
