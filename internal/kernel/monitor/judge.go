package monitor

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/kernel/brief"
)

// Judge judges how the batches of a loop develop by rules, oldest first, as of the last one. Batches that
// attempted nothing do not count, nor does anything before a person dealt with a blocked task. Of
// the rest, the last [Window] count. Every pattern has to end in the last batch, so that a fault
// that is over is not reported. The health is empty if there is nothing to say: nothing was approved in
// the batch, it came no nearer than those before it, and it does not end a pattern yet.
func Judge(history []Batch, rules pawl.MonitorRules) Verdict {
	if len(history) == 0 {
		return verdictOf(pawl.HealthProgressing, "no batch has ended")
	}
	last := &history[len(history)-1]
	if why := blocked(last); why != "" {
		return verdictOf(pawl.HealthBlocked, why)
	}
	if last.Attempted <= 0 {
		return verdictOf(pawl.HealthProgressing, fmt.Sprintf("no task of batch %d was attempted: all of them wait", last.N))
	}
	h := counted(history)
	if why, merged := h.flipFlops(); why != "" {
		return verdictOf(pawl.HealthFlipFlop, why).of(merged)
	}
	if why, merged := h.regresses(rules); why != "" {
		return verdictOf(pawl.HealthRegressing, why).of(merged)
	}
	if why := h.stalls(); why != "" {
		return verdictOf(pawl.HealthStalled, why)
	}
	if h.inVain(1, Nearer) {
		return Verdict{}
	}
	return verdictOf(pawl.HealthProgressing, fmt.Sprintf("batch %d: %d of %d approved", last.N, last.Approved, last.Attempted))
}

// blocked returns which tasks of a batch need what only a person can give, or "".
func blocked(b *Batch) string {
	var all []string
	for i := range b.Tasks {
		if t := &b.Tasks[i]; t.Result == Blocked {
			all = append(all, strings.TrimSuffix(fmt.Sprintf("task %d needs %s", t.Task+1, strings.TrimPrefix(t.Blocker, "needs ")), " needs "))
		}
	}
	if all == nil {
		return ""
	}
	return fmt.Sprintf("blocked in batch %d: %s", b.N, strings.Join(all, "; "))
}

// batches holds batches that attempted something, oldest first.
type batches []*Batch

// counted returns the batches that are compared: the last [Window] that attempted something since a
// task was blocked.
func counted(history []Batch) batches {
	h := make(batches, 0, len(history))
	for i := range history {
		b := &history[i]
		switch {
		case slices.ContainsFunc(b.Tasks, func(t Task) bool { return t.Result == Blocked }):
			h = h[:0]
		case b.Attempted > 0:
			h = append(h, b)
		}
	}
	return h[max(0, len(h)-Window):]
}

// numbers returns the numbers of the last n batches: "8 to 10", or "2, 5, 6" if some are missing.
func (h batches) numbers(n int) string {
	last := h[len(h)-n:]
	if from, to := last[0].N, last[n-1].N; n > 2 && to-from == n-1 {
		return fmt.Sprintf("%d to %d", from, to)
	}
	var all []string
	for _, b := range last {
		all = append(all, fmt.Sprint(b.N))
	}
	return strings.Join(all, ", ")
}

// verdictOf returns a verdict with the reason cut at [ReasonMax] bytes, on a character boundary.
func verdictOf(health pawl.Health, why string) Verdict {
	return Verdict{Health: health, Reason: brief.Cut(strings.ToValidUTF8(why, "?"), ReasonMax)}
}

// of returns the verdict with the first batch whose approved work is part of what went wrong.
func (v Verdict) of(merged int) Verdict {
	v.Merged = merged
	return v
}
