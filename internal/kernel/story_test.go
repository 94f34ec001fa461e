package kernel

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"pawl"
)

// Each file in testdata is a story: what the world is like, what the user does,
// and the events that follow. With -rewrite the events are written anew.
//
// The commands:
//
//	run [gates=a,b] [complexity=N] [max=N] [budget=$N] [tokens=N] [time=D] [until=N] [show=all] …
//	    starts a run in a world of which the lines speak (see script_test.go)
//	go [until=N] [upto=TEXT] [for=D] [show=all]
//	    goes on, up to event N, until something is told, or for some time; from the word show on, every event is told
//	pause, resume [max=N] [budget=$N] [tokens=N] [time=D], cancel [finish|boundary|now], limits …
//	    what a user does; the run goes on afterwards, unless until=N or hold
//	override GATE because=(WHY) [elsewhere]  a person overrules the halt of a review, at a terminal or elsewhere
//	crash [down=D] [meddle]  the driver dies and another one takes over; meddle changes the worktree meanwhile
//	fork at=N                goes on as another run that has the events up to N in common with this one
//	answer N [as=KIND]       gives the answer of effect N once more, or one of another kind
//	state                    what the kernel knows now
//	told iteration=N step=S [task=ID]  what the last prompt of a step told besides the task
//	event N                  one event in full
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 100 {
		t.Fatalf("%d stories: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			s := &story{}
			datadriven.RunTest(t, file, s.command)
			s.w.t = t
			s.w.checkWhole()
		})
	}
}

type story struct {
	script   *script
	w        *world
	all      bool            // show every event
	sessions map[seat]string // their names
	isStep   map[seat]bool
	told     int          // how many events have been told
	own      *pawl.Recipe // see the command recipe
}

func (s *story) command(t *testing.T, td *datadriven.TestData) string {
	if s.w != nil {
		s.w.t = t
		s.w.ledger.t = t
	}
	err := error(nil)
	switch td.Cmd {
	case "run":
		s.begin(t, td)
	case "go":
		s.world(t, td.Input)
	case "pause", "resume", "cancel", "limits":
		s.world(t, td.Input)
		err = s.w.steer(s.steering(t, td))
	case "crash":
		s.world(t, td.Input)
		if td.HasArg("meddle") {
			s.w.tree += "-and-more"
		}
		down := time.Hour
		if v, ok := arg(td, "down"); ok {
			down = duration(t, v)
		}
		s.w.crash(down)
	case "rollback", "continue", "override":
		s.world(t, td.Input)
		in := steersBatches(t, td)
		in.Limits = s.steering(t, td).Limits
		err = s.w.steer(*in)
	case "nobody": // answers in time
		s.w.mustTake(Input{Unanswered: true})
	case "batches":
		return s.batches()
	case "signal", "archive":
		s.world(t, td.Input)
		err = s.w.steer(s.signals(t, td))
	case "replan", "reply", "forget":
		s.world(t, td.Input)
		err = s.w.steer(*s.says(t, td))
	case "recipe":
		return s.ownRecipe(t, td)
	case "plan":
		return s.plans()
	case "fork":
		s.fork(t, td)
	case "answer":
		s.again(t, td)
	case "state":
		return s.state()
	case "told":
		return s.prompt(t, td)
	case "event":
		return string(mustJSON(t, s.w.log[atoi(t, td.CmdArgs[0].Key)-1].Body)) + "\n"
	default:
		t.Fatalf("%s: there is no command %q", td.Pos, td.Cmd)
	}
	if err != nil {
		return "refused: " + err.Error() + "\n"
	}
	s.goOn(t, td)
	s.all = s.all || td.HasArg("show")
	return s.tell()
}

func arg(td *datadriven.TestData, key string) (string, bool) {
	for _, a := range td.CmdArgs {
		if a.Key == key && len(a.Vals) > 0 {
			return a.Vals[0], true
		}
	}
	return "", false
}

// world adds lines about the world before those that are there.
func (s *story) world(t *testing.T, lines string) {
	var rules []rule
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "list ") || strings.HasPrefix(line, "list:") {
			s.script.list(t, line)
		} else if line != "" {
			rules = append(rules, parseRule(t, line))
		}
	}
	s.script.rules = append(rules, s.script.rules...)
}

