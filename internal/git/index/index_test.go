package index_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl"
	"pawl/internal/git"
	"pawl/internal/git/index"
	"pawl/internal/testsize"
)

// apart is a folder that is kept beside the index.
const apart = pawl.TasksFolder

// repository is one with a folder that both git and an index record.
type repository struct {
	t      testing.TB
	repo   git.Repo // with an index that only git uses
	folder string
	stored map[string]git.Object
	began  string // a file that tells the time
}

func newRepository(t testing.TB) *repository {
	t.Helper()
	command, err := git.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	top := t.TempDir()
	r := &repository{t: t, folder: filepath.Join(top, "work"), stored: map[string]git.Object{}, began: filepath.Join(top, "began")}
	r.repo = git.Repo{Command: command, Dir: filepath.Join(top, "git")}
	for _, folder := range []string{r.folder, filepath.Join(r.repo.Dir, "objects"), filepath.Join(r.repo.Dir, "refs")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{ // what git init writes
		"HEAD": "ref: refs/heads/main\n", "config": "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n",
	} {
		if err := os.WriteFile(filepath.Join(r.repo.Dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r.repo.WorkTree, r.repo.Index = r.folder, filepath.Join(top, "index")
	return r
}

func (r *repository) Put(o git.Object) error {
	r.stored[o.Hash] = o
	return nil
}

// write writes a file, whatever is in its place.
func (r *repository) write(path, content string, mode os.FileMode) {
	r.t.Helper()
	at := r.room(path)
	if err := os.WriteFile(at, []byte(content), mode); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Chmod(at, mode); err != nil {
		r.t.Fatal(err)
	}
}

func (r *repository) link(path, to string) {
	r.t.Helper()
	r.remove(path)
	if err := os.Symlink(to, r.room(path)); err != nil {
		r.t.Fatal(err)
	}
}

// room makes the folders above a path, and removes what is at the path or is no folder above it.
func (r *repository) room(path string) string {
	r.t.Helper()
	at := r.folder
	parts := strings.Split(path, "/")
	for i, part := range parts {
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		if err == nil && (i == len(parts)-1 && !info.Mode().IsRegular() || i < len(parts)-1 && !info.IsDir()) {
			if err := os.RemoveAll(at); err != nil {
				r.t.Fatal(err)
			}
		}
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		r.t.Fatal(err)
	}
	return at
}

func (r *repository) remove(path string) {
	r.t.Helper()
	if err := os.RemoveAll(filepath.Join(r.folder, path)); err != nil && !errors.Is(err, syscall.ENOTDIR) {
		r.t.Fatal(err)
	}
}

// recorded is the tree that git records, without what is apart or with it.
func (r *repository) recorded(all bool) string {
	r.t.Helper()
	except := []string{apart}
	if info, err := os.Lstat(filepath.Join(r.folder, ".pawl")); all || err != nil || !info.IsDir() {
		except = nil
	}
	repo := r.repo
	if all {
		repo.Index += "-all"
		data, err := os.ReadFile(r.repo.Index)
		if err == nil {
			err = os.WriteFile(repo.Index, data, 0o644)
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
	if err := repo.AddAll(r.t.Context(), except...); err != nil {
		r.t.Fatal(err)
	}
	tree, err := repo.WriteTree(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return tree
}

// load reads git's index.
func (r *repository) load() *index.Index {
	r.t.Helper()
	x, err := index.Read(r.file())
	if err != nil {
		r.t.Fatal(err)
	}
	return x
}

func (r *repository) file() ([]byte, time.Time) {
	r.t.Helper()
	data, err := os.ReadFile(r.repo.Index)
	if err != nil {
		r.t.Fatal(err)
	}
	info, err := os.Stat(r.repo.Index)
	if err != nil {
		r.t.Fatal(err)
	}
	return data, info.ModTime()
}

func (r *repository) options() index.Options {
	r.t.Helper()
	if err := os.WriteFile(r.began, []byte("x"), 0o644); err != nil {
		r.t.Fatal(err)
	}
	info, err := os.Stat(r.began)
	if err != nil {
		r.t.Fatal(err)
	}
	return index.Options{
		Began: info.ModTime(), Apart: apart,
		Refused: func(path string) bool { return pawl.RefusedName(path) != "" },
		Ignored: r.repo.Ignored,
		MaxFile: 1 << 20, MaxBytes: 1 << 24, MaxUnknown: 1000,
	}
}

// update returns what the index finds, or the reason why git must do it.
func (r *repository) update(x *index.Index, change ...func(*index.Options)) (index.Tree, index.Reason) {
	r.t.Helper()
	o := r.options()
	for _, c := range change {
		c(&o)
	}
	tree, err := x.Update(r.t.Context(), r.folder, r, o)
	if u, ok := errors.AsType[*index.Unsupported](err); ok {
		return tree, u.Reason
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return tree, ""
}

func withApart(o *index.Options) { o.WithApart = true }

func only(path string) func(*index.Options) { return func(o *index.Options) { o.Only = path } }

// isFree reports whether a file can be written at a path without removing something.
func (r *repository) isFree(path string) bool {
	at := r.folder
	parts := strings.Split(path, "/")
	for i, part := range parts {
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		if err != nil {
			return true
		}
		if info.IsDir() != (i < len(parts)-1) || !info.IsDir() && !info.Mode().IsRegular() {
			return false
		}
	}
	return true
}

// fsck stores what the index stored and checks it with git.
func (r *repository) fsck(trees ...string) {
	r.t.Helper()
	for _, o := range r.stored {
		at := filepath.Join(r.repo.Dir, "objects", o.Hash[:2], o.Hash[2:])
		data, err := o.Loose()
		if err == nil {
			err = os.MkdirAll(filepath.Dir(at), 0o755)
		}
		if err == nil {
			_ = os.Remove(at)
			err = os.WriteFile(at, data, 0o444)
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
	if out, err := r.repo.Git(r.t.Context(), nil, append([]string{"fsck", "--strict", "--no-dangling"}, trees...)...); err != nil {
		r.t.Fatalf("git fsck: %v: %s", err, out)
	}
}

// Whatever is done to a folder, an index and git find the same tree.
func TestRandomTrees(t *testing.T) {
	for seed := range 220 { // each has six trees
		if !testsize.Case(seed, 2) {
			continue
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := newRepository(t)
			w := world{r, rand.New(rand.NewPCG(uint64(seed), 19)), &[]string{}}
			for range 20 {
				w.change()
			}
			r.recorded(false)
			x := r.load()
			for round := range 6 {
				all := w.IntN(3) == 0
				var options []func(*index.Options)
				if path := w.path(); w.IntN(3) == 0 && r.isFree(path) {
					r.write(path, w.content(), 0o644)
					options, all = append(options, only(path)), false
				} else {
					for range 1 + w.IntN(6) {
						w.change()
					}
				}
				if all {
					options = append(options, withApart)
				}
				tree, reason := r.update(x, options...)
				want := r.recorded(false)
				if reason != "" {
					t.Logf("round %d: left to git: %s", round, reason)
					x = r.load()
					continue
				}
				if tree.Hash != want {
					t.Fatalf("round %d: the index found %s, git %s:\n%s\n%v", round, tree.Hash, want, r.difference(tree.Hash, want), w.log)
				}
				if all {
					if want := r.recorded(true); tree.Full != want {
						t.Fatalf("round %d: with what is apart the index found %s, git %s:\n%s", round, tree.Full, want, r.difference(tree.Full, want))
					}
				}
				if w.IntN(3) == 0 { // git goes on with what the index wrote
					if err := os.WriteFile(r.repo.Index, x.Encode(false, apart), 0o644); err != nil {
						t.Fatal(err)
					}
					if got := r.recorded(false); got != want {
						t.Fatalf("round %d: git found %s by the index's file, and %s by its own", round, got, want)
					}
					x = r.load()
				}
			}
			r.fsck()
		})
	}
}

func (r *repository) difference(a, b string) string {
	r.fsck()
	out, err := r.repo.Git(context.Background(), nil, "diff-tree", "-r", a, b)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// world changes a folder at random.
type world struct {
	r *repository
	*rand.Rand
	log *[]string // what was done
}

func (w world) path() string {
	names := []string{"a", "b", "a.b", "a-b", "lib", "ü", "x y", "out", "deep", "out.o", "A", "\"q\"", "tab\tname"}
	parts := make([]string, 1+w.IntN(4))
	for i := range parts {
		parts[i] = names[w.IntN(len(names))]
	}
	if w.IntN(12) == 0 {
		parts = append([]string{".pawl", "tasks"}, parts...)
	}
	return strings.Join(parts, "/")
}

func (w world) content() string {
	return strings.Repeat(fmt.Sprintln("line", w.IntN(4)), w.IntN(3))
}

func (w world) change() {
	r := w.r
	switch w.IntN(20) {
	case 0:
		r.link(w.path(), []string{"a", "b/c", "..", "nowhere", "/etc/passwd"}[w.IntN(5)])
	case 1, 2:
		r.remove(w.path())
	case 3:
		r.write(w.path(), w.content(), 0o755)
	case 4:
		folder := ""
		if w.IntN(2) == 0 {
			folder = w.path() + "/"
		}
		rules := []string{"*.o", "/out", "out/", "!out.o", "lib/**/a", "a-b", "# nothing", "", "deep/", "*", "!*/", ".pawl"}
		w.Shuffle(len(rules), func(i, j int) { rules[i], rules[j] = rules[j], rules[i] })
		r.write(folder+".gitignore", strings.Join(rules[:w.IntN(4)], "\n")+"\n", 0o644)
	case 5:
		if w.IntN(4) == 0 {
			r.write(".gitattributes", []string{"* text=auto\n", "*.o binary\n", "a filter=x\n", "* -text diff=go\n"}[w.IntN(4)], 0o644)
		}
	case 6:
		r.write(w.path(), "a\r\nb\r\n", 0o644)
	case 7:
		path := w.path()
		r.remove(path)
		if err := os.MkdirAll(r.room(path+"/x"), 0o755); err != nil {
			r.t.Fatal(err)
		}
	default:
		r.write(w.path(), w.content(), 0o644)
	}
}
