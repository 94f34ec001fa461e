package tui

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/view"
)

// The limits on the turns that are shown, the newest first: how many entries, and the bytes of their
// texts together. These must fit into the cache, or they would be read again and again.
const (
	maxTurns     = 400
	maxTurnBytes = maxBlobs / 2
)

// turnRows are what was said and done in the sessions of the chosen loop, or of the whole run, and
// last what is being said.
func (m *Model) turnRows(s *shown, width int) []row {
	selector := ""
	if at := m.tree.at.loop; at != 0 {
		selector = fmt.Sprintf("loop-%d", at)
	}
	size := 0
	t, err := view.Transcribe(s.run, selector, func(h pawl.Hash) ([]byte, error) {
		data, err := m.blobs.read(h)
		size += len(data)
		return data, err
	})
	if err != nil {
		return append([]row{say(dim, "nothing was said yet")}, m.heardRows(s, width)...)
	}
	o := view.TranscriptOptions{Lines: view.TranscriptLines, More: "v shows all", Place: true}
	if m.detail.most {
		o.Lines = 0
	}
	t.Shorten(o)
	var blocks [][]row // the newest first
	n, cut := 0, false
	for e := range t.Backward() {
		if cut = len(blocks) == maxTurns || n > maxPane || size > maxTurnBytes; cut {
			break
		}
		block := m.turn(&e, o, width)
		if left := len(block) - maxPane; left > 0 { // a turn of an agent; the end is what is kept
			block = append([]row{block[0], say(dim, fmt.Sprintf("… %d lines left out: pawl show %s --transcript --lines 0", left, s.key.run))}, block[len(block)-maxPane:]...)
		}
		blocks, n = append(blocks, block), n+len(block)
	}
	var out []row
	if cut {
		out = append(out, say(dim, "… what was before: pawl show "+string(s.key.run)+" --transcript"))
	}
	for _, block := range slices.Backward(blocks) {
		out = append(out, block...)
	}
	if len(blocks) == 0 {
		out = append(out, say(dim, "nothing was said yet"))
	}
	return append(append(out, m.heardRows(s, width)...), m.answerRows(s, width)...)
}

// turn is one entry as rows.
func (m *Model) turn(e *view.TranscriptEntry, o view.TranscriptOptions, width int) []row {
	const clock = "15:04:05 "
	var out []row
	for _, r := range e.Rows(o) {
		i := toneInk(r.Tone)
		if !r.Head {
			lead := r.Text[:len(r.Text)-len(strings.TrimLeft(r.Text, " "))]
			out = append(out, m.pen.texts(i, lead, r.Text[len(lead):], width)...)
			continue
		}
		if i == normal {
			i = bold
		}
		text := r.Text
		if _, rest, ok := strings.Cut(text, "] "); ok && m.tree.at.loop != 0 && strings.HasPrefix(text, "[") { // it is known which one
			text = rest
		}
		for j, line := range m.pen.fold(text, max(1, width-len(clock))) {
			head := strings.Repeat(" ", len(clock))
			if j == 0 {
				head = e.Time.Local().Format(clock)
			}
			out = append(out, row{{head, dim}, {line, i}})
		}
	}
	return out
}

// answerRows are what the run says at its end, where the run or its root is chosen.
func (m *Model) answerRows(s *shown, width int) []row {
	if at := m.tree.at.loop; at > 1 {
		return nil
	}
	a := view.AnswerOf(s.run, m.blobs.read)
	if a == nil {
		return nil
	}
	out := []row{{}, say(bold, s.run.AnswerHeading(a))}
	if !a.ByTask() {
		return append(out, m.pen.texts(normal, "  ", a.Text, width)...)
	}
	for _, p := range a.Parts {
		out = append(out, m.pen.texts(normal, "  ", p.Who()+": "+p.Text, width)...)
	}
	return out
}
