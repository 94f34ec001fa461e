package kernel

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"pawl"
	"pawl/internal/kernel/session"
	"pawl/internal/recipe"
)

// What stories say of loops with children. The lists of tasks of a story's world
// are lines of their own:
//
//	list [NAME]: TASK [after TASK+TASK] [WORD…], TASK …
//	list NAME: unreadable WHY…
//
// A task's words are priority=N, tier=N, verify=N, retries=N, lacks=WORD,
// critical and done. A planner hands in the list without a name, and one that
// makes a plan anew the list named again, unless its line says list=NAME.
//
// A line's WHERE may name a task, a root and a round besides: task a executor,
// root commands, round 2 decide. Further subjects are tasks (a list is read),
// merge, advance, rebase, conflict (is the candidate free of markers), probe and
// callback. Their WHAT: conflict [COUNT], unresolved COUNT, with TASK….
// learning=TEXT and the other kinds of memory are facts of what is handed in;
// remember=KIND/TEXT, board=set/KEY/TEXT, board=get/KEY and board=list are calls.
//
// Further commands:
//
//	recipe                       the recipe of the next run with recipe=own, in YAML
//	run recipe=NAME [given] [criteria] [signs] [approval=MODE] [threshold=N] [parallel=N] [every=N] [callback] [announce] [records] [learnings=N]
//	replan [because=TEXT], reply N CHOICE [text=TEXT] [by=NAME] [about=stale], forget N
//	plan                         where the tasks stand

// list reads a line about a list of tasks.
func (s *script) list(t testing.TB, line string) {
	where, what, _ := strings.Cut(line, ":")
	name := listName(strings.TrimSpace(strings.TrimPrefix(where, "list")))
	if s.lists == nil {
		s.lists, s.unreadable, s.texts = map[pawl.Hash][]pawl.TaskEntry{}, map[pawl.Hash]string{}, map[pawl.Hash]string{}
	}
	h := blobOf(name)
	if why, bad := strings.CutPrefix(strings.TrimSpace(what), "unreadable "); bad {
		s.unreadable[h] = why
		return
	}
	delete(s.unreadable, h)
	var out []pawl.TaskEntry
	for part := range strings.SplitSeq(what, ",") {
		words := strings.Fields(part)
		if len(words) == 0 {
			continue
		}
		e := pawl.TaskEntry{ID: words[0], Title: "Do " + words[0], Spec: blobOf("task " + words[0])}
		for i, word := range words[1:] {
			name, value, _ := strings.Cut(word, "=")
			switch name {
			case "after":
				e.DependsOn = strings.Split(words[i+2], "+")
			case "priority":
				e.Priority = atoi(t, value)
			case "tier":
				e.Tier = atoi(t, value)
			case "verify":
				e.Verify = atoi(t, value)
			case "retries":
				e.Retries = atoi(t, value) + 1
			case "lacks":
				e.Incomplete = "it lacks " + value
			case "critical":
				e.Critical = true
			case "done":
				e.Done = true
			case "validated":
				e.Validated = true
			case "scaffold":
				e.Scaffold = true
			default:
				if i == 0 || words[i] != "after" {
					t.Fatalf("a task has no %q", word)
				}
			}
		}
		out = append(out, e)
	}
	s.lists[h] = out
}

func listName(name string) string { return strings.TrimSpace("list " + name) }

func (s *script) tasksRead(f *pawl.Effect, do *pawl.ReadTasks) pawl.Answer {
	entries, known := s.lists[do.List]
	b := &pawl.TasksRead{Effect: f.ID, Problem: s.unreadable[do.List]}
	switch {
	case b.Problem != "":
	case !known:
		b.Problem = "nobody knows this list"
	default:
		b.Entries, b.Count = slices.Clone(entries), len(entries)
	}
	return b
}

// handsIn is the name of the list that a session hands in.
func (s *script) handsIn(x *session.Session, r *rule) string {
	name := listName(r.value("list"))
	if r.value("list") == "" && x.Purpose == pawl.ForReplan {
		again := blobOf(listName("again"))
		if _, there := s.lists[again]; there || s.unreadable[again] != "" {
			name = listName("again")
		}
	}
	return name
}

