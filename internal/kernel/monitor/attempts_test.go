package monitor

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"pawl"
)

// After every attempt of the written histories the monitor gives the verdict of the line, without a
// false alarm and without a miss. attempts_tune.txt was at hand when the rules for attempts were
// made, attempts_heldout.txt was looked at when they were done. F-43
func TestHistoriesOfAttempts(t *testing.T) {
	for file, least := range map[string]int{"attempts_tune.txt": 40, "attempts_heldout.txt": 20} {
		var wrong mistakes
		histories, lines := 0, 0
		seen := map[pawl.Health]int{}
		name, history := "", []Attempt(nil)
		for n, line := range strings.Split(read(t, "testdata/"+file), "\n") {
			switch {
			case strings.HasPrefix(line, "== "):
				name, history = line[3:], nil
				histories++
				continue
			case line == "" || strings.HasPrefix(line, "#"):
				continue
			}
			a, want := parseAttempt(t, line)
			history = append(history, a)
			history = history[max(0, len(history)-Window):] // as a loop keeps them
			lines++
			seen[want]++
			wrong.judge(t, accused(Attempts(history, 0, false)), want, fmt.Sprintf("%s:%d: %s\n\t", file, n+1, name))
		}
		if histories < least || len(seen) != 3 {
			t.Errorf("%s: %d histories with the labels %v", file, histories, seen)
		}
		t.Logf("%s: %d histories, %d attempts: %d false, %d missed", file, histories, lines, wrong.falsely, wrong.missed)
	}
}

// accused returns a verdict in the words of the tables: what nothing can be said of is not accused.
func accused(v Verdict) Verdict {
	if v.Health == "" {
		v.Reason = "there is nothing to say"
		v.Health = pawl.HealthProgressing
	}
	return v
}

// Health is said only of what was compared. After a recovery the attempts before it are compared with, but
// a pattern has to end in attempts after it. F-89
func TestAttemptsAfterARecovery(t *testing.T) {
	for _, row := range []struct {
		why   string
		since int32
		lines []string
		want  pawl.Health
	}{
		{"nothing", 0, nil, ""},
		{"one attempt", 0, []string{"1 t:A p:3"}, ""},
		{"no attempt since", 2, []string{"1 t:A p:3", "2 t:B p:3"}, ""},
		{"it has what the best had", 3, []string{"1 t:A p:9", "2 t:B p:7", "3 t:C p:7", "4 t:D p:9"}, pawl.HealthProgressing},
		{"it is the worst of all", 3, []string{"1 t:A p:9", "2 t:B p:7", "3 t:C p:7", "4 t:D p:1"}, ""},
		{"it is behind the best", 3, []string{"1 t:A p:9", "2 t:B p:7", "3 t:C p:7", "4 t:D p:8"}, ""},
		{"it broke a test", 3, []string{"1 t:A p:9", "2 t:B p:7", "3 t:C p:7", "4 t:D p:9 B:login"}, ""},
		{"two are behind the best", 3, []string{"1 t:A p:9", "2 t:B p:7", "3 t:C p:7", "4 t:D p:8", "5 t:E p:8"}, pawl.HealthRegressing},
		{"a state seen before", 4, []string{"1 t:A", "2 t:B", "3 t:A", "4 t:B", "5 t:A"}, ""},
		{"two states seen before", 4, []string{"1 t:A", "2 t:B", "3 t:A", "4 t:B", "5 t:A", "6 t:B"}, pawl.HealthFlipFlop},
		{"refused again for the same", 2, []string{"1 t:A e:x", "2 t:B e:y", "3 t:A e:x"}, pawl.HealthFlipFlop},
	} {
		var history []Attempt
		for _, line := range row.lines {
			a, _ := parseAttempt(t, line+" = PROGRESSING")
			history = append(history, a)
		}
		if v := Attempts(history, row.since, false); v.Health != row.want {
			t.Errorf("%s: %s (%s), want %s", row.why, v.Health, v.Reason, row.want)
		}
	}
}

// An attempt that passed does not go to and fro, even if its tree was there before.
func TestAttemptsThatPass(t *testing.T) {
	for _, passed := range []bool{false, true} {
		var history []Attempt
		for n, tree := range []uint64{1, 2, 1, 2} {
			history = append(history, Attempt{N: int32(n + 1), Tree: tree, Passing: -1}) //nolint:gosec // small
		}
		history[3].Passed = passed
		if v := Attempts(history, 0, false); (v.Health == pawl.HealthFlipFlop) == passed {
			t.Errorf("passed is %t: %s", passed, v.Health)
		}
	}
}

func read(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// parseAttempt reads a line such as "2 t:B p:9 e:nil f:login/1 h:old>new B:logout = PROGRESSING".
func parseAttempt(t testing.TB, line string) (Attempt, pawl.Health) {
	t.Helper()
	facts, label, ok := strings.Cut(line, " = ")
	words := strings.Fields(facts)
	if !ok || len(words) == 0 {
		t.Fatalf("no label: %q", line)
	}
	a := Attempt{N: int32(number(words[0])), Passing: -1}
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, ":")
		switch key {
		case "t":
			a.Tree = print64(value)
		case "p":
			a.Passing = int32(number(value))
		case "e":
			a.Error = print64(value)
		case "f":
			set, n, _ := strings.Cut(value, "/")
			if a.Failed = int32(number(n)); set != "" {
				a.Failing = print64(set)
			}
		case "h":
			for _, change := range strings.Split(value, ",") {
				went, came, _ := strings.Cut(change, ">")
				a.Hunks = append(a.Hunks, print64(went), print64(came))
			}
		case "B":
			for _, test := range strings.Split(value, ",") {
				a.Broke = append(a.Broke, print64(test))
			}
		default:
			t.Fatal(fmt.Errorf("what is %q in %q?", w, line))
		}
	}
	return a, pawl.Health(label)
}

// Attempts that are refused for the same three times in a row stand still, unless one comes nearer. It is said
// where nothing else detects it. F-78
func TestAttemptsStandStill(t *testing.T) {
	same := func(n int32, passing int32) Attempt { return Attempt{N: n, Error: 7, Passing: passing, Tree: 5} }
	other := Attempt{N: 3, Error: 8, Passing: -1, Tree: 5}
	for _, row := range []struct {
		name    string
		history []Attempt
		stalls  bool
		want    pawl.Health
	}{
		{"three alike", []Attempt{same(1, -1), same(2, -1), same(3, -1)}, true, pawl.HealthStalled},
		{"the ladder says so", []Attempt{same(1, -1), same(2, -1), same(3, -1)}, false, pawl.HealthProgressing},
		{"two alike", []Attempt{same(1, -1), same(2, -1)}, true, pawl.HealthProgressing},
		{"another objection", []Attempt{same(1, -1), same(2, -1), other}, true, pawl.HealthProgressing},
		{"one test more", []Attempt{same(1, 3), same(2, 3), same(3, 4)}, true, pawl.HealthProgressing},
		{"after a recovery", []Attempt{{N: 1, Error: 9, Tree: 4}, same(2, -1), same(3, -1), same(4, -1)}, true, pawl.HealthStalled},
	} {
		if v := Attempts(row.history, 0, row.stalls); v.Health != row.want && !(row.want == pawl.HealthProgressing && v.Health == "") {
			t.Errorf("%s: %s (%s), want %s", row.name, v.Health, v.Reason, row.want)
		}
	}
}
