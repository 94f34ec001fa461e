package view

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"pawl"
)

// agentTalk is a session of a coding agent: a turn that ends, one that fails and one that is
// withdrawn.
func agentTalk(tb testing.TB) *story {
	s := begin(tb, 2, 1, nil)
	s.iterate(1, "")
	x := s.start(pawl.ForStep, s.place("implement", "developer", s.tier), 1, 1)
	log := func(updates ...pawl.AgentUpdate) pawl.Hash {
		var b strings.Builder
		for _, u := range updates {
			line, err := json.Marshal(u)
			if err != nil {
				tb.Fatal(err)
			}
			b.Write(append(line, '\n'))
		}
		return s.blob(b.String())
	}
	ask := func(turn int) pawl.Seq {
		s.wait(time.Second)
		return s.ask(x.Session, at(x, turn), &pawl.CallModel{Tier: 1, Try: 1, Agent: &pawl.AgentCall{Before: "tree"}})
	}
	edit := []pawl.AgentDiff{{Path: "login.go", Old: "a\nb\nc\nd\ne\nf\ng\nh\n", New: "a\nB\x1b[2J\nc\nd\ne\nf\ng\nH\n"}, {Path: "new\x1b]0;x\x07.go", New: "one\ntwo"}}
	id := ask(1)
	s.add(s.ref, &pawl.ModelReplied{
		Effect: id, Text: s.blob("It is in."), Model: "opus", Usage: pawl.Usage{Input: 900, CacheRead: 100, Output: 40},
		Calls: []pawl.ToolUse{{Tool: "submit_result", Args: s.blob(`{"summary":"It is in."}`), Submit: true, Told: true}},
		Agent: &pawl.AgentTurned{Stop: pawl.AgentCapped, Tree: "tree", Worth: 21_000, Tools: 4, Failed: 1, Transcript: log(
			pawl.AgentUpdate{Kind: pawl.UpdateThought, Text: "I\nlook\nfirst \x1b[31mred\x1b[m"},
			pawl.AgentUpdate{Kind: pawl.UpdateText, Text: "I look."},
			pawl.AgentUpdate{Kind: pawl.UpdatePlan, Plan: []pawl.AgentPlanEntry{{Text: "look", Status: "completed"}, {Text: "write\nit", Status: "in_progress"}, {Text: "test", Status: "pending"}}},
			pawl.AgentUpdate{Kind: pawl.UpdateCall, Call: "1", Tool: "Bash", Does: pawl.DoesExecute, Title: "go test ./... &&\n  echo \x1b[5mok", Args: json.RawMessage(`{"command":"…"}`)},
			pawl.AgentUpdate{Kind: pawl.UpdateCall, Call: "2", Tool: "Edit", Does: pawl.DoesEdit, Title: "login.go", Args: json.RawMessage(`{"file_path":"login.go"}`), Diffs: edit},
			pawl.AgentUpdate{Kind: pawl.UpdateResult, Call: "2", Text: "edited", Diffs: edit},
			pawl.AgentUpdate{Kind: pawl.UpdateResult, Call: "1", Text: "FAIL\n\x1b[1mat line 3\n" + strings.Repeat("more\n", 9), Failed: true},
			pawl.AgentUpdate{Kind: pawl.UpdatePermission, Tool: "Bash", Title: "rm -rf /", Failed: true},
			pawl.AgentUpdate{Kind: pawl.UpdatePermission, Tool: "Read", Title: "login.go"},
			pawl.AgentUpdate{Kind: pawl.UpdateCall, Call: "3", Tool: "mcp__pawl__submit_result", Does: pawl.DoesOther, Args: json.RawMessage(`{"summary":"It is in."}`)},
			pawl.AgentUpdate{Kind: pawl.UpdateResult, Call: "3", Text: "Received."},
			pawl.AgentUpdate{Kind: pawl.UpdateNote, Text: "a warning"},
			pawl.AgentUpdate{Kind: pawl.UpdateText, Text: "It is in."},
		)},
	})
	id = ask(2)
	s.add(s.ref, &pawl.EffectFailed{
		Effect: id, Failure: pawl.Failure{Code: "timeout", Message: "it sent nothing for 5 minutes", Used: pawl.Usage{Input: 3}}, Charged: 300, ChargedTokens: 3,
		Transcript: s.blob(`{"kind":"text","text":"I wait"}` + "\n" + `{"kind":"call","title":[secret]}` + "\n"),
	})
	id = ask(3)
	s.add(s.ref, &pawl.EffectWithdrawn{Effect: id, Reason: "the run is cancelled", Charged: 200, ChargedTokens: 2})
	s.add(0, &pawl.AnswerIgnored{Effect: id, What: "effect_failed", Transcript: log(pawl.AgentUpdate{Kind: pawl.UpdateText, Text: "I had just be"})})
	s.says(x, pawl.SessionAbandoned, "")
	return s
}