func (s *script) merged(f *pawl.Effect, r *rule) pawl.Answer {
	b := &pawl.Merged{Effect: f.ID}
	number := func(word string) int {
		i := slices.Index(r.what, word)
		switch {
		case i < 0:
			return 0
		case i+1 < len(r.what):
			return atoi(s.w.t, r.what[i+1])
		}
		return 1
	}
	if b.Unresolved = number("unresolved"); b.Unresolved > 0 {
		return b
	}
	if b.Conflicts = number("conflict"); b.Conflicts > 0 {
		b.Hunks, b.Paths = blobOf(fmt.Sprint("hunks-", f.ID)), blobOf("conflicting paths")
	}
	return b
}

func (s *script) probedWith(f *pawl.Effect, do *pawl.ProbeConflicts, r *rule) pawl.Answer {
	b := &pawl.ConflictsProbed{Effect: f.ID}
	for _, o := range do.Others {
		if slices.Contains(r.what, o.Task) {
			b.With, b.Hunks = append(b.With, o.Loop), blobOf("both change it")
		}
	}
	return b
}

// text is the hash of something remembered, as facts have it.
func (s *script) text(text string) string {
	h := blobOf(text)
	if s.texts == nil {
		s.texts = map[pawl.Hash]string{}
	}
	s.texts[h] = text
	return hex.EncodeToString(h[:])
}

func isMemory(kind string) bool { return slices.Contains(pawl.MemoryKinds, pawl.MemoryKind(kind)) }

// harness is a call that the harness answers itself; false when it is none.
func (s *script) harness(word, id string) (pawl.ToolUse, bool) {
	use := pawl.ToolUse{Args: blobOf(id), Harness: true}
	tool, what, _ := strings.Cut(word, "=")
	parts := append(strings.SplitN(what, "/", 3), "", "")
	switch tool {
	case "remember":
		use.Tool = "remember"
		use.Facts = pawl.Facts{{Name: "kind", Value: parts[0]}, {Name: "text", Value: s.text(parts[1])}}
	case "board":
		use.Tool = "blackboard"
		use.Facts = pawl.Facts{{Name: "op", Value: parts[0]}, {Name: "key", Value: parts[1]}, {Name: "value", Value: parts[2]}}
	default:
		return use, false
	}
	return use, true
}

// treeOption changes the settings or the first event of a run with children; it
// reports whether it knows the option.
func (s *story) treeOption(t *testing.T, first *pawl.RunStarted, set *pawl.Settings, name, value string) bool {
	switch name {
	case "recipe":
	case "learnings":
		first.Learnings = atoi(t, value)
	case "given":
		first.Tasks = blobOf(listName(""))
	case "criteria":
		first.CriteriaGiven = true
	case "signs":
		first.Signs = []string{"it lists 5 steps"}
	case "approval":
		set.Approval = value
	case "threshold":
		set.ApprovalThreshold = atoi(t, value)
	case "parallel":
		set.Parallel = atoi(t, value)
	case "every":
		n := atoi(t, value)
		set.ReplanEvery = &n
	case "announce":
		set.Announce = &pawl.Announcing{Command: "notify-send"}
	case "callback":
		set.Callback = &pawl.Callback{URL: "https://example.com/told"}
	default:
		return false
	}
	return true
}

// recipe is the one a run is told to have: the one of the tests, the story's own,
// or a built-in one.
func (s *story) recipe(t *testing.T, td *datadriven.TestData) *pawl.Recipe {
	name, _ := arg(td, "recipe")
	switch name {
	case "levels":
		return levels()
	case "":
		return taskLoop()
	case "own":
		if s.own == nil {
			t.Fatalf("%s: the story has no recipe that can be read", td.Pos)
		}
		return s.own
	}
	r, err := recipe.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return &r
}

func (s *story) ownRecipe(t *testing.T, td *datadriven.TestData) string {
	r, err := recipe.Parse("own", []byte(td.Input))
	if err != nil {
		t.Fatalf("%s: %v", td.Pos, err)
	}
	s.own = &r
	return ""
}

// says makes a command of a user to a run with children; nil when it is another one.
func (s *story) says(t *testing.T, td *datadriven.TestData) *pawl.Steering {
	out := &pawl.Steering{Verb: pawl.SteerVerb(td.Cmd)}
	out.Reason, _ = argText(td, "because")
	switch td.Cmd {
	case "replan":
	case "forget":
		out.Memory = atoi(t, td.CmdArgs[0].Key)
	case "reply":
		out.Verb = pawl.SteerAnswer
		out.Answer = &pawl.Reply{Question: atoi(t, td.CmdArgs[0].Key), Choice: td.CmdArgs[1].Key}
		out.Answer.Text, _ = argText(td, "text")
		out.Answer.By, _ = argText(td, "by")
		for _, q := range all[*pawl.QuestionAsked](s.w) {
			if q.N == out.Answer.Question {
				out.Answer.About = q.About
			}
		}
		if about, _ := arg(td, "about"); about == "stale" {
			out.Answer.About = blobOf("what was shown before")
		}
	default:
		return nil
	}
	return out
}

