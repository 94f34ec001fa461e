package project_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/project"
)

func TestHome(t *testing.T) {
	t.Run("OneServes", func(t *testing.T) {
		h := project.HomeAt(t.TempDir())
		if err := h.Make(); err != nil {
			t.Fatal(err)
		}
		lock, err := h.Lock("v1")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Lock("v2"); pawl.CodeOf(err) != pawl.CodeConflict || !strings.Contains(err.Error(), "serves the projects already") {
			t.Error(err)
		}
		holder, held, err := h.Holder(t.Context())
		if err != nil || !held || holder.Pid != os.Getpid() || holder.Socket != h.Socket() || holder.Version != "v1" {
			t.Errorf("%+v, %t, %v", holder, held, err)
		}
		if err := lock.Leave(); err != nil { // as a process does that dies
			t.Fatal(err)
		}
		if _, held, _ := h.Holder(t.Context()); held {
			t.Error("held by nobody")
		}
		if last, ok := h.LastHolder(); !ok || last.Pid != os.Getpid() {
			t.Errorf("%+v, %t", last, ok)
		}
		if lock, err = h.Lock("v1"); err != nil {
			t.Fatal(err)
		}
		if err := lock.Release(); err != nil {
			t.Fatal(err)
		}
		if last, ok := h.LastHolder(); ok {
			t.Errorf("after it was given back: %+v", last)
		}
	})
	t.Run("HomesHaveSocketsOfTheirOwn", func(t *testing.T) {
		long := "/" + strings.Repeat("x", 120)
		a, b := project.HomeAt(long+"/a").Socket(), project.HomeAt(long+"/b").Socket()
		if a == b || len(a) > 104 || filepath.Dir(a) != filepath.Dir(b) {
			t.Errorf("%s, %s", a, b)
		}
	})
	t.Run("KnowsItsProjects", func(t *testing.T) {
		state := t.TempDir()
		p, err := project.At(state, pawl.Repository{GitDir: "/src/app/.git", Root: "/src/tree"})
		if err != nil {
			t.Fatal(err)
		}
		older, broken := filepath.Join(state, "pawl", "older"), filepath.Join(state, "pawl", "broken")
		for dir, text := range map[string]string{older: `{"git_dir":"/src/old/.git"}`, broken: "{"} {
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "project.json"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		all, err := project.HomeAt(state).Projects()
		if err != nil || len(all) != 2 {
			t.Fatalf("%+v, %v", all, err)
		}
		if all[0].Dir != p.Dir || all[0].Repo.Root != "/src/tree" || all[1].Repo.Root != "/src/old" {
			t.Errorf("%+v", all)
		}
	})
}
