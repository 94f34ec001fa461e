package message_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/message"
	"pawl/internal/recorded"
	"pawl/internal/view"
)

// kept is a real run of the recipe loopr in which a phase begins anew.
type kept struct{ *recorded.Log }

func load(tb testing.TB) *kept { return &kept{recorded.Read(tb, "loopr-begins-anew")} }

// all are the messages of the whole run.
func (k *kept) all(tb testing.TB) []message.Message {
	tb.Helper()
	fold := message.Run{Project: "p", Blobs: k.Blob}
	var out []message.Message
	for _, e := range k.Events {
		for i, m := range fold.Add(e) {
			if m.Seq != e.Seq || m.Run != e.Run || m.Project != "p" {
				tb.Fatalf("message %d of event %d says it is of %s %s %d", i, e.Seq, m.Project, m.Run, m.Seq)
			}
			out = append(out, m)
		}
	}
	return out
}

// The messages of a run, in their order. R-78
func TestRun(t *testing.T) {
	k := load(t)
	all := k.all(t)
	count := map[string]int{}
	created := map[string]bool{}
	last := pawl.Seq(0)
	for i, m := range all {
		count[m.Event]++
		if ends := i == len(all)-1 || all[i+1].Seq != m.Seq; ends != m.Last {
			t.Errorf("message %d, %s of event %d: last is %v", i, m.Event, m.Seq, m.Last)
		}
		if m.Seq < last {
			t.Errorf("event %d is told of after event %d", m.Seq, last)
		}
		last = m.Seq
		switch d := m.Data.(type) {
		case view.Record:
			if m.Event == message.LoopCreated {
				created[d.ID] = true
			} else if !created[d.ID] {
				t.Errorf("%s of loop %s, which was never created", m.Event, d.ID)
			}
		case message.Plan:
			if !strings.Contains(d.Content, "## Overview") || // R-41 R-49
				len(d.Specs) != 2 || d.Approval != pawl.ApprovalAwaiting || d.About.IsZero() {
				t.Errorf("the message has the plan %+v", d)
			}
		case message.Approved:
			specs := 0
			for _, o := range all[:i] {
				if r, ok := o.Data.(view.Record); ok && o.Event == message.LoopCreated && r.LoopType == "spec" {
					specs++
				}
			}
			if d.SpecsSpawned != 2 || specs != 2 { // R-46 R-B04 R-B25: the message follows the creation of all specs
				t.Errorf("approved with %d, and %d are there", d.SpecsSpawned, specs)
			}
		}
		if _, err := json.Marshal(m.Data); err != nil {
			t.Errorf("%s: %v", m.Event, err)
		}
	}
	want := map[string]int{message.PlanAwaiting: 1, message.PlanApproved: 1, message.PlanRejected: 0, message.LoopInvalidated: 1,
		message.SignalSent: count[message.SignalAcked], message.LoopCreated: len(created), message.MergeStarted: count[message.MergeCompleted]}
	for event, n := range want {
		if count[event] != n {
			t.Errorf("%s is told %d times, want %d", event, count[event], n)
		}
	}
	for _, event := range []string{message.LoopArtifact, message.LoopIteration, message.LoopIterationEnd, message.ValidationStarted,
		message.ValidationDone, message.ToolStarted, message.ToolCompleted, message.MetricsUpdate, message.RunUpdated, message.SignalSent} {
		if count[event] == 0 {
			t.Errorf("%s is never told", event)
		}
	}
}

// still is a project with the kept run, which is at rest.
type still struct {
	pawl.Service
	k *kept
}

func (s still) Open(context.Context, string) (pawl.ProjectInfo, error) {
	return pawl.ProjectInfo{ID: "p"}, nil
}

func (s still) Projects(context.Context) ([]pawl.ProjectInfo, error) {
	return []pawl.ProjectInfo{{ID: "p"}}, nil
}

func (s still) Project(context.Context, string) (pawl.Service, error) { return s, nil }

func (s still) Load(context.Context) (pawl.Load, error) { return pawl.Load{}, nil }

func (s still) Runs(context.Context) ([]pawl.RunInfo, error) { return nil, nil }

func (s still) Events(_ context.Context, _ pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Event, error] {
	return func(yield func(pawl.Event, error) bool) {
		for _, e := range s.k.Events {
			if e.Seq > after && !yield(e, nil) {
				return
			}
		}
	}
}

func (s still) Watch(ctx context.Context, run pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Update, error] {
	return func(yield func(pawl.Update, error) bool) {
		for e, err := range s.Events(ctx, run, after) {
			if !yield(pawl.Update{Event: &e}, err) {
				return
			}
		}
	}
}

func (s still) Blob(_ context.Context, _ pawl.RunID, h pawl.Hash) ([]byte, error) { return s.k.Blob(h) }

// unlisted is a service that cannot list its projects.
type unlisted struct {
	still
	err error
}

func (u unlisted) Projects(context.Context) ([]pawl.ProjectInfo, error) { return nil, u.err }

// A subscriber is told that the projects cannot be listed. It would otherwise wait
// for messages of runs that nobody follows.
func TestSubscribeNeedsTheProjects(t *testing.T) {
	broken := errors.New("the daemon is ending")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for m, err := range message.NewFeed(unlisted{err: broken}).Subscribe(ctx, nil, cancel) { // cancelled once it has begun, so that nobody waits
		if n++; !errors.Is(err, broken) {
			t.Errorf("%s, %v; want %v", m.Event, err, broken)
		}
	}
	if n != 1 {
		t.Errorf("%d messages and errors, want 1", n)
	}
}

// Whoever was cut off anywhere and goes on with its cursor is told each event's
// messages, all of them, in order.
func TestCursor(t *testing.T) {
	k := load(t)
	want := k.all(t)
	f := message.NewFeed(still{k: k})
	for cut := 1; cut < len(want); cut += 97 {
		seen := message.Cursor{}
		for _, m := range want[:cut] {
			seen.See(m)
		}
		seen, err := message.ParseCursor(seen.String())
		if err != nil {
			t.Fatal(err)
		}
		from := 0
		for from < len(want) && want[from].Seq <= seen["p/"+string(want[0].Run)] {
			from++
		}
		if from == 0 { // nothing was seen whole: the reader begins now
			continue
		}
		ctx, cancel := context.WithCancel(t.Context())
		i := from
		for m, err := range f.Subscribe(ctx, seen, nil) {
			if err != nil {
				t.Fatal(err)
			}
			if m.Event != want[i].Event || m.Seq != want[i].Seq {
				t.Fatalf("cut at %d: message %d is %s of %d, want %s of %d", cut, i, m.Event, m.Seq, want[i].Event, want[i].Seq)
			}
			if i++; i == len(want) {
				break
			}
		}
		cancel()
		if i != len(want) {
			t.Errorf("cut at %d: told up to %d of %d", cut, i, len(want))
		}
	}
	for _, bad := range []string{"x", "!", strings.Repeat("A", message.MaxCursor+1)} {
		if _, err := message.ParseCursor(bad); pawl.CodeOf(err) != pawl.CodeInvalid {
			t.Errorf("%.10q: %v", bad, err)
		}
	}
}
