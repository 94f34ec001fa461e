package signal

import (
	"slices"
	"strings"
	"testing"

	"pawl"
)

func hash(text string) pawl.Hash { return pawl.HashOf([]byte(text)) }

// A signal stays until it is acknowledged, by its number, and others of its kind stay then.
func TestInbox(t *testing.T) {
	var in Inbox
	for n, kind := range []pawl.SignalKind{pawl.SignalPause, pawl.SignalPause, pawl.SignalRebase} {
		if g := in.Take(&pawl.SignalSent{N: n + 1, Signal: kind, Source: 7}); g.N != n+1 || g.Kind != kind || g.Source != 7 {
			t.Fatalf("took %+v", g)
		}
	}
	if g := in.Unseen(pawl.SignalRebase, pawl.SignalPause); g == nil || g.N != 1 {
		t.Errorf("the first is %+v", g)
	}
	if g := in.See(1); g == nil || g.N != 1 {
		t.Errorf("acknowledged %+v", g)
	}
	if in.See(1) != nil {
		t.Error("a signal is acknowledged twice")
	}
	if g := in.Unseen(pawl.SignalPause); g == nil || g.N != 2 || in.Unseen(pawl.SignalStop) != nil {
		t.Errorf("left are %+v", in.Signals)
	}
	in.See(2)
	if in.See(3); in.Signals != nil {
		t.Errorf("left are %+v", in.Signals)
	}
}

// A loop ends by an invalidation, and by a stop of a loop above. A person's stop holds at the
// boundary of an iteration.
func TestWhatEnds(t *testing.T) {
	for _, row := range []struct {
		kind   pawl.SignalKind
		source pawl.LoopRef
		want   bool
	}{
		{pawl.SignalStop, 1, true}, {pawl.SignalStop, 0, false}, {pawl.SignalInvalidate, 1, true}, {pawl.SignalInvalidate, 0, true},
		{pawl.SignalPause, 1, false}, {pawl.SignalError, 1, false},
	} {
		in := Inbox{}
		in.Take(&pawl.SignalSent{N: 1, Signal: pawl.SignalInfo})
		if g := in.Take(&pawl.SignalSent{N: 2, Signal: row.kind, Source: row.source}); g.Ends() != row.want || (in.Ended() != nil) != row.want {
			t.Errorf("%s of loop %d ends a loop: %t", row.kind, row.source, g.Ends())
		}
	}
}

// A prompt contains the last infos, once.
func TestInfos(t *testing.T) {
	var in Inbox
	for n, text := range []string{"a", "b", "c", "d"} {
		in.Take(&pawl.SignalSent{N: n + 1, Signal: pawl.SignalInfo, Payload: hash(text)})
	}
	told := func() (out []pawl.Hash) {
		for _, f := range in.Hints() {
			out = append(out, f.Evidence)
		}
		return out
	}
	if got := told(); !slices.Equal(got, []pawl.Hash{hash("b"), hash("c"), hash("d")}) {
		t.Errorf("a prompt contains %v", got)
	}
	before := in.Infos
	in.Tell()
	if before[0].told {
		t.Error("a copy of the state changes too")
	}
	in.Take(&pawl.SignalSent{N: 5, Signal: pawl.SignalInfo, Payload: hash("e")})
	in.ForgetTold()
	if got := told(); !slices.Equal(got, []pawl.Hash{hash("e")}) {
		t.Errorf("the next prompt contains %v", got)
	}
}

// What the state keeps of a reason is bounded, and says which person stops a loop.
func TestReasons(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for _, row := range []struct {
		b    pawl.SignalSent
		want string
	}{
		{pawl.SignalSent{Signal: pawl.SignalStop, Reason: "not needed", By: "kim"}, "cancelled by kim: not needed"},
		{pawl.SignalSent{Signal: pawl.SignalStop}, "cancelled by a person"},
		{pawl.SignalSent{Signal: pawl.SignalStop, Source: 1, Reason: "the parent failed"}, "the parent failed"},
		{pawl.SignalSent{Signal: pawl.SignalInvalidate, Source: 1, Reason: long}, long[:maxSignalReason-len("…")] + "…"},
		{pawl.SignalSent{Signal: pawl.SignalError, Source: 1, Reason: "it failed"}, ""},
	} {
		var in Inbox
		if g := in.Take(&row.b); g.Reason != row.want {
			t.Errorf("%s keeps %q, want %q", row.b.Signal, g.Reason, row.want)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, row := range []struct {
		g  *pawl.Signaling
		ok bool
	}{
		{nil, false},
		{&pawl.Signaling{Signal: pawl.SignalPause}, true},
		{&pawl.Signaling{Signal: pawl.SignalError}, false},
		{&pawl.Signaling{Signal: pawl.SignalInvalidate}, false},
		{&pawl.Signaling{Signal: "shout"}, false},
		{&pawl.Signaling{Signal: pawl.SignalInfo, Text: "use go 1.26"}, true},
		{&pawl.Signaling{Signal: pawl.SignalInfo, Text: " \n"}, false},
		{&pawl.Signaling{Signal: pawl.SignalInfo, Text: strings.Repeat("x", maxInfo)}, true},
		{&pawl.Signaling{Signal: pawl.SignalInfo, Text: strings.Repeat("x", maxInfo+1)}, false},
	} {
		if err := Check(row.g); (err == nil) != row.ok {
			t.Errorf("%+v: %v", row.g, err)
		}
	}
}
