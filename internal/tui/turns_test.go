package tui

import (
	"fmt"
	"strings"
	"testing"

	"pawl"
)

// The turns of a loop are shown as they happen, the last one at the end; what is being said comes
// behind them. F-46
func TestTurnsAreLive(t *testing.T) {
	w := newWorld()
	s := w.begin(t, "shop", "001-login", "Add login")
	d := drive(t, w, 100, 40, pen{})
	d.press("tab", "z", "7")
	d.shows("nothing was said yet")
	s.try(1, 1, 50, 3)
	s.session(1, "plan", "", "draft", 3, "I look at the schema.", `{"title":"Login"}`)
	d.look()
	d.shows("plan/1/draft: prompt · 412 bytes", "│ # Task", "plan/1/draft: turn 1 · claude-sonnet-4-5 · 2,400 tokens in, 310 out, $0.0119", "    I look at the schema.",
		`    → edit {"path":"internal/login/login.go"}`, "plan/1/draft: edit internal/login/login.go · 2 bytes", "    │ ok", "session done · 1 call")
	s.n[1]++
	place := pawl.Place{Loop: "plan", Iteration: 1, Step: "draft", Tier: 3, Turn: 1}
	s.add(1, &pawl.SessionStarted{Session: s.n[1], Purpose: pawl.ForStep, Place: place, Turns: 20, Try: 1})
	id := s.ask(1, s.n[1], place, &pawl.CallModel{Tier: 3, Try: 1})
	s.live(id, "Now the table of")
	d.look()
	if screen := d.screen(); strings.Index(screen, "Now the table of") < strings.Index(screen, "session done") {
		t.Errorf("what is being said is not last:\n%s", screen)
	}
}

// Long texts are cut with a count of what is left out, and v shows them whole. F-46
func TestLongTurns(t *testing.T) {
	w := newWorld()
	s := w.begin(t, "shop", "001-login", "Add login")
	s.try(1, 1, 50, 3)
	var long strings.Builder
	for i := range 60 {
		fmt.Fprintf(&long, "line %d\n", i)
	}
	s.session(1, "plan", "", "draft", 3, long.String(), `{}`)
	d := drive(t, w, 100, 100, pen{})
	d.press("tab", "z", "7")
	d.shows("line 13\n", "… 40 lines left out, 320 bytes: v shows all", "line 54\n")
	if strings.Contains(d.screen(), "line 20\n") {
		t.Errorf("it is not cut:\n%s", d.screen())
	}
	d.press("v")
	d.shows("line 13\n", "line 20\n", "line 54\n")
	if strings.Contains(d.screen(), "left out") {
		t.Errorf("it is still cut:\n%s", d.screen())
	}
}

// Of a run with very many turns the last are shown, and what is read for them fits into the cache.
func TestManyTurns(t *testing.T) {
	w := newWorld()
	s := w.begin(t, "shop", "001-login", "Add login")
	s.try(1, 1, 50, 3)
	for i := range maxTurns / 2 {
		s.session(1, "plan", "", "draft", 3, fmt.Sprintf("Session %d.", i), `{}`)
	}
	d := drive(t, w, 100, 40, pen{})
	d.press("tab", "z", "7")
	d.shows(fmt.Sprintf("Session %d.", maxTurns/2-1))
	d.press("g")
	d.shows("… what was before: pawl show 001-login --transcript")
	for i := range maxBlobs/maxBlob + 10 {
		s.session(1, "plan", "", "draft", 3, fmt.Sprintf("Large %d.\n%s", i, strings.Repeat("x", maxBlob)), `{}`)
	}
	d.look()
	d.press("G")
	d.shows(fmt.Sprintf("Large %d.", maxBlobs/maxBlob+9))
	before := d.m.blobs.rev
	d.press("j", "k", "G")
	d.send(tickMsg{})
	if d.m.blobs.rev != before {
		t.Errorf("texts are read again and again")
	}
}

// What a run says at its end is at the end of its log and of its turns, not at those of the loops
// below its root. F-37
func TestAnswerInTheLog(t *testing.T) {
	w := newWorld()
	s := w.begin(t, "shop", "001-login", "Add login")
	s.grown()
	s.ends(pawl.OutcomeIncomplete, "max iterations reached")
	d := drive(t, w, 100, 60, pen{})
	d.press("tab", "z", "G")
	const answer = "No answer was written for the whole run. What its tasks say:\n  accounts/table/code, which did not pass: made"
	d.shows(answer)
	d.press("7")
	d.shows(answer)
	d.press("1", "z", "tab", "down")
	for range 10 {
		d.press("down")
	}
	if strings.Contains(d.screen(), "What its tasks say") {
		t.Errorf("a loop has the run's answer:\n%s", d.screen())
	}
}

// A coding agent's turn is shown update by update, with its changes in the colours of a diff.
func TestTurnsOfAgents(t *testing.T) {
	w := newWorld()
	s := w.begin(t, "shop", "001-login", "Add login")
	s.try(1, 1, 50, 3)
	s.n[1]++
	place := pawl.Place{Loop: "plan", Iteration: 1, Step: "draft", Tier: 3, Turn: 1}
	s.add(1, &pawl.SessionStarted{Session: s.n[1], Purpose: pawl.ForStep, Place: place, Turns: 20, Try: 1})
	id := s.ask(1, s.n[1], place, &pawl.CallModel{Tier: 3, Try: 1, Agent: &pawl.AgentCall{Before: "t"}})
	var log strings.Builder
	log.WriteString(`{"kind":"call","call":"1","tool":"Edit","title":"login.go","diffs":[{"path":"login.go","old":"a\n","new":"b\n"}]}` + "\n")
	for i := range 6000 {
		fmt.Fprintf(&log, `{"kind":"text","text":"message %d"}`+"\n", i)
	}
	s.add(1, &pawl.EffectFailed{Effect: id, Failure: pawl.Failure{Code: "timeout", Message: "it fell silent"}, Transcript: s.blob(log.String())})
	d := drive(t, w, 100, 60, pen{})
	d.press("tab", "z", "7")
	d.shows("message 5999")
	d.press("g")
	d.shows("model call plan/1/draft/turn-1 failed: timeout: it fell silent", "    → Edit login.go\n", "        -a\n", "        +b\n", "message 0\n")
	d.press("v", "g")
	d.shows("lines left out: pawl show 001-login --transcript --lines 0")
}
