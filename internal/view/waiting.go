package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/plain"
)

// WaitingText returns in one line what an effect waits for, or that its wait is over: "gate
// tests waits for the one heavy place, 12s so far".
func WaitingText(w *pawl.Waiting) string {
	name, long := plain.Line(w.Name, 80), pawl.Span(w.For)
	if w.Pool == pawl.PoolStore {
		if w.Over {
			return "its log can be written again, after " + long
		}
		return fmt.Sprintf("waits until its log can be written, %s so far: %s", long, plain.Line(w.Why, 500))
	}
	switch {
	case w.Pool == pawl.PoolModel:
		return silentText(w)
	case w.Over && (w.Account != "" || w.Pool == pawl.PoolDisk):
		return fmt.Sprintf("%s continues, after %s", name, long)
	case w.Over:
		return fmt.Sprintf("%s has its place, after %s", name, long)
	}
	s := fmt.Sprintf("%s waits for %s, %s so far", name, placeText(w), long)
	if w.Others > 0 {
		s += ", and " + count(w.Others, "other") + " with it"
	}
	if w.Pool == pawl.PoolDisk {
		s += ": " + plain.Line(w.Why, 300) + ". Free some; it continues by itself"
	}
	return s
}

// silentText says which model has sent nothing for how long, or that it has sent something again.
func silentText(w *pawl.Waiting) string {
	model, name, long := plain.Line(w.Model, 80), plain.Line(w.Name, 80), pawl.Span(w.For.Truncate(time.Second))
	if w.Over {
		return fmt.Sprintf("%s sends again, after %s (%s)", model, long, name)
	}
	s := fmt.Sprintf("%s has sent nothing for %s (%s)", model, long, name)
	if w.Others > 0 {
		s += ", and " + count(w.Others, "other") + " of this run waits"
		if w.Others > 1 {
			s = strings.TrimSuffix(s, "s")
		}
	}
	return s
}

// accountText returns which account of a provider a wait is for, such as " for account
// api.example.com with key 3f2a91 of openai"; empty when it is for none.
func accountText(do *pawl.Wait) string {
	if do.Account == (pawl.Account{}) {
		return ""
	}
	return " " + line("for account %s of %s", do.Account, do.Account.Provider)
}

// placeText returns what an effect waits for, such as "one of 4 heavy places".
func placeText(w *pawl.Waiting) string {
	if w.Pool == pawl.PoolDisk {
		return "space on a disk"
	}
	one, many := "place of the machine", "places of the machine"
	kind, name, _ := strings.Cut(plain.Line(w.Pool, 60), ":")
	switch {
	case kind == "account":
		one, many = "model call of account "+name, "model calls of account "+name
	case name == "heavy":
		one, many = "heavy place", "heavy places"
	case name == "net":
		one, many = "place for commands with a network", "places for commands with a network"
	case name == "no-net":
		one, many = "place for tools", "places for tools"
	}
	s := fmt.Sprintf("one of %d %s", w.Slots, many)
	if w.Slots == 1 {
		s = "the one " + one
	}
	s += holders(w)
	if w.Account == "" {
		return s
	}
	s = "account " + plain.Line(w.Account, 80) + " of " + name
	if w.Until.IsZero() {
		s += ", which one call tries" + holders(w)
	} else {
		s += ", which opens at " + ClockFrom(w.Until, w.Since.Add(w.For))
	}
	if w.Why != "" {
		s += " (" + plain.Line(w.Why, 100) + ")"
	}
	return s
}

// maxHolders is how many runs a line names that have the places another one waits for.
const maxHolders = 3

// holders returns who has the places that an effect waits for, such as " (held by
// 002-add-till)"; empty when that is not known.
func holders(w *pawl.Waiting) string {
	var by []string
	for _, r := range w.Runs[:min(len(w.Runs), maxHolders)] {
		by = append(by, plain.Line(string(r), 80))
	}
	if n := len(w.Runs) - len(by); n > 0 {
		by = append(by, count(n, "other run"))
	}
	if w.Elsewhere > 0 {
		by = append(by, "other repositories, see pawl top")
	}
	if len(by) == 0 {
		return ""
	}
	return " (held by " + strings.Join(by, ", ") + ")"
}

// Hear keeps what an effect waits for, and returns a line to show when it begins to be
// said and when it is over; empty in between. That a model sends nothing is also returned each time
// the silence has doubled.
func (r *Run) Hear(w *pawl.Waiting) string {
	_, known := r.waiting[w.Effect]
	if w.Over {
		delete(r.silence, w.Effect)
	}
	switch {
	case w.Pool == pawl.PoolStore && w.Over: // the events that follow have ended the wait, or will
		delete(r.waiting, w.Effect)
	case w.Over:
		delete(r.waiting, w.Effect)
		if !known {
			return ""
		}
	case w.Pool != pawl.PoolStore && r.pending(w.Effect) == nil: // it was answered meanwhile
		return ""
	default:
		if r.waiting == nil {
			r.waiting = make(map[pawl.Seq]*pawl.Waiting)
		}
		r.waiting[w.Effect] = w
		if known && (w.Pool != pawl.PoolModel || w.For < 2*r.silence[w.Effect]) {
			return ""
		}
		if w.Pool == pawl.PoolModel {
			if r.silence == nil {
				r.silence = map[pawl.Seq]time.Duration{}
			}
			r.silence[w.Effect] = w.For
		}
	}
	return WaitingText(w)
}

// pending returns the effect with this id if it is under way, or nil.
func (r *Run) pending(id pawl.Seq) *pending {
	if i := slices.IndexFunc(r.open, func(p pending) bool { return p.ID == id }); i >= 0 {
		return &r.open[i]
	}
	return nil
}

// Waiting returns the effect that has waited longest for its places or its model, as far as the run
// has heard, or that the run waits for its log; nil when none waits.
func (r *Run) Waiting() *pawl.Waiting {
	var oldest *pawl.Waiting
	others := -1
	for id, w := range r.waiting {
		if w.Pool == pawl.PoolStore {
			out := *w
			return &out
		}
		if r.pending(id) == nil {
			delete(r.waiting, id)
			delete(r.silence, id)
			continue
		}
		others += 1 + w.Others
		if oldest == nil || id < oldest.Effect {
			oldest = w
		}
	}
	if oldest == nil {
		return nil
	}
	out := *oldest
	out.Others = others
	return &out
}
