package budget

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl"
)

// F-63: a reservation prices every input token at the highest of the input prices, even if
// that is the price of writing or reading a cache.
func TestReservationTakesTheDearestInput(t *testing.T) {
	const million, d = 1_000_000, pawl.Dollars
	for name, price := range map[string]pawl.Price{
		"Input":      {Input: 5 * d, CacheRead: 1 * d, CacheWrite: 4 * d, Output: 7 * d},
		"CacheWrite": {Input: 4 * d, CacheRead: 1 * d, CacheWrite: 5 * d, Output: 7 * d},
		"CacheRead":  {Input: 4 * d, CacheRead: 5 * d, CacheWrite: 1 * d, Output: 7 * d},
	} {
		if got, want := reservation(price, 3*million-3, 2*million), (Purse{Money: (5 + 2*7) * d, Tokens: 3 * million}); got != want {
			t.Errorf("%s: a million tokens in and two million out reserve %v, want %v", name, got, want)
		}
	}
}

// F-63: a reply within the estimated tokens never costs more than its reservation.
func TestReservationCoversEveryReply(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		micros := func(name string) pawl.Micros {
			return pawl.Micros(rapid.Int64Range(0, 1000*int64(pawl.Dollars)).Draw(t, name))
		}
		price := pawl.Price{Input: micros("input"), Output: micros("output"), CacheRead: micros("cache read"), CacheWrite: micros("cache write")}
		tokens, output := rapid.Int64Range(0, 1_000_000).Draw(t, "tokens"), rapid.IntRange(1, 100_000).Draw(t, "most output")
		want := reservation(price, tokens*bytesPerToken, output)

		read := rapid.Int64Range(0, tokens).Draw(t, "read")
		written := rapid.Int64Range(0, tokens-read).Draw(t, "written")
		used := pawl.Usage{Input: tokens - read - written, CacheRead: read, CacheWrite: written, Output: rapid.Int64Range(0, int64(output)).Draw(t, "said")}
		if cost := price.Cost(used); cost > want.Money || used.Total() > want.Tokens {
			t.Errorf("%+v costs %d and %d tokens, but %d and %d were reserved", used, int64(cost), used.Total(), int64(want.Money), want.Tokens)
		}
	})
}

// A call that cannot have reached the provider costs nothing; one that may have
// is paid for at its reservation.
func TestUnsentCallsAreFree(t *testing.T) {
	f := &pawl.Effect{Do: &pawl.CallModel{Tier: 1, Reserved: 7, ReservedTokens: 9}}
	if got := OfFailure(f, pawl.Price{}, &pawl.Failure{Code: pawl.FailureCode(pawl.ModelNetwork)}); got != (Purse{Money: 7, Tokens: 9}) {
		t.Errorf("a lost call is charged %v", got)
	}
	if got := OfFailure(f, pawl.Price{}, &pawl.Failure{Code: pawl.FailureCode(pawl.ModelNetwork), Unsent: true}); got != (Purse{}) {
		t.Errorf("an unsent call is charged %v", got)
	}
}

// limited returns a budget that ends at these limits.
func limited(money pawl.Micros, tokens int64, of time.Duration) *Budget {
	return &Budget{Halts: true, Limits: pawl.Limits{Money: money, Tokens: tokens, Time: of}}
}

// A failed call is charged what the provider reported, and its reservation if nobody knows.
func TestOfFailure(t *testing.T) {
	f := &pawl.Effect{Do: &pawl.CallModel{Reserved: 7, ReservedTokens: 9}}
	price := pawl.Price{Input: pawl.Dollars, Output: 2 * pawl.Dollars}
	all, used := Purse{7, 9}, pawl.Usage{Input: 3, Output: 4}
	for code, want := range map[pawl.ModelErrorKind]Purse{
		pawl.ModelRateLimit: {}, pawl.ModelOverloaded: {}, pawl.ModelNoServer: {}, pawl.ModelAuth: {}, pawl.ModelBadRequest: {}, pawl.ModelContextLong: {}, pawl.ModelQuota: {},
		pawl.ModelNetwork: all, pawl.ModelTimeout: all, pawl.ModelRefused: all, pawl.ModelErrorKind(pawl.FailTimeout): all, pawl.ModelErrorKind(pawl.FailMachine): all,
	} {
		why := &pawl.Failure{Code: pawl.FailureCode(code)}
		if got := OfFailure(f, price, why); got != want {
			t.Errorf("%s is charged %v, want %v", code, got, want)
		}
		why.Used = used
		if got := OfFailure(f, price, why); got != (Purse{11, 7}) {
			t.Errorf("%s is charged %v for 7 tokens", code, got)
		}
		why.Free = true
		if got := OfFailure(f, price, why); got != (Purse{}) {
			t.Errorf("%s is charged %v for a free answer", code, got)
		}
	}
	if got := OfFailure(&pawl.Effect{Do: &pawl.Wait{}}, price, &pawl.Failure{Code: pawl.FailMachine}); got != (Purse{}) {
		t.Errorf("a wait is charged %v", got)
	}
}

