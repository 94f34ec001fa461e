package view

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"pawl"
	"pawl/internal/plain"
)

// The turns of coding agents: what one said and did in a turn, update by update.

// isTurn reports whether an effect is a turn of a coding agent.
func isTurn(f *pawl.Effect) bool {
	do, ok := doOf[*pawl.CallModel](f)
	return ok && do.Agent != nil
}

// keepWithdrawn remembers a turn that was withdrawn: its transcript may still come.
func (r *Run) keepWithdrawn(f *pawl.Effect) {
	if isTurn(f) {
		r.withdrawn = append(r.withdrawn, f)
	}
}

// endWithdrawn returns the withdrawn turn whose transcript has come; nil = it is none.
func (r *Run) endWithdrawn(b *pawl.AnswerIgnored) *pawl.Effect {
	i := slices.IndexFunc(r.withdrawn, func(f *pawl.Effect) bool { return f.ID == b.Effect })
	if i < 0 || b.Transcript.IsZero() {
		return nil
	}
	r.closed = r.withdrawn[i]
	r.withdrawn = slices.Delete(r.withdrawn, i, i+1)
	return r.closed
}

// hearWithdrawn adds the transcript of a withdrawn turn to its session's conversation.
func (r *Run) hearWithdrawn(e pawl.Event, f *pawl.Effect) {
	x, ok := SaidBy(e, f)
	if !ok {
		return
	}
	if l := r.loop(f.Loop); l != nil && l.sessions[x.Session] != nil {
		l.sessions[x.Session].hear(x)
	}
}

// updates returns what an agent said and did in a turn, and how many updates are left out. All texts
// are safe to print. Of more than most updates, the first and the last are returned; zero = there is
// no limit.
func (b Blobs) updates(transcript pawl.Hash, most int) (out []pawl.AgentUpdate, left int) {
	lines := slices.Collect(bytes.Lines(b.bytes(transcript)))
	lines, left = ends(lines, most)
	for _, line := range lines {
		var u pawl.AgentUpdate
		if json.Unmarshal(line, &u) != nil { // a secret was a part of its syntax
			u = pawl.AgentUpdate{Kind: pawl.UpdateNote, Text: string(line)}
		}
		u.Kind, u.Text = pawl.UpdateKind(plain.Line(string(u.Kind), 0)), plain.Text(u.Text)
		u.Call, u.Tool, u.Does, u.Title = plain.Line(u.Call, 0), plain.Line(u.Tool, 0), pawl.ToolDoes(plain.Line(string(u.Does), 0)), plain.Text(u.Title)
		if len(u.Args) > 0 {
			u.Args = safeJSON(u.Args)
		}
		for i := range u.Diffs {
			d := &u.Diffs[i]
			d.Path, d.Old, d.New = plain.Line(d.Path, 0), plain.Text(d.Old), plain.Text(d.New)
		}
		for i := range u.Plan {
			u.Plan[i] = pawl.AgentPlanEntry{Text: plain.Line(u.Plan[i].Text, 0), Status: plain.Line(u.Plan[i].Status, 0)}
		}
		out = append(out, u)
	}
	return out, left
}

// lastText returns the last message of an agent, which is the text of its reply too.
func lastText(all []pawl.AgentUpdate) string {
	for _, u := range slices.Backward(all) {
		if u.Kind == pawl.UpdateText {
			return u.Text
		}
	}
	return ""
}

// ends returns the first third and the last two thirds of the most things that are shown, and how many
// are left out between them; zero = there is no limit.
func ends[T any](all []T, most int) (shown []T, left int) {
	if most <= 0 || len(all) <= most {
		return all, 0
	}
	left = len(all) - most
	return slices.Concat(all[:most/3], all[most/3+left:]), left
}

// updateWriter makes rows of the updates of a turn.
type updateWriter struct {
	o    TranscriptOptions
	rows []TranscriptRow
	// names and diffs are what was said of each call, by its id. last is the call that the last row
	// belongs to; empty = none.
	names map[string]string
	diffs map[string][]pawl.AgentDiff
	last  string
}

// How updates are shown where texts are cut: a turn has so many times the lines of a text, and a
// thought has a part of these lines.
const (
	updatesPerLine = 10
	thoughtPart    = 4
)

const indent, quoted = "    ", "    │ "

// updateRows returns the updates of a turn as rows. Of too many, the first and the last are shown; left
// is how many of these are left out already.
func (o TranscriptOptions) updateRows(all []pawl.AgentUpdate, left int) []TranscriptRow {
	w := updateWriter{o: o, names: map[string]string{}, diffs: map[string][]pawl.AgentDiff{}}
	most := o.Lines * updatesPerLine
	if left == 0 {
		all, left = ends(all, most)
	}
	for i := range all {
		if left > 0 && i == most/3 {
			w.last = ""
			w.add(indent, ToneQuiet, fmt.Sprintf("… %s left out: %s", count(left, "update"), o.More))
		}
		w.update(&all[i])
	}
	return w.rows
}

func (w *updateWriter) add(lead string, tone Tone, lines ...string) {
	for _, line := range lines {
		w.rows = append(w.rows, TranscriptRow{Text: strings.TrimRight(lead+line, " "), Tone: tone})
	}
}