func (s *story) begin(t *testing.T, td *datadriven.TestData) {
	s.w, s.told, s.all, s.sessions, s.isStep = newWorld(t), 0, false, map[seat]string{}, map[seat]bool{}
	s.script = &script{w: s.w}
	s.w.happens = s.script.happens
	s.world(t, td.Input)
	r, set, first := s.recipe(t, td), settings(), &pawl.RunStarted{}
	if td.HasArg("recipe") { // its limit holds, as long as the user gives no other
		set.Limits.Iterations = 0
	}
	for _, a := range td.CmdArgs {
		if !s.treeOption(t, first, set, a.Key, strings.Join(a.Vals, ",")) {
			s.option(t, r, set, a)
		}
	}
	given := *first
	first = started(t, r, set)
	first.Tasks, first.Signs, first.Learnings, first.CriteriaGiven = given.Tasks, given.Signs, given.Learnings, given.CriteriaGiven
	s.w.mustTake(Input{Start: &Start{Run: worldRun, Started: first}})
}

// option changes the recipe or the settings of a story's run.
func (s *story) option(t *testing.T, r *pawl.Recipe, set *pawl.Settings, a datadriven.CmdArg) {
	k := &r.Kinds[0]
	value := ""
	if len(a.Vals) > 0 {
		value = a.Vals[0]
	}
	switch a.Key {
	case "gates":
		for _, name := range strings.Split(value, ",") {
			set.Gates = append(set.Gates, gate(name))
		}
	case "complexity": // without it the assessing step is asked
		n := atoi(t, value)
		set.Complexity = &n
	case "max", "budget", "tokens", "time":
		limit(t, &set.Limits, a.Key, value)
	case "output":
		for i := range set.Models {
			set.Models[i].MaxOutput = atoi(t, value)
		}
	case "turns":
		k.Steps[1].Turns = atoi(t, value)
	case "timeout":
		k.Steps[1].Timeout = duration(t, value)
	case "rungs":
		for i, v := range strings.Split(value, ",") {
			k.Ladder.Rungs[i].Failures = atoi(t, v)
		}
	case "attempts":
		k.Ladder.Council.Attempts = atoi(t, value)
	case "lenses":
		k.Ladder.Council.Lenses = k.Ladder.Council.Lenses[:atoi(t, value)]
	case "pauses":
		set.Retry.Pauses = atoi(t, value)
	case "goes-on-at":
		set.HaltOn = slices.DeleteFunc(set.HaltOn, func(c pawl.HaltCondition) bool { return string(c) == value })
	case "optional":
		set.Gates[0].Optional = true
	case "answer":
		set.AnswerTime = duration(s.w.t, value)
	case "evidence":
		set.Evidence = pawl.EvidenceMode(value)
	case "prepare":
		set.Prepare = []string{"npm ci"}
	case "unattended":
		set.Unattended = true
	case "allow":
		set.AllowMissingGates = strings.Split(value, ",")
	case "limit":
		set.Gates[0].Timeout = duration(t, value)
	case "council":
		set.Council = true
	case "no-council":
		k.Ladder.Council = nil
	case "no-review":
		k.Gates = k.Gates[:1]
	case "unfilled":
		k.Gates[1].Review.Unfilled = pawl.Unfilled(value)
	case "no-stuck":
		set.NoStuckDetection = true
	case "records":
		r.Records = true
	case "not-required":
		k.Steps[1].Required = false
	case "no-reminder":
		k.Steps[1].NoReminder = true
	case "loops", "approve", "parallel-of", "concurrent", "iterations", "order":
		levelsOption(t, r, a)
	case "until", "upto", "for", "show":
	default:
		t.Fatalf("there is no option %q", a.Key)
	}
}

func limit(t *testing.T, l *pawl.Limits, name, value string) {
	switch name {
	case "max":
		l.Iterations = atoi(t, value)
	case "budget":
		cents := strings.Replace(strings.TrimPrefix(value, "$"), ".", "", 1)
		l.Money = pawl.Micros(atoi(t, cents)) * pawl.Dollars / 100
	case "tokens":
		l.Tokens = int64(atoi(t, value))
	case "time":
		l.Time = duration(t, value)
	}
}