func TestExhausted(t *testing.T) {
	const hour = time.Hour
	reached := func(name pawl.LimitName, limit, value int64) *pawl.LimitReached {
		return &pawl.LimitReached{Scope: "run", Limit: name, Max: limit, Value: value}
	}
	for _, row := range []struct {
		name  string
		b     *Budget
		spent Purse
		alive time.Duration
		want  *pawl.LimitReached
	}{
		{"below all", limited(10, 100, hour), Purse{9, 99}, hour - 1, nil},
		{"money", limited(10, 100, hour), Purse{10, 0}, 0, reached(pawl.LimitMoney, 10, 10)},
		{"tokens", limited(10, 100, hour), Purse{0, 101}, 0, reached(pawl.LimitTokens, 100, 101)},
		{"time", limited(10, 100, hour), Purse{}, hour, reached(pawl.LimitTime, int64(hour), int64(hour))},
		{"all", limited(10, 100, hour), Purse{11, 101}, hour, reached(pawl.LimitMoney, 10, 11)},
		{"tokens and time", limited(10, 100, hour), Purse{0, 100}, hour, reached(pawl.LimitTokens, 100, 100)},
		{"no limits", limited(0, 0, 0), Purse{11, 101}, hour, nil},
		{"limits that end nothing", &Budget{Limits: pawl.Limits{Money: 10, Tokens: 100, Time: hour}}, Purse{11, 101}, hour, nil},
	} {
		row.b.Spent, row.b.Reserved = row.spent, Purse{1000, 1000}
		if got := row.b.Exhausted(row.alive); !cmp.Equal(got, row.want) {
			t.Errorf("%s: got %+v, want %+v", row.name, got, row.want)
		}
		if got := row.b.Blocks(row.alive); !cmp.Equal(got, row.want) {
			t.Errorf("%s: a resumption is kept back by %+v, want %+v", row.name, got, row.want)
		}
	}
	if got := limited(1, 2, 3).Limit(pawl.LimitTurns); got != 0 {
		t.Errorf("the run has a limit of %d turns", got)
	}
}

// A run that stopped because a call did not fit is resumed when the limit has room for that call.
func TestBlocks(t *testing.T) {
	short := &pawl.LimitReached{Scope: "run", Limit: pawl.LimitMoney, Max: 100, Value: 150}
	b := limited(100, 0, 0)
	b.Spent.Money = 90
	if got := b.Blocks(0); got != nil {
		t.Errorf("a run that was not stopped is kept back by %+v", got)
	}
	b.Stopped(short)
	for limit, want := range map[pawl.Micros]*pawl.LimitReached{
		100: short, 149: {Scope: "run", Limit: pawl.LimitMoney, Max: 149, Value: 150}, 150: nil, 0: nil,
	} {
		if b.SetLimits(pawl.Limits{Money: limit}); !cmp.Equal(b.Blocks(0), want) {
			t.Errorf("with a limit of %d it is kept back by %+v, want %+v", limit, b.Blocks(0), want)
		}
	}
	b.SetLimits(pawl.Limits{Money: 149})
	if b.Resume(); b.Blocks(0) != nil {
		t.Errorf("after it was resumed it is kept back by %+v", b.Blocks(0))
	}
}