// argText is an argument of several words.
func argText(td *datadriven.TestData, key string) (string, bool) {
	for _, a := range td.CmdArgs {
		if a.Key == key {
			return strings.Join(a.Vals, ", "), true
		}
	}
	return "", false
}

// plans tells where the tasks of every plan stand.
func (s *story) plans() string {
	var b strings.Builder
	for _, l := range s.w.state.Loops() {
		p := l.gen.plan
		if p == nil {
			continue
		}
		fmt.Fprintf(&b, "plan %d:", p.Version)
		for i := range p.Entries {
			st := p.At(i)
			fmt.Fprintf(&b, " %s %s", p.Entries[i].ID, st.Status)
			if st.Tries > 0 {
				fmt.Fprintf(&b, " (%d tries)", st.Tries)
			}
			if i < len(p.Entries)-1 {
				b.WriteString(",")
			}
		}
		fmt.Fprintf(&b, "; %d started\n", p.Started)
	}
	return b.String()
}

// who is the task of an event's loop, before what happens to it.
func (s *story) who(e pawl.Event) string {
	if e.Loop < 2 {
		return ""
	}
	return "[" + s.w.state.Loop(e.Loop).task.ID + "] "
}

// planAt are the ids of a loop's plan when an event happens.
func (s *story) planAt(e pawl.Event) (ids []string) {
	var part []string
	for _, o := range s.w.log[:e.Seq-1] {
		if o.Loop != e.Loop {
			continue
		}
		switch b := o.Body.(type) {
		case *pawl.EffectRequested:
			if b.Effect.Do.Verb() == pawl.VerbReadTasks {
				part = nil
			}
		case *pawl.TasksListed:
			for i := range b.Entries {
				part = append(part, b.Entries[i].ID)
			}
		case *pawl.PlanAccepted:
			ids = part
		}
	}
	if _, now := e.Body.(*pawl.PlanAccepted); now {
		return part
	}
	return ids
}

func named(ids []string, positions []int) string {
	var out []string
	for _, i := range positions {
		out = append(out, ids[i])
	}
	return strings.Join(out, ", ")
}

// treeHeadline tells the events of loops with children.
func (s *story) treeHeadline(e pawl.Event) string {
	switch b := e.Body.(type) {
	case *pawl.LoopStarted:
		if b.Pending {
			return fmt.Sprintf("waits for its turn as loop %d, a %s", e.Loop, b.Kind)
		}
		if b.Parent != 0 {
			return fmt.Sprintf("begins at %s as loop %d", b.Base, e.Loop)
		}
	case *pawl.LoopAdmitted:
		text := fmt.Sprintf("is let in at %s with %d points", b.Base, b.Score)
		if b.Waited != "" {
			text += ", having waited: " + b.Waited
		}
		return text
	case *pawl.LoopEnded:
		if e.Loop > 1 {
			return fmt.Sprintf("has ended: %s%s", b.Outcome, because(b.Reason))
		}
	case *pawl.SessionEnded:
		if l := s.w.state.Loop(e.Loop); b.Result == pawl.SessionDone && s.isStep[seat{l.Ref, b.Session}] && b.Facts.Get("decision") != "" {
			text := s.sessions[seat{l.Ref, b.Session}] + " decides " + b.Facts.Get("decision")
			if b.Facts.Get("overruled") != "" {
				text += ", and had said " + b.Facts.Get("overruled")
			}
			return text
		}
	case *pawl.PlanAccepted:
		text := fmt.Sprintf("plan %d: %s", b.Version, strings.Join(s.planAt(e), ", "))
		if b.Changed != "" {
			text += " (" + b.Changed + ")"
		}
		return text
	case *pawl.PlanRefused:
		return "the plan is refused: " + b.Reason
	case *pawl.ReplanCalled:
		return fmt.Sprintf("the plan is to be made anew: %s: %s", b.Cause, b.Reason)
	case *pawl.TasksBlocked:
		if len(b.Tasks) > 0 {
			return fmt.Sprintf("blocked by %s: %s", b.Cause, named(s.planAt(e), b.Tasks))
		}
	case *pawl.TasksSkipped:
		return fmt.Sprintf("skipped: %s: %s", named(s.planAt(e), b.Tasks), b.Reason)
	case *pawl.Rerouted:
		return fmt.Sprintf("%s says %s: back to step %d (%d of %d)", b.Gate, b.Verdict, b.Step, b.N, b.Max)
	case *pawl.RoundsEnded:
		text := fmt.Sprintf("%s: %d rounds are over: %s", b.Group, b.Max, b.Then)
		if b.By != "" {
			text += ", decided by " + b.By + because(b.Reason)
		}
		if !b.Refused.IsZero() {
			text += fmt.Sprintf("; the review %s refuses the plan", b.Refused.Short())
		}
		return text
	}
	if text := s.signalHeadline(e); text != "" {
		return text
	}
	if text := s.batchHeadline(e); text != "" {
		return text
	}
	return s.talkHeadline(e.Body)
}

