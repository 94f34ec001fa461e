// Package budget tracks the money and the tokens of a run: what it has spent, what its model
// calls in flight may still cost, and how much room its limits leave for the next call.
package budget

import (
	"time"

	"pawl"
)

// Purse is an amount of money and of tokens. The zero value is nothing.
type Purse struct {
	Money  pawl.Micros // millionths of a dollar
	Tokens int64
}

// Add returns the sum of two amounts.
func (p Purse) Add(q Purse) Purse { return Purse{p.Money + q.Money, p.Tokens + q.Tokens} }

// Sub returns p less q. The result may be negative.
func (p Purse) Sub(q Purse) Purse { return Purse{p.Money - q.Money, p.Tokens - q.Tokens} }

// Budget holds what a run may spend and what it has spent. The zero value has spent nothing and
// has no limits, because Halts is false.
type Budget struct {
	// Limits are the run's limits. A limit of 0 means that there is none.
	Limits pawl.Limits
	// Spent is what the run was charged. It includes Lost.
	Spent Purse
	// Lost is what the run was charged for calls whose real cost is not known.
	Lost Purse
	// Reserved is the most that the calls in flight can cost.
	Reserved Purse
	// Halts reports whether the run ends at its limits. If it is false, Limits are ignored.
	Halts bool

	warned [2]bool            // whether the user was warned, by [index] of the limit
	short  *pawl.LimitReached // the limit that stopped the run; nil = none did
}

// bytesPerToken turns the size of a text into an upper estimate of its tokens: text and code
// have four bytes per token on average, and rarely fewer than three.
const bytesPerToken = 3

// reservation returns the most that a call which sends so many bytes can cost: every input token
// at the highest of the input prices, and every output token used.
func reservation(p pawl.Price, bytes int64, output int) Purse {
	input := bytes/bytesPerToken + 1
	dearest := max(p.Input, p.CacheWrite, p.CacheRead)
	cost := pawl.Price{Input: dearest, Output: p.Output}.Cost(pawl.Usage{Input: input, Output: int64(output)})
	return Purse{cost, input + int64(output)}
}

// Of returns the most that an effect can cost. That is the reservation of a model call, and
// nothing for every other effect.
func Of(f *pawl.Effect) Purse {
	if do, ok := f.Do.(*pawl.CallModel); ok {
		return Purse{do.Reserved, do.ReservedTokens}
	}
	return Purse{}
}

// OfFailure returns what is charged for a failed effect, given the price of its model. A call
// that did not reach the provider, or that the provider refused, costs nothing. A call that was
// cut off costs the tokens that the provider reported. Any other call may have cost everything,
// so its reservation is charged.
func OfFailure(f *pawl.Effect, price pawl.Price, why *pawl.Failure) Purse {
	switch {
	case why.Unsent, why.Free:
		return Purse{}
	case why.Used != (pawl.Usage{}):
		return Purse{price.Cost(why.Used), why.Used.Total()}
	}
	if pawl.ModelErrorKind(why.Code).IsFree() {
		return Purse{}
	}
	return Of(f)
}

// Reset makes b the budget of a run that begins: only the limits stay.
func (b *Budget) Reset() { *b = Budget{Limits: b.Limits, Halts: b.Halts} }

// SetLimits replaces the limits. The user is warned of the new ones again.
func (b *Budget) SetLimits(to pawl.Limits) { b.Limits, b.warned = to, [2]bool{} }

// Resume forgets which limit stopped the run.
func (b *Budget) Resume() { b.short = nil }

// Stopped records which limit stopped the run.
func (b *Budget) Stopped(by *pawl.LimitReached) { b.short = by }

// Warned records that the user was warned of the limit on money or on tokens.
func (b *Budget) Warned(name pawl.LimitName) { b.warned[index(name)] = true }

// index returns the position of a limit in [Budget.warned].
func index(name pawl.LimitName) int {
	if name == pawl.LimitMoney {
		return 0
	}
	return 1
}

// Limit returns the limit on money in millionths of a dollar, on tokens, or on time in
// nanoseconds. It returns 0 if there is no such limit, or if the run does not end at its limits.
func (b *Budget) Limit(name pawl.LimitName) int64 {
	switch {
	case !b.Halts:
		return 0
	case name == pawl.LimitMoney:
		return int64(b.Limits.Money)
	case name == pawl.LimitTokens:
		return b.Limits.Tokens
	case name == pawl.LimitTime:
		return int64(b.Limits.Time)
	}
	return 0
}

