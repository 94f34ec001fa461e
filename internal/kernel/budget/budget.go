// Package budget counts what a run spends, keeps what its calls under way may cost, and says
// what its limits leave room for.
package budget

import (
	"fmt"
	"time"

	"pawl"
)

// Purse is an amount of money and of tokens.
type Purse struct {
	Money  pawl.Micros
	Tokens int64
}

// Add is the sum of two.
func (p Purse) Add(q Purse) Purse { return Purse{p.Money + q.Money, p.Tokens + q.Tokens} }

// Sub is what is left without the other.
func (p Purse) Sub(q Purse) Purse { return Purse{p.Money - q.Money, p.Tokens - q.Tokens} }

// Budget is what a run may spend and what it has.
type Budget struct {
	// Limits are those in force. Spent is what the run was charged, Lost the part of it that
	// calls were charged whose cost nobody knows, Reserved what calls under way may cost.
	Limits   pawl.Limits
	Spent    Purse
	Lost     Purse
	Reserved Purse
	// Halts reports that the run ends at its limits; without it there are none.
	Halts bool

	warned [2]bool            // of money, of tokens
	short  *pawl.LimitReached // the limit that stopped the run; nil = none did
}

// bytesPerToken turns a text's size into an upper estimate of its tokens: text
// and code have four bytes to a token on average, and rarely fewer than three.
const bytesPerToken = 3

// reservation is the most a call of so many bytes can cost: every input token
// at the dearest input price, every output token used.
func reservation(p pawl.Price, bytes int64, output int) Purse {
	input := bytes/bytesPerToken + 1
	dearest := max(p.Input, p.CacheWrite, p.CacheRead)
	cost := pawl.Price{Input: dearest, Output: p.Output}.Cost(pawl.Usage{Input: input, Output: int64(output)})
	return Purse{cost, input + int64(output)}
}

// Of is what an effect may cost at most.
func Of(f *pawl.Effect) Purse {
	if do, ok := f.Do.(*pawl.CallModel); ok {
		return Purse{do.Reserved, do.ReservedTokens}
	}
	return Purse{}
}

// OfFailure is what a failed effect is taken to have cost, by the price of its model. A provider
// that refused before it began charges nothing, one that was cut off what it had used; one that
// was lost may have charged everything.
func OfFailure(f *pawl.Effect, price pawl.Price, why *pawl.Failure) Purse {
	switch {
	case why.Unsent, why.Free:
		return Purse{}
	case why.Used != (pawl.Usage{}):
		return Purse{price.Cost(why.Used), why.Used.Total()}
	}
	switch pawl.ModelErrorKind(why.Code) {
	case pawl.ModelRateLimit, pawl.ModelOverloaded, pawl.ModelNoServer, pawl.ModelAuth, pawl.ModelBadRequest, pawl.ModelContextLong, pawl.ModelQuota:
		return Purse{}
	}
	return Of(f)
}

// Reset forgets what was spent and said, as of a run that begins; the limits stay.
func (b *Budget) Reset() { *b = Budget{Limits: b.Limits, Halts: b.Halts} }

// SetLimits puts other limits in force.
func (b *Budget) SetLimits(to pawl.Limits) { b.Limits, b.warned = to, [2]bool{} }

// Resume forgets by which limit the run was stopped.
func (b *Budget) Resume() { b.short = nil }

// Stopped takes over that a limit stopped the run.
func (b *Budget) Stopped(by *pawl.LimitReached) { b.short = by }

// Warned takes over that the user was told of a limit that comes near.
func (b *Budget) Warned(name pawl.LimitName) { b.warned[index(name)] = true }

// index numbers the limits a user is warned of.
func index(name pawl.LimitName) int {
	if name == pawl.LimitMoney {
		return 0
	}
	return 1
}

// Limit is the run's limit of a name; 0 = none.
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

// Exhausted is a limit of which nothing is left when a driver has had the run for alive, with
// its value; nil = there is none.
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

// Blocks is the limit that keeps a run which ended from being resumed, as nothing is left of it
// or not enough was; nil = none does.
func (b *Budget) Blocks(alive time.Duration) *pawl.LimitReached {
	if over := b.Exhausted(alive); over != nil {
		return over
	}
	if b.short == nil { // something was left, and not enough
		return nil
	}
	if limit := b.Limit(b.short.Limit); limit > 0 && limit < b.short.Value {
		return &pawl.LimitReached{Scope: "run", Limit: b.short.Limit, Max: limit, Value: b.short.Value}
	}
	return nil
}

// Room says how many output tokens a call may ask for: as many as the model gives if the
// budget has them, fewer down to the floor; and what that may cost. When not even that fits,
// it is the limit that has no room, with what was wanted of it.
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

// over names the limit that a further reservation would pass; empty = none.
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

// Warnings are the limits of which four fifths are spent, as far as nobody was told yet.
func (b *Budget) Warnings() (out []*pawl.BudgetWarned) {
	for _, w := range [...]*pawl.BudgetWarned{{Limit: pawl.LimitMoney, Value: int64(b.Spent.Money)}, {Limit: pawl.LimitTokens, Value: b.Spent.Tokens}} {
		w.Max = b.Limit(w.Limit)
		if w.Max > 0 && w.Value*5 >= w.Max*4 && !b.warned[index(w.Limit)] {
			out = append(out, w)
		}
	}
	return out
}

// Amount prints a limit's value for people.
func Amount(name pawl.LimitName, v int64) string {
	switch name {
	case pawl.LimitMoney: // to a hundredth of a cent, so that little too much is seen
		return fmt.Sprintf("$%d.%04d", v/1_000_000, v/100%10_000)
	case pawl.LimitTime, pawl.LimitSignal:
		return time.Duration(v).Round(time.Second).String()
	}
	return fmt.Sprint(v)
}
