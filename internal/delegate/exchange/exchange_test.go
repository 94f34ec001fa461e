package exchange_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/delegate/delegatetest"
	"pawl/internal/delegate/exchange"
)

func TestMain(m *testing.M) {
	os.Exit(delegatetest.Main(m, map[string]func(){
		"echo": func() {
			for in := bufio.NewScanner(os.Stdin); in.Scan(); {
				fmt.Println(in.Text())
			}
		},
		"odd": func() {
			fmt.Print("Loading…\n\n[1]\n{\"a\":1}\n{broken\n  {\"a\":2}  \r\n", strings.Repeat("x", 20<<20), "\n{\"a\":3}")
		},
		"chatty": func() {
			fmt.Print(strings.Repeat("Loading…\n", 30))
		},
		"flood": func() {
			out := bufio.NewWriter(os.Stdout)
			for i := range 100_000 {
				fmt.Fprintf(out, "{\"a\":%d}\n", i)
			}
			out.Flush()
		},
		"fails": func() {
			fmt.Println(`{"a":1}`)
			fmt.Fprintln(os.Stderr, "no such thing")
			os.Exit(3)
		},
		"misses": func() { // a program that it needs in the end
			fmt.Println(`{"a":1}`)
			os.Exit(127)
		},
		"stays": func() { // it ignores the end of its input
			fmt.Println(`{"a":1}`)
			<-time.After(time.Hour)
		},
		"slow": func() { // to start
			<-time.After(900 * time.Millisecond)
			fmt.Println(`{"a":1}`)
			<-time.After(time.Hour)
		},
		"refuses": func() {
			fmt.Fprintln(os.Stderr, "error: unknown option '--fast'")
			os.Exit(2)
		},
		"mute":   func() { os.Exit(3) },
		"locked": func() { fmt.Fprintln(os.Stderr, "Please log in first."); os.Exit(1) },
		"leaves": func() {
			fmt.Println(`{"a":1}`)
			fmt.Fprintln(os.Stderr, "something is wrong")
			os.Exit(2)
		},
		"silent": func() {
			fmt.Println(`{"a":1}`)
			<-time.After(time.Hour)
		},
	}))
}

type message struct {
	A int `json:"a"`
}

// read reads messages until there are no more.
func read(t *testing.T, x *exchange.Exchange) (all []int) {
	t.Helper()
	for {
		raw, ok := x.Line()
		if !ok {
			return all
		}
		var m message
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Error(err)
		}
		all = append(all, m.A)
	}
}

// run runs an agent that the test program plays.
func run(ctx context.Context, t *testing.T, agent string, limits pawl.AgentLimits, speak func(*exchange.Exchange) error) (exchange.Ended, []pawl.AgentUpdate, error) {
	t.Helper()
	var told delegatetest.Updates
	ended, err := exchange.Run(ctx, delegatetest.Room(t), exchange.Program{Argv: delegatetest.Play(t, agent)}, limits, told.Tell, speak)
	return ended, told.All(), err
}

func TestConversation(t *testing.T) {
	ended, _, err := run(t.Context(), t, "echo", pawl.AgentLimits{}, func(x *exchange.Exchange) error {
		for i := range 100 {
			if err := x.Send(message{i}); err != nil {
				return err
			}
			var m message
			if raw, ok := x.Line(); !ok || json.Unmarshal(raw, &m) != nil || m.A != i {
				return fmt.Errorf("%s came for %d", raw, i)
			}
		}
		return nil
	})
	if err != nil || ended != (exchange.Ended{}) {
		t.Errorf("got %+v, %v", ended, err)
	}
}

// Lines that are not JSON objects are skipped with a note, and so are lines that are too long.
func TestOddLines(t *testing.T) {
	var got []int
	_, told, err := run(t.Context(), t, "odd", pawl.AgentLimits{}, func(x *exchange.Exchange) error {
		got = read(t, x)
		return nil
	})
	if err != nil || !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("got %v, %v", got, err)
	}
	var notes []string
	for _, u := range told {
		notes = append(notes, string(u.Kind)+": "+u.Text)
	}
	want := []string{"note: it printed: Loading…", "note: it printed: [1]", "note: it printed: {broken", "note: a line of 20971520 bytes was left out"}
	slices.Sort(notes)
	slices.Sort(want)
	if !slices.Equal(notes, want) {
		t.Errorf("it told %q", notes)
	}
}

// An agent that prints much else does not fill the transcript with notes.
func TestNotesAreBounded(t *testing.T) {
	_, told, err := run(t.Context(), t, "chatty", pawl.AgentLimits{}, func(x *exchange.Exchange) error { read(t, x); return nil })
	if err != nil || len(told) != 20 {
		t.Errorf("it told %d notes, %v", len(told), err)
	}
}