// A turn of a coding agent is shown update by update, one that failed or was withdrawn too, and nothing
// of it reaches a terminal as a command.
func TestTurnTranscript(t *testing.T) {
	s := agentTalk(t)
	r := New()
	var live []string
	for _, e := range s.events {
		r.Apply(e)
		if entry, ok := EntryOf(e, r, s.read); ok {
			live = append(live, indented(t, entry))
		}
	}
	x, err := Transcribe(r, "implement", s.read)
	if err != nil {
		t.Fatal(err)
	}
	everything, err := Transcribe(r, "", s.read)
	if err != nil {
		t.Fatal(err)
	}
	var whole []string
	for e := range everything.ByEvent(0) {
		whole = append(whole, indented(t, e))
	}
	if !slices.Equal(live, whole) {
		t.Errorf("%d entries as it happened, %d at the end", len(live), len(whole))
	}
	var short, all strings.Builder
	for b, o := range map[*strings.Builder]TranscriptOptions{&short: {Lines: 6, More: "--lines 0 shows all"}, &all: {}} {
		if err := x.Write(b, false, o); err != nil {
			t.Fatal(err)
		}
	}
	a := &txtar.Archive{Files: []txtar.File{
		{Name: "short.txt", Data: []byte(short.String())}, {Name: "all.txt", Data: []byte(all.String())}, {Name: "transcript.json", Data: []byte(indented(t, slices.Collect(x.ByEvent(0))))},
	}}
	mustBeSafe(t, string(txtar.Format(a)))
	golden(t, "turns.txtar", txtar.Format(a))
}

// Of a turn with very many updates the first and the last are shown.
func TestLongTurn(t *testing.T) {
	var all []pawl.AgentUpdate
	for i := range 1000 {
		all = append(all, pawl.AgentUpdate{Kind: pawl.UpdateText, Text: fmt.Sprint("message ", i)})
	}
	o := TranscriptOptions{Lines: 3, More: "v shows all"}
	rows := o.updateRows(all, 0)
	if len(rows) != 31 || rows[9].Text != "    message 9" || rows[10].Text != "    … 970 updates left out: v shows all" || rows[30].Text != "    message 999" {
		t.Errorf("%d rows: %+v", len(rows), rows)
	}
	few, left := ends(all, 30)
	if again := o.updateRows(few, left); !slices.Equal(again, rows) {
		t.Errorf("shortened before: %+v", again)
	}
	if o.Lines = 0; len(o.updateRows(all, 0)) != 1000 {
		t.Error("not all is shown if all is asked for")
	}
}

// An info says which agent hears it when, and a turn says how many it heard.
func TestInfosToAgents(t *testing.T) {
	s := begin(t, 2, 1, func(set *pawl.Settings, _ *pawl.RunStarted) {
		set.Models[0].Provider, set.Models[0].Hears = "claude-code", true
		set.Models[1].Provider = "codex"
	})
	s.iterate(1, "")
	x := s.start(pawl.ForStep, s.place("implement", "developer", s.tier), 1, 1)
	n := 0
	r := New()
	said := func(turn pawl.Seq) string {
		n++
		s.add(s.ref, &pawl.SignalSent{N: n, Signal: pawl.SignalInfo, Reason: "mind the cache", By: "ada", Turn: turn})
		r = fold(s.events)
		if next := r.Hears(s.ref); r.Records.Signals[n-1].Hears() != next {
			t.Errorf("it says %q, and before %q", r.Records.Signals[n-1].Hears(), next)
		}
		return Line(s.events[len(s.events)-1], r, s.read)
	}
	if got, want := said(0), "Signal 1: info (ada): mind the cache"; got != want {
		t.Errorf("without a turn: %q, want %q", got, want)
	}
	for tier, want := range map[int]string{1: "claude-code hears it now", 2: "codex hears it at its next session"} {
		id := s.ask(x.Session, at(x, tier), &pawl.CallModel{Tier: tier, Try: 1, Agent: &pawl.AgentCall{Before: "tree"}})
		turn := id
		if tier == 2 {
			turn = 0
		}
		if got := said(turn); !strings.HasSuffix(got, ": mind the cache · "+want) {
			t.Errorf("tier %d: %q", tier, got)
		}
		if got := SignalsText(r, 0); !strings.Contains(got, "mind the cache · "+want+"\n") {
			t.Errorf("tier %d: %s", tier, got)
		}
		s.add(s.ref, &pawl.ModelReplied{Effect: id, Model: "m", Agent: &pawl.AgentTurned{Stop: pawl.AgentEnded, Tree: "tree", Heard: 2}})
		r = fold(s.events)
		if got := Line(s.events[len(s.events)-1], r, s.read); !strings.Contains(got, "m ended its turn, and heard 2 infos") {
			t.Errorf("the turn: %q", got)
		}
	}
}

