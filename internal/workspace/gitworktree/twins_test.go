package gitworktree_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/git/index"
	"pawl/internal/testsize"
	"pawl/internal/workspace/gitworktree"
	"pawl/internal/workspace/workspacetest"
)

// twin is one of two equal repositories, with a worktree. In one of them git makes all
// recordings.
type twin struct {
	r    *repository
	w    *gitworktree.Workspaces
	dir  string
	here int // recordings in this process, by Workspaces that were given up
	by   map[index.Reason]int
}

// twins are called alike and must answer alike.
type twins struct {
	t     *testing.T
	both  [2]*twin
	base  pawl.CommitHash
	head  pawl.CommitHash
	calls int
}

func newTwins(t *testing.T, joined bool, files map[string]string) *twins {
	t.Helper()
	p := &twins{t: t}
	for i := range p.both {
		r := newRepository(t, files)
		r.joined, r.byGit = joined, i == 1
		workspacetest.MustWrite(t, r.root, ".git/info/exclude", "# mine\n*.mine\n")
		users := ""
		p.both[i] = &twin{r: r, by: map[index.Reason]int{}}
		t.Cleanup(func() {
			if after := r.users(t); users != "" && after != users {
				t.Errorf("the user's checkout changed:\n%s", cmp.Diff(users, after))
			}
			r.git(t, "fsck", "--strict", "--no-dangling")
		})
		users = r.users(t)
	}
	p.restart()
	p.base = p.both[0].r.base(t)
	p.head = p.base
	p.open()
	return p
}

// restart goes on with new Workspaces, as a new process would.
func (p *twins) restart() {
	p.t.Helper()
	for _, one := range p.both {
		one.count()
		one.w = one.r.open(p.t, nil)
	}
}

// count adds the recordings of the present Workspaces.
func (one *twin) count() {
	if one.w == nil {
		return
	}
	n := one.w.Recordings()
	one.here += n.Here
	for why, times := range n.ByGit {
		one.by[why] += times
	}
}

func (p *twins) open() {
	p.t.Helper()
	p.same("open", func(w *gitworktree.Workspaces) (any, error) {
		return w.Open(context.Background(), pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: p.base})
	})
	for _, one := range p.both {
		one.dir = workspacetest.MustLocate(p.t, one.w, runName)
	}
}

// same calls both and returns the answer.
func (p *twins) same(doing string, call func(w *gitworktree.Workspaces) (any, error)) any {
	p.t.Helper()
	p.calls++
	var answers [2]string
	var first any
	for i, one := range p.both {
		answer, err := call(one.w)
		if i == 0 {
			first = answer
		}
		answers[i] = strings.ReplaceAll(fmt.Sprintf("%+v %v %v", answer, err, pawl.CodeOf(err)), one.r.top(), "TOP")
		if err != nil {
			p.t.Fatalf("call %d, %s: %v", p.calls, doing, err)
		}
	}
	if diff := cmp.Diff(answers[1], answers[0]); diff != "" {
		p.t.Fatalf("call %d, %s (-git +here):\n%s", p.calls, doing, diff)
	}
	return first
}

// each does the same to both.
func (p *twins) each(do func(one *twin)) {
	for _, one := range p.both {
		do(one)
	}
}

func (p *twins) tree(wrote ...string) {
	p.t.Helper()
	p.same(fmt.Sprint("tree", wrote), func(w *gitworktree.Workspaces) (any, error) { return w.Tree(context.Background(), runName, wrote...) })
}

func (p *twins) commit() {
	p.t.Helper()
	id := fmt.Sprint(p.calls)
	info := p.same("commit", func(w *gitworktree.Workspaces) (any, error) {
		return w.Commit(context.Background(), next(p.base, p.head, id))
	}).(pawl.CommitInfo)
	r := p.both[0].r
	want := ""
	if patch := r.git(p.t, "diff-tree", "-r", "--no-renames", "--full-index", "-p", string(p.base), string(info.Commit), "--", ".", ":(exclude,literal)"+pawl.TasksFolder); patch != "" {
		at := filepath.Join(p.t.TempDir(), "patch")
		if err := os.WriteFile(at, []byte(patch+"\n"), 0o644); err != nil {
			p.t.Fatal(err)
		}
		want = r.git(p.t, "-c", "alias.id=!git patch-id --verbatim <"+at, "id")
		want, _, _ = strings.Cut(want, " ")
	}
	if info.PatchID != want {
		p.t.Errorf("the patch id is %q, git says %q", info.PatchID, want)
	}
	p.head = info.Commit
	p.same("look at the refs", func(w *gitworktree.Workspaces) (any, error) {
		for _, one := range p.both {
			if one.w == w {
				return one.r.git(p.t, "for-each-ref") + one.r.gitIn(p.t, one.dir, "status", "--short"), nil
			}
		}
		return nil, nil
	})
}

