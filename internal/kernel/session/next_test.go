package session

import (
	"strings"
	"testing"
	"time"

	"pawl"
)

// L-02: a reminder in a few words, without one from the prompt, keeps to that task, in
// this order, and holds within a note's bounds whatever the texts.
func TestReminderOfATask(t *testing.T) {
	for _, long := range []int{1, 200} {
		title := strings.Repeat("rename the files ", long)
		spec := &Spec{Goal: strings.Repeat("tidy the repository ", long), Task: &pawl.TaskEntry{ID: "rename-files", Title: title}, Output: "result"}
		text := (&Session{Turns: 20, turn: 2}).remind(spec).Text
		if len(text) > 400 {
			t.Errorf("%d bytes", len(text))
		}
		rest := text
		for _, part := range []string{"CURRENT TASK STATE:\n", "Goal: tidy the repository", "\nCurrent subtask: rename-files — rename the files", "\nStatus: running\n",
			"\nREMAINING WORK FOR THIS SUBTASK:\n", "Continue working on: rename the files", "\nDo NOT move to the next subtask; complete ONLY this one.\n",
			"When finished, summarize"} {
			_, after, found := strings.Cut(rest, part)
			if !found {
				t.Fatalf("%q is missing, or not here:\n%s", part, text)
			}
			rest = after
		}
	}
}

// D-61 D-B11: one second, twice that, up to thirty, with jitter, three tries and
// then pauses; what the provider asks for wins.
func TestBackOff(t *testing.T) {
	policy := &pawl.RetryPolicy{Tries: 8, First: time.Second, Cap: 30 * time.Second, Pauses: 1, Pause: 5 * time.Minute}
	x := &Session{failed: &pawl.Failure{Code: "overloaded"}}
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		want *= time.Second
		seen := map[time.Duration]bool{}
		for noise := range uint64(100) {
			x.dispatches = i + 1
			got, _, more := x.backoff(policy, noise*noise*1_000_003_019)
			seen[got] = true
			if !more || got < want*3/4 || got > want*5/4 || got > 30*time.Second {
				t.Fatalf("after dispatch %d: %s, want about %s", x.dispatches, got, want)
			}
		}
		if len(seen) < 20 {
			t.Errorf("after dispatch %d there is no jitter: %v", x.dispatches, seen)
		}
	}
	for dispatches, want := range map[int]time.Duration{8: 5 * time.Minute, 16: 0} {
		x.dispatches = dispatches
		if got, _, more := x.backoff(policy, 1); got != want || more != (want > 0) {
			t.Errorf("after dispatch %d: %s, want %s", dispatches, got, want)
		}
	}
	for _, row := range []struct {
		first, most time.Duration
		dispatches  int
		noise       uint64
		want        time.Duration
	}{
		{8, 99, 1, 0, 6},
		{8, 99, 1, 3, 9}, // a quarter less, and up to half of it more
		{8, 99, 1, 4, 6},
		{8, 99, 2, 7, 19},
		{8, 10, 2, 0, 8}, // ten less a quarter, which is two
		{8, 10, 2, 4, 10},
		{1, 99, 1, 7, 1},                         // too short for jitter
		{1, 1 << 40, 35, 0, 1<<30 - 1<<28},       // it doubles thirty times at most
		{1 << 40, 1 << 50, 24, 0, 1<<50 - 1<<48}, // 1<<63 is below nothing
		{1 << 40, 1 << 50, 31, 0, 1<<50 - 1<<48}, // 1<<70 is nothing
	} {
		x.dispatches = row.dispatches
		if got, _, more := x.backoff(&pawl.RetryPolicy{Tries: 40, First: row.first, Cap: row.most}, row.noise); got != row.want || !more {
			t.Errorf("of %+v: got %d", row, got)
		}
	}
	x.dispatches, x.failed.Wait = 1, time.Hour
	if got, _, _ := x.backoff(policy, 1); got != time.Hour {
		t.Errorf("the provider asks for an hour and gets %s", got)
	}
}
