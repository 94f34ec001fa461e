package view

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/rogpeppe/go-internal/txtar"

	"pawl"
	"pawl/internal/recorded"
)

// Agent work is one line for each event, however much a level leaves out.
func TestLinesAreLines(t *testing.T) {
	for name, tell := range stories {
		s := tell(t)
		r := New()
		for _, e := range s.events {
			r.Apply(e)
			if l := Line(e, r, nil); l == "" || strings.Contains(l, "\n") || l == e.Body.EventKind().String() {
				t.Errorf("%s, event %d (%s): %q", name, e.Seq, e.Body.EventKind(), l)
			}
		}
	}
}

// Every kind of event there is has words of its own, also when nothing of what
// it refers to is there.
func TestEveryKindHasALine(t *testing.T) {
	for k := pawl.Kind(1); k > 0; k++ {
		if strings.HasPrefix(k.String(), "kind ") {
			continue
		}
		body := `{}`
		if k == pawl.KindEffectRequested {
			body = `{"effect":{"verb":"commit","class":"probe","do":{}}}`
		}
		var e pawl.Event
		if err := json.Unmarshal(fmt.Appendf(nil, `{"seq":1,"loop":1,"time":"2025-01-30T10:00:00Z","kind":%q,"body":%s}`, k, body), &e); err != nil {
			t.Fatal(err)
		}
		for _, loop := range []pawl.LoopRef{0, 1} {
			e.Loop = loop
			r := New()
			r.Apply(e)
			if l := Line(e, r, nil); l == "" || (l == k.String() && (loop == 0) == ofRun(k)) {
				t.Errorf("%s in loop %d: %q", k, loop, l)
			}
			WhyText(r)
			Show(r, nil)
		}
	}
}

// ofRun reports whether events of the kind are the run's, not a loop's.
func ofRun(k pawl.Kind) bool { return k < pawl.KindEffectRequested }

// What models, tools and files say cannot reach the terminal, nor forge a line.
func TestPoison(t *testing.T) {
	const attack = "\r\x1b[2J\x1b]0;owned\a\u009b31m\u202e\U000e0041\nFORGED: yes\nFORGED: no"
	for name, tell := range stories {
		t.Run(name, func(t *testing.T) {
			s := tell(t)
			recorded.Poison(s.events, s.blobs, attack)
			r := fold(s.events)
			var out strings.Builder
			out.WriteString(log(s.events, s.read))
			out.Write(txtar.Format(projections(t, r, s.read)))
			doc, err := ShowJSON(r, s.read)
			if err != nil {
				t.Fatal(err)
			}
			out.Write(doc)
			out.WriteString(transcript(t, r, s.read))
			for _, o := range []*TranscriptOptions{nil, {Place: true}} {
				p := NewProgress(New(), ProgressOptions{Out: &out, Clock: true, Blobs: s.read, Transcript: o})
				for _, e := range s.events {
					mustProgress(t, p.Write(pawl.Update{Event: &e}))
				}
			}
			p := NewProgress(r, ProgressOptions{Live: true})
			for _, l := range plainOf(p.status()) {
				fmt.Fprintln(&out, l)
			}
			_, err = Prompt(r, attack)
			fmt.Fprintln(&out, err)
			_, err = Transcribe(r, attack, s.read)
			fmt.Fprintln(&out, err)
			mustBeSafe(t, out.String())
			mustBeYAML(t, r, s.read)
			for l := range strings.Lines(out.String()) {
				if strings.HasPrefix(l, "FORGED") {
					t.Fatalf("a line is forged: %q", l)
				}
			}
		})
	}
}

func mustBeSafe(t *testing.T, s string) {
	t.Helper()
	for i, c := range s {
		if c != '\n' && (unicode.IsControl(c) || unicode.Is(unicode.Cf, c)) {
			t.Fatalf("%U at byte %d of %q", c, i, s[max(0, i-80):min(len(s), i+80)])
		}
	}
}
