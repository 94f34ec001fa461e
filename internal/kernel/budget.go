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
// refused before it began charges nothing, one that was cut off what it had used; one that
// was lost may have charged everything.
func (s *State) chargedFor(f *pawl.Effect, why *pawl.Failure) Purse {
	switch {
	case why.Unsent, why.Free:
		return Purse{}
	case why.Used != (pawl.Usage{}):
		return Purse{s.price(f).Cost(why.Used), why.Used.Total()}
	}
	switch pawl.ModelErrorKind(why.Code) {
	case pawl.ModelRateLimit, pawl.ModelOverloaded, pawl.ModelNoServer, pawl.ModelAuth, pawl.ModelBadRequest, pawl.ModelContextLong, pawl.ModelQuota:
		return Purse{}
	}
	return reserved(f)
}

// limitOn is the run's limit of a name; 0 = none.
func (s *State) limitOn(name pawl.LimitName) int64 {
	switch {
	case !s.haltsOn(pawl.HaltBudget):
		return 0
	case name == pawl.LimitMoney:
		return int64(s.Limits.Money)
	case name == pawl.LimitTokens:
		return s.Limits.Tokens
	case name == pawl.LimitTime:
		return int64(s.Limits.Time)
	}
	return 0
}

// exhausted names a limit of the run of which nothing is left.
func (s *State) exhausted(at time.Time) (name pawl.LimitName, limit, value int64, over bool) {
	used := [...]struct {
		name  pawl.LimitName
		value int64
	}{{pawl.LimitMoney, int64(s.Spent.Money)}, {pawl.LimitTokens, s.Spent.Tokens}, {pawl.LimitTime, int64(s.alive(at))}}
	for _, u := range used {
		if limit := s.limitOn(u.name); limit > 0 && u.value >= limit {
			return u.name, limit, u.value, true
		}
	}
	return "", 0, 0, false
}

// room says how many output tokens a call may ask for: as many as the model
// gives if the budget has them, fewer down to the floor. When not even that
// fits, short names the limit.
func (s *State) room(tier int, bytes int64) (output int, want Purse, short pawl.LimitName) {
	output = s.Settings.Models[tier-1].MaxOutput
	for {
		want = s.reservation(tier, bytes, output)
		short = s.over(want)
		if short == "" || output <= s.Settings.OutputFloor || output == 1 {
			return output, want, short
		}
		output = max(output/2, s.Settings.OutputFloor)
	}
}

// over names the limit that a further reservation would pass; empty = none.
func (s *State) over(want Purse) pawl.LimitName {
	sum := s.Spent.add(s.Reserved).add(want)
	if limit := s.limitOn(pawl.LimitMoney); limit > 0 && int64(sum.Money) > limit {
		return pawl.LimitMoney
	}
	if limit := s.limitOn(pawl.LimitTokens); limit > 0 && sum.Tokens > limit {
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
	check := func(name pawl.LimitName, value int64) {
		limit := d.s.limitOn(name)
		if limit > 0 && value*5 >= limit*4 && !d.s.warned[warnIndex(name)] {
			d.emit(0, &pawl.BudgetWarned{Limit: name, Max: limit, Value: value})
		}
	}
	check(pawl.LimitMoney, int64(d.s.Spent.Money))
	check(pawl.LimitTokens, d.s.Spent.Tokens)
}

// amount prints a limit's value for people.
func amount(name pawl.LimitName, v int64) string {
	switch name {
	case pawl.LimitMoney: // to a hundredth of a cent, so that little too much is seen
		return fmt.Sprintf("$%d.%04d", v/1_000_000, v/100%10_000)
	case pawl.LimitTime, pawl.LimitSignal:
		return time.Duration(v).Round(time.Second).String()
	}
	return fmt.Sprint(v)
}

// lookAtIdle makes settle consider the loops with sessions that have nothing under way:
// they may wait for the budget that a model call of another loop has given back.
func (d *draft) lookAtIdle() {
	for l := range d.s.each {
		if len(l.sessions) > 0 && len(l.open) == 0 {
			d.look(l.Ref)
		}
	}
}

// overBudget stops the run at a limit.
func (d *draft) overBudget(name pawl.LimitName, limit, value int64) {
	d.emit(0, &pawl.LimitReached{Scope: "run", Limit: name, Max: limit, Value: value})
	d.stop(pawl.OutcomeHalted, fmt.Sprintf("budget exceeded: the limit on %s is %s, and %s were wanted",
		name, amount(name, limit), amount(name, value)))
}
