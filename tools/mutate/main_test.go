package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A seed draws the same mutants each time, and every pair of packages has its first
// mutant before any has its second.
func TestDraw(t *testing.T) {
	var all []mutant
	for pair, n := range map[string]int{"a": 40, "b": 1, "c": 3} {
		for i := range n {
			all = append(all, mutant{pkg: pair, callee: "z", place: fmt.Sprint(pair, i)})
		}
	}
	slices.SortFunc(all, byCall)
	drawn := draw(rand.New(rand.NewPCG(7, 0)), slices.Clone(all))
	if again := draw(rand.New(rand.NewPCG(7, 0)), slices.Clone(all)); !slices.Equal(drawn, again) {
		t.Error("the same seed draws other mutants")
	}
	first := []string{drawn[0].pkg, drawn[1].pkg, drawn[2].pkg}
	if slices.Sort(first); !slices.Equal(first, []string{"a", "b", "c"}) {
		t.Errorf("the first three mutants are in %v", first)
	}
	if slices.SortFunc(drawn, byCall); !slices.Equal(drawn, all) {
		t.Error("a mutant is missing, or drawn twice")
	}
}

func byCall(a, b mutant) int { return strings.Compare(a.place, b.place) }

// The overlay names the mutated file, and only the piece of it is replaced.
func TestOverlay(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "source.go")
	if err := os.WriteFile(source, []byte("if err := f(); err != nil {"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	if _, err := (mutant{file: source, from: 25, to: 25, with: " && false"}).overlay(out); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(out, "source.go"))
	if want := "if err := f(); err != nil && false {"; err != nil || string(got) != want {
		t.Errorf("%q: %v, want %q", got, err, want)
	}
}