// Exhausted returns the first limit of money, tokens and time whose value has reached it, or nil.
// Alive is how long drivers have had the run. Reservations do not count.
func (b *Budget) Exhausted(alive time.Duration) *pawl.LimitReached {
	used := [...]struct {
		name  pawl.LimitName
		value int64
	}{{pawl.LimitMoney, int64(b.Spent.Money)}, {pawl.LimitTokens, b.Spent.Tokens}, {pawl.LimitTime, int64(alive)}}
	for _, u := range used {
		if limit := b.Limit(u.name); limit > 0 && u.value >= limit {
			return &pawl.LimitReached{Scope: "run", Limit: u.name, Max: limit, Value: u.value}
		}
	}
	return nil
}

// Blocks returns the limit that keeps an ended run from being resumed, or nil: a limit that is
// exhausted, or the one that stopped the run because a call did not fit, if it is still lower
// than what that call needed.
func (b *Budget) Blocks(alive time.Duration) *pawl.LimitReached {
	if over := b.Exhausted(alive); over != nil {
		return over
	}
	if b.short == nil {
		return nil
	}
	if limit := b.Limit(b.short.Limit); limit > 0 && limit < b.short.Value {
		return &pawl.LimitReached{Scope: "run", Limit: b.short.Limit, Max: limit, Value: b.short.Value}
	}
	return nil
}

// Room returns how many output tokens a call that sends so many bytes may ask for, and the
// reservation for it. Output is the model's maximum, halved until the reservation fits the
// limits beside what is spent and reserved, but not below floor.
//
// If not even the last of these fits, short is the limit that it would exceed. Its value is what
// would be spent with this call, without the calls in flight: when they end, there may be room.
func (b *Budget) Room(m *pawl.ModelChoice, bytes int64, floor int) (output int, want Purse, short *pawl.LimitReached) {
	output = m.MaxOutput
	for {
		want = reservation(m.Price, bytes, output)
		name := b.over(want)
		if name == "" {
			return output, want, nil
		}
		if output <= floor || output == 1 {
			value := int64(b.Spent.Money + want.Money)
			if name == pawl.LimitTokens {
				value = b.Spent.Tokens + want.Tokens
			}
			return output, want, &pawl.LimitReached{Scope: "run", Limit: name, Max: b.Limit(name), Value: value}
		}
		output = max(output/2, floor)
	}
}

// The least that is worth beginning a turn of a coding agent with.
const (
	minTurnMoney  = pawl.Dollars / 100
	minTurnTokens = 5_000
)

// RoomForTurn returns the reservation for a turn of a coding agent that may use want: as much of it
// as the limits leave beside what is spent and reserved. The agent is ended when it has used that. A
// turn that costs no money wants none.
//
// If too little is left, short is the limit that leaves it. Its value is what would be spent with
// the least that a turn needs, without the calls in flight.
func (b *Budget) RoomForTurn(want Purse) (got Purse, short *pawl.LimitReached) {
	got = want
	if limit := b.Limit(pawl.LimitMoney); limit > 0 && want.Money > 0 {
		got.Money = min(want.Money, pawl.Micros(limit)-b.Spent.Money-b.Reserved.Money)
		if least := min(want.Money, minTurnMoney); got.Money < least {
			return want, &pawl.LimitReached{Scope: "run", Limit: pawl.LimitMoney, Max: limit, Value: int64(b.Spent.Money + least)}
		}
	}
	if limit := b.Limit(pawl.LimitTokens); limit > 0 {
		got.Tokens = min(want.Tokens, limit-b.Spent.Tokens-b.Reserved.Tokens)
		if least := min(want.Tokens, minTurnTokens); got.Tokens < least {
			return want, &pawl.LimitReached{Scope: "run", Limit: pawl.LimitTokens, Max: limit, Value: b.Spent.Tokens + least}
		}
	}
	return got, nil
}

// over returns the name of the limit that one more reservation would exceed, or "".
func (b *Budget) over(want Purse) pawl.LimitName {
	sum := b.Spent.Add(b.Reserved).Add(want)
	if limit := b.Limit(pawl.LimitMoney); limit > 0 && int64(sum.Money) > limit {
		return pawl.LimitMoney
	}
	if limit := b.Limit(pawl.LimitTokens); limit > 0 && sum.Tokens > limit {
		return pawl.LimitTokens
	}
	return ""
}

// Warnings returns a warning for each limit on money and tokens of which four fifths are spent,
// unless [Budget.Warned] has recorded one since the limits were set.
func (b *Budget) Warnings() (out []*pawl.BudgetWarned) {
	for _, w := range [...]pawl.BudgetWarned{{Limit: pawl.LimitMoney, Value: int64(b.Spent.Money)}, {Limit: pawl.LimitTokens, Value: b.Spent.Tokens}} {
		w.Max = b.Limit(w.Limit)
		if w.Max > 0 && w.Value*5 >= w.Max*4 && !b.warned[index(w.Limit)] {
			warning := w
			out = append(out, &warning)
		}
	}
	return out
}
