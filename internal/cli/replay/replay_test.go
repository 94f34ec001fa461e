package replay

import (
	"bytes"
	"context"
	"iter"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/cli"
)

// A damaged blob fails a replay, even if no fold needs it. F-18
func TestDamagedBlob(t *testing.T) {
	blob := pawl.HashOf([]byte("what a tool said"))
	s := stored{nil, blob, pawl.Event{Run: "001-a", Seq: 1, Body: &pawl.SessionEnded{Session: 1, Output: blob}}}
	var out bytes.Buffer
	app := &cli.App{Out: &out, Err: &out, Open: func(context.Context, cli.Access) (*cli.Session, error) {
		return &cli.Session{Service: s, Close: func() error { return nil }}, nil
	}}
	c := New(app, func([]pawl.Event) (pawl.RunInfo, error) { return pawl.RunInfo{}, nil })
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs([]string{"1"})
	code := app.Report(c.ExecuteContext(t.Context()))
	if code != cli.ExitDamaged || !strings.Contains(out.String(), blob.String()) {
		t.Errorf("exit code %d\n%s", code, out.String())
	}
}

// stored is a service with a run of one event, and a blob that is damaged.
type stored struct {
	pawl.Service
	blob  pawl.Hash
	event pawl.Event
}

func (s stored) Runs(context.Context) ([]pawl.RunInfo, error) {
	return []pawl.RunInfo{{ID: "001-a", Task: 1, Status: pawl.StatusEnded}}, nil
}

func (s stored) Events(context.Context, pawl.RunID, pawl.Seq) iter.Seq2[pawl.Event, error] {
	return func(yield func(pawl.Event, error) bool) { yield(s.event, nil) }
}

func (s stored) Blob(_ context.Context, _ pawl.RunID, h pawl.Hash) ([]byte, error) {
	if h == s.blob {
		return nil, pawl.Errorf(pawl.CodeDamaged, "blob %s is missing", h)
	}
	return nil, pawl.Errorf(pawl.CodeNotFound, "there is none")
}