// A call asks for the model's most output, halved until it fits, but not below the floor.
func TestRoom(t *testing.T) {
	// An input of 300 bytes is 101 tokens. A token costs one millionth of a dollar, whatever it is.
	model := &pawl.ModelChoice{MaxOutput: 1000, Price: pawl.Price{Input: pawl.Dollars, Output: pawl.Dollars}}
	for _, row := range []struct {
		name   string
		money  pawl.Micros
		tokens int64
		floor  int
		output int
		short  *pawl.LimitReached
	}{
		{"no limits", 0, 0, 100, 1000, nil},
		{"just enough money", 1101 + 30, 0, 100, 1000, nil},
		{"just enough tokens", 0, 1101 + 31, 100, 1000, nil},
		{"too little money", 1100 + 30, 0, 100, 500, nil},
		{"too few tokens", 0, 1100 + 31, 100, 500, nil},
		{"enough for a quarter", 351 + 30, 0, 100, 250, nil},
		{"enough for the floor", 221 + 30, 0, 120, 120, nil},
		{"less than the floor", 220 + 30, 0, 120, 120, &pawl.LimitReached{Scope: "run", Limit: pawl.LimitMoney, Max: 250, Value: 221 + 20}},
		{"fewer tokens than the floor", 0, 220 + 31, 120, 120, &pawl.LimitReached{Scope: "run", Limit: pawl.LimitTokens, Max: 251, Value: 221 + 21}},
		{"both", 220 + 30, 221 + 29, 120, 120, &pawl.LimitReached{Scope: "run", Limit: pawl.LimitMoney, Max: 250, Value: 221 + 20}},
		{"a floor above the most", 1100 + 30, 0, 2000, 1000, &pawl.LimitReached{Scope: "run", Limit: pawl.LimitMoney, Max: 1130, Value: 1101 + 20}},
		{"no floor", 103 + 30, 0, 0, 1, nil},
		{"no floor and no room", 101 + 30, 0, 0, 1, &pawl.LimitReached{Scope: "run", Limit: pawl.LimitMoney, Max: 131, Value: 102 + 20}},
	} {
		b := limited(row.money, row.tokens, 0)
		b.Spent, b.Reserved = Purse{20, 21}, Purse{10, 10}
		output, want, short := b.Room(model, 300, row.floor)
		if output != row.output || !cmp.Equal(short, row.short) || want != (Purse{pawl.Micros(101 + row.output), int64(101 + row.output)}) {
			t.Errorf("%s: %d tokens for %v, short %+v", row.name, output, want, short)
		}
	}
	b := &Budget{Limits: pawl.Limits{Money: 1, Tokens: 1}}
	if output, _, short := b.Room(model, 300, 1); output != 1000 || short != nil {
		t.Errorf("limits that end nothing leave room for %d", output)
	}
}

// The user is warned once of each limit when four fifths of it are spent.
func TestWarnings(t *testing.T) {
	b := limited(10, 100, 0)
	money, tokens := &pawl.BudgetWarned{Limit: pawl.LimitMoney, Max: 10, Value: 8}, &pawl.BudgetWarned{Limit: pawl.LimitTokens, Max: 100, Value: 80}
	for _, row := range []struct {
		spent Purse
		want  []*pawl.BudgetWarned
	}{{Purse{7, 79}, nil}, {Purse{8, 79}, []*pawl.BudgetWarned{money}}, {Purse{7, 80}, []*pawl.BudgetWarned{tokens}}, {Purse{8, 80}, []*pawl.BudgetWarned{money, tokens}}} {
		if b.Spent = row.spent; !cmp.Equal(b.Warnings(), row.want) {
			t.Errorf("%v spent: the warnings are %+v, want %+v", row.spent, b.Warnings(), row.want)
		}
	}
	if b.Warned(pawl.LimitMoney); !cmp.Equal(b.Warnings(), []*pawl.BudgetWarned{tokens}) {
		t.Errorf("after a warning of money, the warnings are %+v", b.Warnings())
	}
	if b.Warned(pawl.LimitTokens); b.Warnings() != nil {
		t.Errorf("after both, the warnings are %+v", b.Warnings())
	}
	if b.SetLimits(b.Limits); len(b.Warnings()) != 2 {
		t.Errorf("with new limits, the warnings are %+v", b.Warnings())
	}
	if b.Halts = false; b.Warnings() != nil {
		t.Errorf("of limits that end nothing, the warnings are %+v", b.Warnings())
	}
}

func TestReset(t *testing.T) {
	b := limited(10, 100, 1)
	want := *b
	b.Spent, b.Lost, b.Reserved = Purse{9, 9}, Purse{1, 1}, Purse{2, 2}
	b.Warned(pawl.LimitTokens)
	b.Stopped(&pawl.LimitReached{})
	if b.Reset(); *b != want {
		t.Errorf("got %+v", b)
	}
	if got := (Purse{5, 7}).Add(Purse{1, 2}); got != (Purse{6, 9}) {
		t.Errorf("the sum is %v", got)
	}
	if got := (Purse{5, 7}).Sub(Purse{1, 9}); got != (Purse{4, -2}) {
		t.Errorf("the difference is %v", got)
	}
}