func (s *story) talkHeadline(body pawl.Body) string {
	switch b := body.(type) {
	case *pawl.QuestionAsked:
		return fmt.Sprintf("question %d (%s): %s [%s]", b.N, b.Kind, b.Text, strings.Join(b.Choices, ", "))
	case *pawl.QuestionAnswered:
		text := fmt.Sprintf("question %d is answered: %s%s", b.N, b.Choice, because(b.Text))
		if b.By != "" {
			text += ", by " + b.By
		}
		return text
	case *pawl.QuestionWithdrawn:
		return fmt.Sprintf("question %d is withdrawn%s", b.N, because(b.Reason))
	case *pawl.MergeQueued:
		return fmt.Sprintf("waits to be merged: %s, %d %% sure", b.Commit, b.Confidence)
	case *pawl.Merged:
		switch {
		case b.Conflicts > 0:
			return fmt.Sprintf("%s conflicts in %d paths", b.Commit, b.Conflicts)
		case b.Unresolved > 0:
			return fmt.Sprintf("%d paths still have conflict markers", b.Unresolved)
		}
	case *pawl.Published:
		do := s.w.log[b.Effect-1].Body.(*pawl.EffectRequested).Effect.Do.(*pawl.Publish)
		return fmt.Sprintf("published as %s: %s %s", b.Commit, do.Title, do.Of)
	case *pawl.BranchAdvanced:
		return "is merged: the branch is at " + string(b.Commit)
	case *pawl.ConflictsProbed:
		if len(b.With) > 0 {
			return fmt.Sprintf("changes what loops %v change", b.With)
		}
	case *pawl.Notified:
		if s.announces(b.Effect) {
			return "somebody has heard of it"
		}
		return fmt.Sprintf("the callback has heard: %d", b.Status)
	case *pawl.NotePosted:
		return fmt.Sprintf("notes %s = %s", b.Key, b.Value)
	case *pawl.MemoryAdded:
		text := fmt.Sprintf("memory %d, a %s for the %s: %s", b.N, b.Kind, b.Scope, s.script.texts[b.Text]+strings.ReplaceAll(strings.TrimSpace(b.Said), "\n\n", " · "))
		if b.Learning > 0 {
			text += fmt.Sprintf(" (learning %03d)", b.Learning)
		}
		if b.Failed {
			text += " (of a failed attempt)"
		}
		return text
	case *pawl.MemoryForgotten:
		return fmt.Sprintf("memory %d is forgotten%s", b.N, because(b.Reason))
	}
	return ""
}

// announces reports whether an effect tells of a question.
func (s *story) announces(id pawl.Seq) bool {
	r, ok := s.w.log[id-1].Body.(*pawl.EffectRequested)
	return ok && r.Effect.Do.Verb() == pawl.VerbAnnounce
}

// toldOfPlan is what a prompt tells of lists of tasks and of the memory.
func toldOfPlan(do *pawl.AssemblePrompt) (parts []string) {
	if do.Count > 0 {
		parts = append(parts, fmt.Sprintf("task %d of %d", do.Number, do.Count))
	}
	if do.States != "" {
		parts = append(parts, "plan "+do.States)
	}
	if do.Memory != nil {
		parts = append(parts, "memory "+do.Memory.Select)
	}
	if do.Cause != "" {
		parts = append(parts, "cause: "+do.Cause)
	}
	if do.Item > 0 {
		parts = append(parts, fmt.Sprintf("entry %d of %s", do.Item, do.ItemField))
	}
	if len(do.Answers) > 0 {
		parts = append(parts, fmt.Sprintf("%d answers", len(do.Answers)))
	}
	for _, sign := range do.Signs {
		parts = append(parts, "sign: "+sign)
	}
	return parts
}
