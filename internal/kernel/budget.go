package kernel

import (
	"fmt"
	"time"

	"pawl"
)

// bytesPerToken turns a text's size into an upper estimate of its tokens: text
// and code have four bytes to a token on average, and rarely fewer than three.
const bytesPerToken = 3

// price is what the model of a call costs.
func (s *State) price(f *pawl.Effect) pawl.Price {
	if do, ok := f.Do.(*pawl.CallModel); ok {
		return s.Settings.Models[do.Tier-1].Price
	}
	return pawl.Price{}
}

// reservation is the most a call of so many bytes can cost: every input token
// at the dearest input price, every output token used.
func (s *State) reservation(tier int, bytes int64, output int) Purse {
	p := s.Settings.Models[tier-1].Price
	input := bytes/bytesPerToken + 1
	dearest := max(p.Input, p.CacheWrite, p.CacheRead)
	cost := pawl.Price{Input: dearest, Output: p.Output}.Cost(pawl.Usage{Input: input, Output: int64(output)})
	return Purse{cost, input + int64(output)}
}

// chargedFor is what a failed call is taken to have cost. A provider that
// refused before it began charges nothing; one that was lost may have charged everything.
func (s *State) chargedFor(f *pawl.Effect, why *pawl.Failure) Purse {
	do, ok := f.Do.(*pawl.CallModel)
	if !ok {
		return Purse{}
	}
	switch pawl.ModelErrorKind(why.Code) {
	case pawl.ModelRateLimit, pawl.ModelOverloaded, pawl.ModelAuth, pawl.ModelBadRequest, pawl.ModelContextLong, pawl.ModelQuota:
		return Purse{}
	}
	return Purse{do.Reserved, do.ReservedTokens}
}

// exhausted names a limit of the run of which nothing is left.
func (s *State) exhausted(at time.Time) (name pawl.LimitName, limit, value int64, over bool) {
	if !s.haltsOn(pawl.HaltBudget) {
		return "", 0, 0, false
	}
	switch {
	case s.Limits.Money > 0 && s.Spent.Money >= s.Limits.Money:
		return pawl.LimitMoney, int64(s.Limits.Money), int64(s.Spent.Money), true
	case s.Limits.Tokens > 0 && s.Spent.Tokens >= s.Limits.Tokens:
		return pawl.LimitTokens, s.Limits.Tokens, s.Spent.Tokens, true
	case s.Limits.Time > 0 && s.alive(at) >= s.Limits.Time:
		return pawl.LimitTime, int64(s.Limits.Time), int64(s.alive(at)), true
	}
	return "", 0, 0, false
}

// room says how many output tokens a call may ask for: as many as the model
// gives if the budget has them, fewer down to the floor, or none. When none,
// wait says that calls in flight may give some back; else the limit is named.
func (s *State) room(tier int, bytes int64) (output int, want Purse, wait bool, name pawl.LimitName) {
	output = s.Settings.Models[tier-1].MaxOutput
	want = s.reservation(tier, bytes, output)
	if !s.haltsOn(pawl.HaltBudget) {
		return output, want, false, ""
	}
	for {
		name = s.over(want)
		if name == "" {
			return output, want, false, ""
		}
		if output <= s.Settings.OutputFloor {
			return 0, want, s.Reserved != Purse{}, name
		}
		output = max(output/2, s.Settings.OutputFloor)
		want = s.reservation(tier, bytes, output)
	}
}

// over names the limit that a further reservation would pass; empty = none.
func (s *State) over(want Purse) pawl.LimitName {
	sum := s.Spent.add(s.Reserved).add(want)
	switch {
	case s.Limits.Money > 0 && sum.Money > s.Limits.Money:
		return pawl.LimitMoney
	case s.Limits.Tokens > 0 && sum.Tokens > s.Limits.Tokens:
		return pawl.LimitTokens
	}
	return ""
}

// warnIndex numbers the limits a user is warned of.
func warnIndex(name pawl.LimitName) int {
	if name == pawl.LimitMoney {
		return 0
	}
	return 1
}

// warn says once per limit that four fifths of it are spent.
func (d *draft) warn() {
	check := func(name pawl.LimitName, limit, value int64) {
		if limit > 0 && value*5 >= limit*4 && !d.s.warned[warnIndex(name)] {
			d.emit(0, &pawl.BudgetWarned{Limit: name, Max: limit, Value: value})
		}
	}
	check(pawl.LimitMoney, int64(d.s.Limits.Money), int64(d.s.Spent.Money))
	check(pawl.LimitTokens, d.s.Limits.Tokens, d.s.Spent.Tokens)
}

// amount prints a limit's value for people.
func amount(name pawl.LimitName, v int64) string {
	switch name {
	case pawl.LimitMoney:
		return pawl.Micros(v).String()
	case pawl.LimitTime:
		return time.Duration(v).Round(time.Second).String()
	}
	return fmt.Sprint(v)
}

// overBudget stops the run at a limit.
func (d *draft) overBudget(name pawl.LimitName, limit, value int64) {
	d.emit(0, &pawl.LimitReached{Scope: "run", Limit: name, Max: limit, Value: value})
	d.stop(pawl.OutcomeHalted, fmt.Sprintf("budget exceeded: the limit on %s is %s, and %s were wanted",
		name, amount(name, limit), amount(name, value)))
}

// stop begins the run's end.
func (d *draft) stop(o pawl.Outcome, reason string) {
	if d.s.Stopping == nil {
		d.emit(0, &pawl.RunStopping{Outcome: o, Reason: cut(reason, 300)})
	}
}
