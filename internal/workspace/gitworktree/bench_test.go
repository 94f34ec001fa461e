package gitworktree_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"pawl"
	"pawl/internal/workspace/workspacetest"
)

// sizes are the numbers of files to measure with; PAWL_BENCH_LARGE adds a large one.
func sizes() []int {
	if os.Getenv("PAWL_BENCH_LARGE") != "" {
		return []int{300, 13_000}
	}
	return []int{300}
}

// largeProject is a project of many files in folders of about 30.
func largeProject(files int) map[string]string {
	project := map[string]string{".gitignore": "build/\n"}
	for n := range files {
		text := ""
		for line := range 60 {
			text += fmt.Sprintf("line %d of file %d\n", line, n)
		}
		project[fmt.Sprintf("d%d/s%d/f%d.go", n%20, n/20%(files/600+1), n)] = text
	}
	return project
}

func benchmark(b *testing.B, run func(b *testing.B, w pawl.Workspaces, state workspacetest.Opened)) {
	for _, files := range sizes() {
		b.Run(fmt.Sprintf("files=%d", files), func(b *testing.B) {
			r := newRepository(b, largeProject(files))
			r.git(b, "gc", "-q")
			w := r.open(b, nil)
			state := workspacetest.MustOpen(b, w, pawl.WorkspaceSpec{Name: "001-x", Branch: "pawl/001-x", Base: r.base(b)})
			run(b, w, state)
		})
	}
}

func BenchmarkTree(b *testing.B) {
	benchmark(b, func(b *testing.B, w pawl.Workspaces, state workspacetest.Opened) {
		for n := 0; b.Loop(); n++ {
			workspacetest.MustWrite(b, state.Dir, "d1/s0/f1.go", fmt.Sprintf("change %d\n", n))
			workspacetest.MustTree(b, w, "001-x")
		}
	})
}

func BenchmarkCommit(b *testing.B) {
	for _, about := range []string{"", "+tasks"} {
		b.Run("code"+about, func(b *testing.B) {
			benchmark(b, func(b *testing.B, w pawl.Workspaces, state workspacetest.Opened) {
				if about != "" {
					workspacetest.MustWrite(b, state.Dir, ".pawl/tasks/001-x/plan.md", "plan\n")
				}
				parent := state.Head
				for n := 0; b.Loop(); n++ {
					workspacetest.MustWrite(b, state.Dir, "d1/s0/f1.go", fmt.Sprintf("change %d\n", n))
					parent = workspacetest.MustCommit(b, w, pawl.CommitSpec{
						Name: "001-x", Branch: "pawl/001-x", Parent: parent, Base: state.Head,
						Message: "Change", ID: fmt.Sprint(n), Time: time.Unix(int64(n), 0),
					}).Commit
				}
			})
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	benchmark(b, func(b *testing.B, w pawl.Workspaces, state workspacetest.Opened) {
		for n := 0; b.Loop(); n++ {
			name := fmt.Sprintf("%03d-new", n+2)
			workspacetest.MustOpen(b, w, pawl.WorkspaceSpec{Name: name, Branch: "pawl/" + name, Base: state.Head})
		}
	})
}

func BenchmarkReopen(b *testing.B) {
	benchmark(b, func(b *testing.B, w pawl.Workspaces, state workspacetest.Opened) {
		for b.Loop() {
			workspacetest.MustOpen(b, w, pawl.WorkspaceSpec{Name: "001-x", Branch: "pawl/001-x", Base: state.Head})
		}
	})
}

func BenchmarkReset(b *testing.B) {
	benchmark(b, func(b *testing.B, w pawl.Workspaces, state workspacetest.Opened) {
		for n := 0; b.Loop(); n++ {
			workspacetest.MustWrite(b, state.Dir, "d1/s0/f1.go", fmt.Sprintf("change %d\n", n))
			workspacetest.MustReset(b, w, "001-x", state.Head, fmt.Sprintf("refs/pawl/salvage/001-x/%d", n))
		}
	})
}

func BenchmarkCheckout(b *testing.B) {
	benchmark(b, func(b *testing.B, w pawl.Workspaces, state workspacetest.Opened) {
		for b.Loop() {
			_, release, err := w.Checkout(context.Background(), state.Head)
			if err != nil {
				b.Fatal(err)
			}
			release()
		}
	})
}

func BenchmarkWithFile(b *testing.B) {
	benchmark(b, func(b *testing.B, w pawl.Workspaces, state workspacetest.Opened) {
		for n := 0; b.Loop(); n++ {
			if _, err := w.WithFile(context.Background(), state.Tree, "d1/s0/f1.go", fmt.Appendf(nil, "change %d\n", n)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkFileAt(b *testing.B) {
	benchmark(b, func(b *testing.B, w pawl.Workspaces, state workspacetest.Opened) {
		for b.Loop() {
			if _, err := w.FileAt(context.Background(), state.Tree, "d1/s0/f1.go"); err != nil {
				b.Fatal(err)
			}
		}
	})
}