// update adds the rows of an update.
func (w *updateWriter) update(u *pawl.AgentUpdate) {
	belongs := u.Call != "" && u.Call == w.last
	w.last = u.Call
	switch u.Kind {
	case pawl.UpdateText:
		w.add(indent, TonePlain, w.o.excerpt(textLines(u.Text))...)
	case pawl.UpdateThought:
		short := w.o
		if short.Lines > 0 {
			short.Lines = max(1, short.Lines/thoughtPart)
		}
		lines := textLines("thinks: " + u.Text)
		for i := range lines[1:] {
			lines[i+1] = "  " + lines[i+1]
		}
		w.add(indent, ToneQuiet, short.excerpt(lines)...)
	case pawl.UpdateCall:
		w.call(u)
	case pawl.UpdateResult:
		w.result(u, belongs)
	case pawl.UpdatePermission:
		what, tone := "allowed: ", ToneQuiet
		if u.Failed {
			what, tone = "refused: ", ToneBad
		}
		w.add(indent, tone, what+strings.TrimSpace(u.Tool+" "+plain.Line(u.Title, maxNote)))
	case pawl.UpdatePlan:
		lines := []string{"plan:"}
		for _, p := range u.Plan {
			mark := map[string]string{"completed": "[x] ", "in_progress": "[>] "}[p.Status]
			if mark == "" {
				mark = "[ ] "
			}
			lines = append(lines, "  "+mark+p.Text)
		}
		w.add(indent, ToneQuiet, w.o.excerpt(lines)...)
	default:
		if u.Text != "" {
			w.add(indent, ToneQuiet, w.o.excerpt(textLines("("+strings.TrimSpace(u.Text)+")"))...)
		}
	}
}

// call adds the rows of a tool call: what it does, its arguments if that does not say it, and its
// diffs.
func (w *updateWriter) call(u *pawl.AgentUpdate) {
	w.names[u.Call] = strings.TrimSpace(u.Tool + " " + plain.Line(u.Title, maxNote))
	first, args := "→ "+u.Tool, []string(nil)
	if title := textLines(u.Title); len(title) > 0 && u.Title != u.Tool {
		first += " " + title[0]
		args = title[1:]
	}
	if len(u.Args) > 0 && len(u.Diffs) == 0 && (u.Title == "" || u.Does == pawl.DoesOther) {
		all := argumentLines(u.Args)
		if len(all) == 1 && len(args) == 0 {
			first, all = first+" "+all[0], nil
		}
		args = append(args, all...)
	}
	w.add(indent, TonePlain, w.o.cutLines(first)...)
	w.add(indent+indent, ToneQuiet, w.o.excerpt(args)...)
	w.diff(u)
}

// result adds the rows of a call's result. It belongs to the call above it, or it says which it is of.
func (w *updateWriter) result(u *pawl.AgentUpdate, belongs bool) {
	tone, head := ToneQuiet, "← "+cmp.Or(w.names[u.Call], "a call")
	if u.Failed {
		tone, head = ToneBad, strings.TrimSpace(head+" failed")
	}
	if u.Failed || !belongs && u.Text != "" {
		w.add(indent, tone, w.o.cutLines(head)...)
	}
	w.diff(u)
	w.add(quoted, tone, w.o.excerpt(textLines(u.Text))...)
}

// diff adds the rows of an update's diffs, unless the call had them already.
func (w *updateWriter) diff(u *pawl.AgentUpdate) {
	if len(u.Diffs) == 0 || slices.Equal(u.Diffs, w.diffs[u.Call]) {
		return
	}
	w.diffs[u.Call] = u.Diffs
	for _, d := range u.Diffs {
		w.add(indent+indent, TonePlain, w.o.cutLines(d.Path)...)
		for _, line := range w.o.excerpt(diffLines(d)) {
			tone := ToneQuiet
			switch line[:1] {
			case "+":
				tone = ToneGood
			case "-":
				tone = ToneBad
			}
			w.add(indent+indent, tone, line)
		}
	}
}

// diffLines returns a change to a file as the lines of a diff, without line numbers: an agent may
// report a part of the file only.
func diffLines(d pawl.AgentDiff) []string {
	before, after := endLine(d.Old), endLine(d.New)
	text, err := udiff.ToUnified("", "", before, udiff.Lines(before, after), 2)
	if err != nil { // its own edits always fit
		return nil
	}
	var out []string
	for i, line := range textLines(text) {
		switch {
		case i < 3 || line == "": // the names, and the numbers of the first hunk
		case strings.HasPrefix(line, "@@ "):
			out = append(out, "…")
		default:
			out = append(out, line)
		}
	}
	return out
}

// endLine returns a text whose last line has an end.
func endLine(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}

// costOf says what a reply cost, and how a turn of a coding agent ended if it did not end by itself.
func (e *TranscriptEntry) costOf() string {
	b, s := e.said.Agent, ""
	switch {
	case e.run.Settings.NoCost:
	case b != nil && e.Cost == 0 && b.Worth > 0:
		s = fmt.Sprintf(", worth %s, paid by the plan", b.Worth)
	default:
		s = ", " + e.Cost.String()
	}
	if b != nil && b.Stop != pawl.AgentEnded {
		s += " · " + turnEnds[b.Stop]
	}
	return s
}
