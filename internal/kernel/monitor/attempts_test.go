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
			wrong.judge(t, Attempts(history), want, fmt.Sprintf("%s:%d: %s\n\t", file, n+1, name))
		}
		if histories < least || len(seen) != 3 {
			t.Errorf("%s: %d histories with the labels %v", file, histories, seen)
		}
		t.Logf("%s: %d histories, %d attempts: %d false, %d missed", file, histories, lines, wrong.falsely, wrong.missed)
	}
	if v := Attempts(nil); v.Health != pawl.HealthProgressing {
		t.Errorf("of nothing: %+v", v)
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
		if v := Attempts(history); (v.Health == pawl.HealthFlipFlop) == passed {
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