// What a call used is kept, unless nothing was sent.
func TestWithUsage(t *testing.T) {
	used := pawl.Usage{Input: 7}
	for unsent, want := range map[bool]pawl.Usage{false: used, true: {}} {
		e := &pawl.ModelError{Kind: pawl.ModelAuth, Unsent: unsent}
		if err := exchange.WithUsage(fmt.Errorf("turn: %w", e), used, true); !errors.Is(err, e) || e.Used != want || e.Estimated == unsent {
			t.Errorf("unsent %t: got %+v", unsent, e)
		}
	}
	if err := exchange.WithUsage(context.Canceled, used, true); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// No line is lost, however many there are.
func TestFlood(t *testing.T) {
	var got []int
	if _, _, err := run(t.Context(), t, "flood", pawl.AgentLimits{Silence: time.Minute}, func(x *exchange.Exchange) error {
		got = read(t, x)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(got) != 100_000 {
		t.Fatalf("%d lines came", len(got))
	}
	for i, a := range got {
		if i != a {
			t.Fatalf("line %d is %d", i, a)
		}
	}
}

// After speak has returned there are no more lines, and updates are dropped.
func TestOver(t *testing.T) {
	var told delegatetest.Updates
	var x *exchange.Exchange
	_, err := exchange.Run(t.Context(), delegatetest.Room(t), exchange.Program{Argv: delegatetest.Play(t, "flood")}, pawl.AgentLimits{}, told.Tell, func(now *exchange.Exchange) error {
		x = now
		_, ok := x.Line()
		x.Tell(pawl.AgentUpdate{Kind: pawl.UpdateText, Text: fmt.Sprint(ok)})
		return nil
	})
	x.Tell(pawl.AgentUpdate{Kind: pawl.UpdateText, Text: "too late"})
	if _, more := x.Line(); more || err != nil || len(told.All()) != 1 || told.All()[0].Text != "true" {
		t.Errorf("there is more: %t; it told %+v, %v", more, told.All(), err)
	}
}

func TestEnds(t *testing.T) {
	kind := func(err error) pawl.ModelErrorKind {
		e, _ := errors.AsType[*pawl.ModelError](err)
		if e == nil {
			return ""
		}
		return e.Kind
	}
	t.Run("Fails", func(t *testing.T) {
		ended, _, err := run(t.Context(), t, "fails", pawl.AgentLimits{}, func(x *exchange.Exchange) error { read(t, x); return nil })
		if err != nil || ended.Code != 3 || ended.Errors != "no such thing" {
			t.Errorf("got %+v, %v", ended, err)
		}
	})
	t.Run("Stays", func(t *testing.T) {
		ended, _, err := run(t.Context(), t, "stays", pawl.AgentLimits{}, func(x *exchange.Exchange) error { x.Line(); return nil })
		if err != nil || ended.Code != -1 {
			t.Errorf("got %+v, %v", ended, err)
		}
	})
	t.Run("Silence", func(t *testing.T) {
		_, _, err := run(t.Context(), t, "silent", pawl.AgentLimits{Silence: 300 * time.Millisecond, ToolTime: time.Hour}, func(x *exchange.Exchange) error { read(t, x); return errors.New("later") })
		if kind(err) != pawl.ModelTimeout || !strings.Contains(err.Error(), "the agent sent nothing for 0.3s") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("Start", func(t *testing.T) { // it is no silence, and has a limit of its own
		_, _, err := run(t.Context(), t, "slow", pawl.AgentLimits{Silence: 300 * time.Millisecond, ToolTime: time.Hour}, func(x *exchange.Exchange) error {
			if _, ok := x.Line(); !ok {
				t.Error("its start counts as silence")
			}
			x.Line()
			return nil
		})
		if kind(err) != pawl.ModelTimeout || !strings.Contains(err.Error(), "the agent sent nothing for 0.3s") {
			t.Errorf("got %v", err)
		}
		_, _, err = run(t.Context(), t, "slow", pawl.AgentLimits{Silence: 100 * time.Millisecond, ToolTime: 200 * time.Millisecond}, func(x *exchange.Exchange) error { x.Line(); return nil })
		if kind(err) != pawl.ModelTimeout || !strings.Contains(err.Error(), "the agent did not start: it sent nothing for 0.2s") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("OpenCall", func(t *testing.T) { // ToolTime applies in place of Silence
		_, _, err := run(t.Context(), t, "silent", pawl.AgentLimits{Silence: time.Hour, ToolTime: 300 * time.Millisecond}, func(x *exchange.Exchange) error {
			x.Tell(pawl.AgentUpdate{Kind: pawl.UpdateCall, Call: "1"})
			read(t, x)
			return nil
		})
		if kind(err) != pawl.ModelTimeout || !strings.Contains(err.Error(), "a tool call of the agent did not end for 0.3s") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("ClosedCall", func(t *testing.T) {
		_, _, err := run(t.Context(), t, "silent", pawl.AgentLimits{Silence: 300 * time.Millisecond, ToolTime: time.Hour}, func(x *exchange.Exchange) error {
			x.Tell(pawl.AgentUpdate{Kind: pawl.UpdateCall, Call: "1"})
			x.Tell(pawl.AgentUpdate{Kind: pawl.UpdateCall, Call: "2"})
			x.Tell(pawl.AgentUpdate{Kind: pawl.UpdateResult, Call: "2"})
			x.Tell(pawl.AgentUpdate{Kind: pawl.UpdateResult, Call: "1"})
			read(t, x)
			return nil
		})
		if kind(err) != pawl.ModelTimeout || !strings.Contains(err.Error(), "the agent sent nothing for 0.3s") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("Missing", func(t *testing.T) {
		_, err := exchange.Run(t.Context(), delegatetest.Room(t), exchange.Program{Argv: []string{"no-such-agent"}}, pawl.AgentLimits{}, func(pawl.AgentUpdate) {}, func(x *exchange.Exchange) error {
			if _, ok := x.Line(); !ok {
				return errors.New("nothing came")
			}
			return nil
		})
		if kind(err) != pawl.ModelNoStart || !strings.Contains(err.Error(), "no-such-agent") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("LaterMissing", func(t *testing.T) { // of a turn that has ended well, the exit code means nothing
		ended, _, err := run(t.Context(), t, "misses", pawl.AgentLimits{}, func(x *exchange.Exchange) error { read(t, x); return nil })
		if err != nil || ended.Code != 127 {
			t.Errorf("got %+v, %v", ended, err)
		}
	})
	t.Run("Cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		_, _, err := run(ctx, t, "silent", pawl.AgentLimits{}, func(x *exchange.Exchange) error {
			x.Line()
			cancel()
			read(t, x)
			return errors.New("later")
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("Spoke", func(t *testing.T) {
		own := errors.New("what it says makes no sense")
		if _, _, err := run(t.Context(), t, "stays", pawl.AgentLimits{}, func(*exchange.Exchange) error { return own }); !errors.Is(err, own) {
			t.Errorf("got %v", err)
		}
	})
}

// An exchange ends at its limit on money or tokens.
func TestCap(t *testing.T) {
	price := pawl.Price{Input: 3 * pawl.Dollars, Output: 15 * pawl.Dollars}
	million := pawl.Usage{Input: 1_000_000}
	for _, row := range []struct {
		name   string
		limits pawl.AgentLimits
		update pawl.AgentUpdate
		capped bool
	}{
		{"money", pawl.AgentLimits{Money: 3 * pawl.Dollars, Price: price}, pawl.AgentUpdate{Usage: million}, true},
		{"less money", pawl.AgentLimits{Money: 3*pawl.Dollars + 1, Price: price}, pawl.AgentUpdate{Usage: million}, false},
		{"money by its own count", pawl.AgentLimits{Money: 2 * pawl.Dollars, Price: price}, pawl.AgentUpdate{Cost: 2 * pawl.Dollars}, true},
		{"its own count is less", pawl.AgentLimits{Money: 2 * pawl.Dollars, Price: price}, pawl.AgentUpdate{Usage: million, Cost: pawl.Dollars}, false},
		{"tokens", pawl.AgentLimits{Tokens: 1_000_000}, pawl.AgentUpdate{Usage: million}, true},
		{"fewer tokens", pawl.AgentLimits{Tokens: 1_000_001}, pawl.AgentUpdate{Usage: million}, false},
		{"no limit", pawl.AgentLimits{Price: price}, pawl.AgentUpdate{Usage: million}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.update.Kind = pawl.UpdateUsage
			ended, _, err := run(t.Context(), t, "echo", row.limits, func(x *exchange.Exchange) error {
				x.Tell(row.update)
				select {
				case <-x.Done():
					return errors.New("later")
				default:
					return nil
				}
			})
			if err != nil || ended.Capped != row.capped {
				t.Errorf("got %+v, %v", ended, err)
			}
		})
	}
}

// A program that ends before it says anything does not start, and would not at another try. F-127
func TestProgramsThatDoNotStart(t *testing.T) {
	for agent, want := range map[string]struct {
		kind pawl.ModelErrorKind
		says string
	}{
		"refuses": {pawl.ModelNoStart, "error: unknown option '--fast'"},
		"mute":    {pawl.ModelNoStart, "it ended with exit code 3 and no word"},
		"locked":  {pawl.ModelAuth, "Please log in first."},
		"leaves":  {pawl.ModelNetwork, "something is wrong"},
	} {
		ended, _, err := run(t.Context(), t, agent, pawl.AgentLimits{}, func(x *exchange.Exchange) error { read(t, x); return nil })
		if err != nil {
			t.Fatal(err)
		}
		if got := ended.Failure("the agent"); got.Kind != want.kind || !strings.Contains(got.Message, want.says) || got.Kind.Retryable() == (want.kind == pawl.ModelNoStart) && got.Kind != pawl.ModelAuth {
			t.Errorf("%s: %+v", agent, got)
		}
	}
}
