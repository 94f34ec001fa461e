// Mutate plants mutants that gremlins cannot and reports those that no test catches:
//
//	go run ./tools/mutate -calls -seed 1 -n 60    where one package of Pawl calls another
//	go run ./tools/mutate -cases -in internal/governor    in the conditions of case clauses
//
// gremlins replaces operators in covered lines. It has no mutants for calls, and Go's
// coverage does not count case conditions.
//
// The same seed gives the same order for the same source. Source files stay unchanged:
// the go command sees a mutant through an overlay. Mutants that do not compile are
// skipped. Each mutant is tested with -short, first by its own package and, for calls,
// then by the packages that import it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// verdict is the result of testing a mutant.
type verdict string

const (
	killed   verdict = "killed"
	hung     verdict = "hung" // no test failed before the time limit
	survived verdict = "SURVIVED"
)

func run(ctx context.Context, out io.Writer, args []string) error {
	flags := flag.NewFlagSet("mutate", flag.ContinueOnError)
	seed := flags.Uint64("seed", 1, "seed for the order in which mutants are planted")
	n := flags.Int("n", 0, "number of mutants to plant; 0 means all")
	calls := flags.Bool("calls", false, "mutate calls between packages")
	cases := flags.Bool("cases", false, "mutate the conditions of case clauses")
	in := flags.String("in", "", "mutate only packages whose import path matches this regular expression")
	list := flags.Bool("list", false, "print the mutants without testing them")
	limit := flags.Duration("limit", 10*time.Minute, "time limit for the tests of one group of packages")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *calls == *cases {
		return errors.New("want exactly one of -calls and -cases")
	}
	only, err := regexp.Compile(*in)
	if err != nil {
		return fmt.Errorf("-in: %w", err)
	}
	m, err := load()
	if err != nil {
		return err
	}
	find := (*walker).seams
	if *cases {
		find = (*walker).conditions
	}
	mutants, err := m.mutants(only, find)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d mutants at %d places, seed %d\n", len(mutants), places(mutants), *seed)
	mutants = draw(rand.New(rand.NewPCG(*seed, 0)), mutants)

	count := map[verdict]int{}
	drawn := map[string]bool{} // by place for calls: one mutant of each is enough
	for _, x := range mutants {
		if *n > 0 && len(drawn) == *n {
			break
		}
		key := x.place
		if *cases {
			key = x.String()
		}
		if drawn[key] {
			continue
		}
		if *list {
			drawn[key] = true
			fmt.Fprintln(out, x)
			continue
		}
		v, by, err := m.try(ctx, x, *calls, *limit)
		if errors.Is(err, errDoesNotCompile) {
			continue
		}
		if err != nil {
			return err
		}
		drawn[key] = true
		count[v]++
		fmt.Fprintf(out, "%3d %-8s %s%s\n", len(drawn), v, x, by)
	}
	if total := count[killed] + count[hung] + count[survived]; total > 0 {
		fmt.Fprintf(out, "%d of %d killed (%d %%), %d by hanging only, %d survived\n",
			count[killed]+count[hung], total, 100*(count[killed]+count[hung])/total, count[hung], count[survived])
	}
	return nil
}

// draw returns mutants in random order, one of each pair of caller and callee package
// before the second of any. Otherwise the pairs with most calls would crowd out the rest.
func draw(r *rand.Rand, mutants []mutant) []mutant {
	r.Shuffle(len(mutants), func(i, j int) { mutants[i], mutants[j] = mutants[j], mutants[i] })
	turn, taken := make([]int, len(mutants)), map[[2]string]int{}
	order := make([]int, len(mutants))
	for i, x := range mutants {
		pair := [2]string{x.pkg, x.callee}
		turn[i], order[i] = taken[pair], i
		taken[pair]++
	}
	slices.SortStableFunc(order, func(a, b int) int { return turn[a] - turn[b] })
	out := make([]mutant, len(mutants))
	for i, at := range order {
		out[i] = mutants[at]
	}
	return out
}

func places(mutants []mutant) int {
	seen := map[string]bool{}
	for _, x := range mutants {
		seen[x.place] = true
	}
	return len(seen)
}

var errDoesNotCompile = errors.New("the mutant does not compile")

// try runs the tests that can notice x until one fails.
func (m *module) try(ctx context.Context, x mutant, importers bool, limit time.Duration) (verdict, string, error) {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return "", "", err
	}
	defer os.RemoveAll(dir)
	overlay, err := x.overlay(dir)
	if err != nil {
		return "", "", err
	}
	if out, err := m.command(ctx, overlay, "build", x.pkg).CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return "", "", ctx.Err()
		}
		if len(out) == 0 {
			return "", "", err
		}
		return "", "", errDoesNotCompile
	}
	watchers := m.watchers(x.pkg)
	if !importers {
		watchers = watchers[:1]
	}
	for _, group := range watchers {
		out, err := m.command(ctx, overlay, append([]string{"test", "-short", "-vet=off", "-failfast", "-timeout", limit.String()}, group...)...).CombinedOutput()
		switch {
		case ctx.Err() != nil:
			return "", "", ctx.Err()
		case err == nil:
		case strings.Contains(string(out), "panic: test timed out") && !strings.Contains(string(out), "--- FAIL"):
			return hung, " by " + failing(out), nil
		default:
			return killed, " by " + failing(out), nil
		}
	}
	return survived, "", nil
}

var failLine = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)|^FAIL\s+(\S+)`)

// failing returns the name of the first test that failed, or else of its package.
func failing(out []byte) string {
	f := failLine.FindSubmatch(out)
	if f == nil {
		return "?"
	}
	return string(f[1]) + string(f[2])
}

// command returns a go command that sees the mutant, as do the builds its tests start.
func (m *module) command(ctx context.Context, overlay string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir = m.root
	c.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+overlay))
	return c
}

// overlay writes the mutated file and the overlay file that names it, and returns the
// name of the latter.
func (x mutant) overlay(dir string) (string, error) {
	source, err := os.ReadFile(x.file)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(dir, filepath.Base(x.file))
	text := slices.Concat(source[:x.from], []byte(x.with), source[x.to:])
	if err := os.WriteFile(changed, text, 0o600); err != nil {
		return "", err
	}
	data, err := json.Marshal(map[string]any{"Replace": map[string]string{x.file: changed}})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, data, 0o600)
}