func (s *story) steering(t *testing.T, td *datadriven.TestData) pawl.Steering {
	out := pawl.Steering{Verb: pawl.SteerVerb(td.Cmd)}
	limits := s.w.state.Limits
	for _, a := range td.CmdArgs {
		switch a.Key {
		case "max", "budget", "tokens", "time":
			limit(t, &limits, a.Key, a.Vals[0])
			out.Limits = &limits
		case "finish", "boundary", "now", "later":
			out.Running = pawl.Draining(a.Key)
		case "because":
			out.Reason = a.Vals[0]
		}
	}
	return out
}

// goOn lets effects land until nothing is under way, or as long as the command says.
func (s *story) goOn(t *testing.T, td *datadriven.TestData) {
	if td.HasArg("hold") {
		return
	}
	until := pawl.Seq(100_000)
	if v, ok := arg(td, "until"); ok {
		until = pawl.Seq(atoi(t, v))
	}
	end := s.w.now.Add(10_000 * time.Hour)
	if v, ok := arg(td, "for"); ok {
		end = s.w.now.Add(duration(t, v))
	}
	for s.w.state.Seq < until {
		i := s.w.next()
		if i < 0 || s.w.flights[i].lands.After(end) {
			break
		}
		s.w.land()
		if upto, ok := argText(td, "upto"); ok && s.happened(upto) {
			break
		}
	}
	if _, ok := arg(td, "for"); ok {
		s.w.now = end
	}
}

// happened reports whether something was said since the last time events were told.
func (s *story) happened(what string) bool {
	return slices.ContainsFunc(s.w.log[s.told:], func(e pawl.Event) bool { return strings.Contains(s.who(e)+s.digest(e), what) })
}

// again answers an effect once more, or as another kind.
func (s *story) again(t *testing.T, td *datadriven.TestData) {
	id := pawl.Seq(atoi(t, td.CmdArgs[0].Key))
	if as, ok := arg(td, "as"); ok {
		answers := map[string]pawl.Answer{"wait": &pawl.WaitEnded{Effect: id}, "failed": &pawl.EffectFailed{Effect: id,
			Failure: pawl.Failure{Code: pawl.FailMachine, Message: "late"}}, "commit": &pawl.Committed{Effect: id, Commit: "cX", Tree: "tX"}}
		s.w.mustTake(Input{Answer: answers[as]})
		return
	}
	for _, e := range s.w.log {
		if a, ok := e.Body.(pawl.Answer); ok && a.Answers() == id {
			s.w.mustTake(Input{Answer: a})
			return
		}
	}
	t.Fatalf("effect %d has no answer yet", id)
}

func (s *story) state() string {
	st := s.w.state
	var b strings.Builder
	fmt.Fprintf(&b, "%s", st.Status)
	if st.Outcome != "" {
		fmt.Fprintf(&b, " %s (%s)", st.Outcome, st.Reason)
	}
	fmt.Fprintf(&b, ", spent %s and %d tokens, reserved %s, alive %s\n", st.Spent.Money, st.Spent.Tokens, st.Reserved.Money, st.Alive)
	for _, l := range st.Loops() {
		fmt.Fprintf(&b, "loop %d: %s, iteration %d, tier %d, %d failures, branch at %s, worktree %s\n", l.Ref, l.Phase, l.Iteration, l.Tier, l.ladder.Failures, l.Head,
			map[bool]string{true: "open", false: "closed"}[l.HasWorkspace])
	}
	for _, f := range Pending(st) {
		fmt.Fprintf(&b, "pending: %d %s\n", f.ID, asked(f))
	}
	return b.String()
}

func (s *story) prompt(t *testing.T, td *datadriven.TestData) string {
	n, _ := arg(td, "iteration")
	step, _ := arg(td, "step")
	task, _ := arg(td, "task")
	text := "nothing\n"
	for _, e := range s.w.log {
		r, ok := e.Body.(*pawl.EffectRequested)
		if !ok || r.Effect.Place.Step != step || r.Effect.Place.Iteration != atoi(t, n) || r.Effect.Place.Task != task {
			continue
		}
		if do, ok := r.Effect.Do.(*pawl.AssemblePrompt); ok {
			text = strings.ReplaceAll(strings.TrimPrefix(told(do), " with "), "; ", "\n") + "\n"
		}
	}
	return text
}

// tell tells the events since the last time.
func (s *story) tell() string {
	var b strings.Builder
	for ; s.told < len(s.w.log); s.told++ {
		e := s.w.log[s.told]
		if text := s.digest(e); text != "" {
			fmt.Fprintf(&b, "%4d %s%s\n", e.Seq, s.who(e), text)
		}
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}