// A run says which of its models a tier uses, since when and why, until it is resumed or the tier's own
// model is used again.
func TestSwitchedIsShown(t *testing.T) {
	s := begin(t, 2, 1, func(set *pawl.Settings, _ *pawl.RunStarted) {
		set.Models[0].Provider, set.Models[0].Name, set.Models[0].Agent = "claude-code", "opus", true
		set.Fallbacks[0] = []pawl.ModelChoice{{Provider: "codex", Name: "gpt", Agent: true, Address: "https://api.openai.com"}}
	})
	s.iterate(1, "")
	x := s.start(pawl.ForStep, s.place("implement", "developer", s.tier), 1, 1)
	s.add(s.ref, &pawl.PromptAssembled{Effect: s.ask(x.Session, at(x, 1), &pawl.AssemblePrompt{}), Prompt: s.blob("Do it.")})
	id := s.ask(x.Session, at(x, 1), &pawl.CallModel{Tier: 1, Try: 1})
	s.add(s.ref, &pawl.EffectFailed{Effect: id, Failure: pawl.Failure{Code: "quota", Message: "no credit"}})
	s.add(s.ref, &pawl.ModelSwitched{Tier: 1, To: 1, Session: x.Session, For: time.Hour, Reason: "it is used up"})
	r := fold(s.events)
	transcript, err := Transcribe(r, "", s.read)
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	if err := transcript.Write(&said, false, TranscriptOptions{Lines: 20}); err != nil {
		t.Fatal(err)
	}
	until := ClockFrom(r.Updated.Add(time.Hour), r.Updated)
	for where, want := range map[string]string{
		Show(r, s.read):             "\n  Fallback   haiku uses codex/gpt in place of claude-code/opus until " + until + ": it is used up\n",
		Show(r, s.read) + "Agent":   "\n  Agent      claude-code: your login pays, and is in its room, which reaches only its provider\n  Agent      codex: a key pays, which is kept out of its room\n",
		Show(r, s.read) + "Problem": " to claude-code/opus failed: the account's credit or quota is used up (no credit)",
		WhyText(r):                  "  ← Tier haiku uses codex/gpt in place of claude-code/opus for 1h: it is used up (event ",
		said.String():               "  Tier haiku uses codex/gpt in place of claude-code/opus for 1h: it is used up\n",
	} {
		if !strings.Contains(where, want) {
			t.Errorf("%q is not in\n%s", want, where)
		}
	}
	if all := Summarize(r, s.read).Switched; len(all) != 1 || all[0].Model != "codex/gpt" || all[0].InPlaceOf != "claude-code/opus" || !all[0].Until.Equal(all[0].Since.Add(time.Hour)) {
		t.Errorf("JSON has %+v", all)
	}
	for _, b := range []pawl.Body{&pawl.RunResumed{}, &pawl.ModelSwitched{Tier: 1, From: 1, Reason: "its wait is over"}} {
		n := len(s.events)
		s.add(0, b)
		if all := fold(s.events).Switched(); len(all) != 0 {
			t.Errorf("after %s: %+v", b.EventKind(), all)
		}
		s.events = s.events[:n]
	}
}

// A line says which model takes the place of which, of whom, for how long and why.
func TestSwitchedLines(t *testing.T) {
	s := begin(t, 2, 1, func(set *pawl.Settings, _ *pawl.RunStarted) {
		set.Models[0].Provider, set.Models[0].Name = "claude-code", "opus"
		set.Fallbacks[0] = []pawl.ModelChoice{{Provider: "codex", Name: "gpt"}, {Provider: "openai", Name: "gpt"}}
	})
	s.iterate(1, "")
	x := s.start(pawl.ForStep, s.place("implement", "developer", s.tier), 1, 1)
	for want, b := range map[string]*pawl.ModelSwitched{
		"Tier haiku uses codex/gpt in place of claude-code/opus for the rest of the run: why": {Tier: 1, To: 1, Session: x.Session, Reason: "why"},
		"Tier haiku uses openai/gpt in place of codex/gpt for 5h: why":                        {Tier: 1, From: 1, To: 2, Session: x.Session, For: 5 * time.Hour, Reason: "why"},
		"implement in iteration 1 uses codex/gpt in place of claude-code/opus: why":           {Tier: 1, To: 1, Session: x.Session, SessionOnly: true, Reason: "why"},
		"Tier haiku uses claude-code/opus again in place of openai/gpt: its wait is over":     {Tier: 1, From: 2, Reason: "its wait is over"},
	} {
		s.add(s.ref, b)
		if got := Line(s.events[len(s.events)-1], fold(s.events), s.read); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