// change changes a file at random. It returns the path of one that was written.
func (p *twins) change(random *rand.Rand) string {
	names := []string{"a", "b", "lib", "x.o", "y.mine", "c d", "ü", "new\nline"}
	parts := []string{names[random.IntN(len(names))]}
	for random.IntN(2) == 0 {
		parts = append(parts, names[random.IntN(len(names))])
	}
	path := strings.Join(parts, "/")
	kind, number := random.IntN(14), random.IntN(5)
	content := strings.Repeat(fmt.Sprintf("line %d\n", number), random.IntN(4))
	wrote := ""
	p.each(func(one *twin) {
		switch kind {
		case 0:
			workspacetest.MustWrite(p.t, one.dir, ".gitignore", []string{"*.o\n", "lib/\n", "\n", "!x.o\n", "b\n"}[number])
		case 1:
			workspacetest.MustWrite(p.t, one.dir, fmt.Sprintf(".pawl/tasks/001/%d.md", number), content)
		case 2:
			if err := os.RemoveAll(filepath.Join(one.dir, path)); err != nil && !errors.Is(err, syscall.ENOTDIR) {
				p.t.Fatal(err)
			}
		case 3:
			workspacetest.MustRemove(p.t, one.dir, parts[0])
			if err := os.Symlink("target"+content, filepath.Join(one.dir, parts[0])); err != nil {
				p.t.Fatal(err)
			}
		default:
			wrote = path
			for n := range parts { // no file above it, and no folder in its place
				at := filepath.Join(one.dir, filepath.Join(parts[:n+1]...))
				if info, err := os.Lstat(at); err == nil && (info.IsDir() != (n < len(parts)-1) || info.Mode()&os.ModeSymlink != 0) {
					if err := os.RemoveAll(at); err != nil {
						p.t.Fatal(err)
					}
				}
			}
			workspacetest.MustWrite(p.t, one.dir, path, content)
			if err := os.Chmod(filepath.Join(one.dir, path), 0o644+os.FileMode(kind%2)*0o111); err != nil {
				p.t.Fatal(err)
			}
		}
	})
	return wrote
}

// step does one thing at random.
func (p *twins) step(random *rand.Rand) {
	p.t.Helper()
	path := p.change(random)
	for range random.IntN(3) {
		p.change(random)
		path = ""
	}
	ref := fmt.Sprintf("refs/pawl/salvage/%s/%d", runName, p.calls)
	switch random.IntN(16) {
	case 0, 1, 2, 3:
		p.commit()
	case 4:
		p.same("reset", func(w *gitworktree.Workspaces) (any, error) {
			return w.Reset(context.Background(), runName, p.head, ref)
		})
	case 5:
		p.same("keep", func(w *gitworktree.Workspaces) (any, error) {
			found, saved, err := w.Keep(context.Background(), runName, ref)
			return []any{found, saved}, err
		})
	case 6:
		p.same("show", func(w *gitworktree.Workspaces) (any, error) {
			return w.Show(context.Background(), runName, p.base, ref)
		})
		p.open()
		p.same("go back", func(w *gitworktree.Workspaces) (any, error) {
			return w.Reset(context.Background(), runName, p.head, ref+"b")
		})
	case 7:
		p.restart()
		p.open()
	case 8:
		p.each(func(one *twin) { one.r.git(p.t, "prune", "--expire=now") })
		p.tree()
	case 9:
		p.same("close", func(w *gitworktree.Workspaces) (any, error) { return w.Close(context.Background(), runName, ref) })
		p.open()
	case 10:
		p.each(func(one *twin) { one.w.Rest() })
		p.tree()
	default:
		if path == "" {
			p.tree()
		} else {
			p.tree(path)
		}
	}
}

// Whatever is called in whatever order, the answers are the same whether recordings are made
// in this process or by git: trees, commits, what is known of them, and refs.
func TestTwins(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		".gitignore": "build/\n", "README": "A project.\n", "lib/a.txt": "one\n", "lib/b/c": "c\n", ".pawl/tasks/000/report.md": "Done.\n",
	}
	const seeds = 6
	steps := testsize.Of(6, 30, 30)
	for seed := range seeds {
		for i, joined := range []bool{false, true} {
			if !testsize.Case(2*seed+i, 2) {
				continue
			}
			t.Run(fmt.Sprintf("joined=%v/%d", joined, seed), func(t *testing.T) {
				t.Parallel()
				p := newTwins(t, joined, files)
				random := rand.New(rand.NewPCG(uint64(seed), 41))
				for range steps {
					p.step(random)
				}
				p.commit()
				p.each((*twin).count)
				if git := p.both[1]; git.here > 0 || !maps.Equal(git.by, map[index.Reason]int{index.ReasonSystem: git.by[index.ReasonSystem]}) {
					t.Errorf("git was to make all recordings; %d were made here, and by git %v", git.here, git.by)
				}
				here := p.both[0]
				t.Logf("%d calls, %d recordings here, by git %v", p.calls, here.here, here.by)
				for why := range here.by {
					if !slices.Contains([]index.Reason{index.ReasonMissing, index.ReasonUnreadable, index.ReasonVersion, index.ReasonIgnored, index.ReasonName}, why) {
						t.Errorf("recordings were left to git because of %s", why)
					}
				}
				if here.here < steps/2 {
					t.Errorf("only %d recordings were made here", here.here)
				}
			})
		}
	}
}
