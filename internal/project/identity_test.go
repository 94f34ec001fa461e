package project_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pawl"
	"pawl/internal/project"
)

// ground is a state folder and repositories beside it, which are no more than git folders.
type ground struct {
	*testing.T
	dir string
}

func (g ground) repo(name string) pawl.Repository {
	root := filepath.Join(g.dir, name)
	return pawl.Repository{Root: root, GitDir: filepath.Join(root, ".git")}
}

func (g ground) begin(name string) pawl.Repository {
	g.Helper()
	repo := g.repo(name)
	if err := os.MkdirAll(repo.GitDir, 0o700); err != nil {
		g.Fatal(err)
	}
	return repo
}

// stored is the project of a repository, which has a log from then on.
func (g ground) stored(repo pawl.Repository) project.Project {
	g.Helper()
	p := g.at(repo)
	mustWrite(g, filepath.Join(p.Dir, "pawl.db"), "")
	return p
}

func (g ground) at(repo pawl.Repository) project.Project {
	g.Helper()
	p, err := project.At(g.dir, repo)
	if err != nil {
		g.Fatal(err)
	}
	if p.Repo.GitDir != repo.GitDir || p.Repo.Root != repo.Root || !p.Present() {
		g.Errorf("the project of %+v is of %+v, present: %t", repo, p.Repo, p.Present())
	}
	return p
}

func (g ground) move(from, to string) {
	g.Helper()
	if err := os.Rename(filepath.Join(g.dir, from), filepath.Join(g.dir, to)); err != nil {
		g.Fatal(err)
	}
}

func (g ground) copied(from, to string) pawl.Repository {
	g.Helper()
	if err := os.CopyFS(filepath.Join(g.dir, to), os.DirFS(filepath.Join(g.dir, from))); err != nil {
		g.Fatal(err)
	}
	return g.repo(to)
}

func (g ground) remove(name string) {
	g.Helper()
	if err := os.RemoveAll(filepath.Join(g.dir, name)); err != nil {
		g.Fatal(err)
	}
}

func (g ground) home() project.Home { return project.HomeAt(g.dir) }

func (g ground) refused(err error, code pawl.Code, words string) {
	g.Helper()
	if pawl.CodeOf(err) != code || !strings.Contains(err.Error(), words) {
		g.Errorf("got %v, want code %s and %q", err, code, words)
	}
}

// A repository that was moved keeps its runs, and no other one gets them. F-17
func TestIdentity(t *testing.T) {
	for name, test := range map[string]func(g ground){
		"Moved": func(g ground) {
			p := g.stored(g.begin("a"))
			g.move("a", "b")
			if p.Present() {
				g.Error("it is said to be where it was")
			}
			if q := g.at(g.repo("b")); q.Dir != p.Dir {
				g.Errorf("moved, it has %s and not %s", q.Dir, p.Dir)
			}
			g.move("b", "a")
			if q := g.at(g.repo("a")); q.Dir != p.Dir {
				g.Errorf("moved back, it has %s and not %s", q.Dir, p.Dir)
			}
		},
		"MovedAndAnotherTookItsPlace": func(g ground) {
			p := g.stored(g.begin("a"))
			g.move("a", "b")
			other := g.stored(g.begin("a"))
			if other.Dir == p.Dir {
				g.Error("another repository has its runs")
			}
			if q := g.at(g.repo("b")); q.Dir != p.Dir {
				g.Errorf("moved, it has %s and not %s", q.Dir, p.Dir)
			}
			if q := g.at(g.repo("a")); q.Dir != other.Dir {
				g.Errorf("the other one has %s and not %s", q.Dir, other.Dir)
			}
			// Two that changed places.
			g.move("a", "c")
			g.move("b", "a")
			g.move("c", "b")
			if q := g.at(g.repo("a")); q.Dir != p.Dir {
				g.Errorf("after the exchange it has %s and not %s", q.Dir, p.Dir)
			}
			if q := g.at(g.repo("b")); q.Dir != other.Dir {
				g.Errorf("after the exchange the other one has %s and not %s", q.Dir, other.Dir)
			}
		},
		"Copied": func(g ground) {
			p := g.stored(g.begin("a"))
			q := g.at(g.copied("a", "b"))
			if q.Dir == p.Dir {
				g.Fatal("a copy has its runs")
			}
			g.at(g.repo("a"))
			g.remove("a") // the copy is known by now
			if again := g.at(g.repo("b")); again.Dir != q.Dir {
				g.Errorf("the copy has %s and not %s", again.Dir, q.Dir)
			}
		},
		"OneRepositoryByTwoPaths": func(g ground) {
			p := g.stored(g.begin("a"))
			if err := os.Symlink(filepath.Join(g.dir, "a"), filepath.Join(g.dir, "b")); err != nil {
				g.Fatal(err)
			}
			for _, name := range []string{"b", "a", "b"} {
				if q := g.at(g.repo(name)); q.Dir != p.Dir {
					g.Errorf("%s has %s and not %s", name, q.Dir, p.Dir)
				}
			}
		},
		"CopiedAndTheFirstIsGone": func(g ground) {
			p := g.stored(g.begin("a"))
			b := g.copied("a", "b")
			c := g.copied("a", "c")
			g.remove("a")
			_, err := project.At(g.dir, b)
			g.refused(err, pawl.CodeState, "moved, or a copy")
			if err := g.home().Separate(c); err != nil {
				g.Fatal(err)
			}
			if q := g.at(c); q.Dir == p.Dir {
				g.Error("the copy has its runs")
			}
			g.refused(g.home().Separate(c), pawl.CodeState, "of its own already")
			q, err := g.home().Attach(b, "", "v1")
			if err != nil || q.Dir != p.Dir || g.at(b).Dir != p.Dir {
				g.Errorf("attached %s, %v, want %s", q.Dir, err, p.Dir)
			}
		},
		"CopiedBeforeThereWasARun": func(g ground) {
			p := g.at(g.begin("a"))
			g.copied("a", "b")
			g.remove("a")
			if q := g.at(g.repo("b")); q.Dir == p.Dir {
				g.Error("it has the folder of the first")
			}
		},
		"ClonedAgain": func(g ground) {
			p := g.stored(g.begin("a"))
			g.remove("a")
			a := g.begin("a")
			if q := g.at(a); q.Dir == p.Dir {
				g.Error("another repository has its runs")
			}
			if _, err := g.home().Attach(a, "", "v1"); err != nil {
				g.Fatal(err)
			}
			if q := g.at(a); q.Dir != p.Dir {
				g.Errorf("attached, it has %s and not %s", q.Dir, p.Dir)
			}
		},
		"Named": func(g ground) {
			first, second := g.stored(g.begin("a")), g.stored(g.begin("b"))
			c := g.begin("c")
			_, err := g.home().Attach(c, "", "v1")
			g.refused(err, pawl.CodeNotFound, "no runs are stored")
			_, err = g.home().Attach(c, first.Repo.Root, "v1")
			g.refused(err, pawl.CodeConflict, "still there")
			g.remove("a")
			g.remove("b")
			_, err = g.home().Attach(c, "", "v1")
			g.refused(err, pawl.CodeNotFound, "was this one")
			_, err = g.home().Attach(c, filepath.Join(g.dir, "d"), "v1")
			g.refused(err, pawl.CodeNotFound, "was this one")
			lock, err := second.Lock("v1")
			if err != nil {
				g.Fatal(err)
			}
			_, err = g.home().Attach(c, second.Repo.Root, "v1")
			g.refused(err, pawl.CodeConflict, "has this project")
			if err := lock.Release(); err != nil {
				g.Fatal(err)
			}
			if q, err := g.home().Attach(c, second.Repo.Root, "v1"); err != nil || q.Dir != second.Dir {
				g.Fatalf("attached %s, %v", q.Dir, err)
			}
			_, err = g.home().Attach(c, filepath.Base(first.Dir), "v1")
			g.refused(err, pawl.CodeState, "runs of its own")
			if q := g.at(c); q.Dir != second.Dir {
				g.Errorf("it has %s and not %s", q.Dir, second.Dir)
			}
		},
		"OfAnOlderPawl": func(g ground) { // which knew places only
			a := g.begin("a")
			p := g.stored(a)
			about, err := os.ReadFile(filepath.Join(p.Dir, "project.json"))
			if err != nil {
				g.Fatal(err)
			}
			older := about[:strings.Index(string(about), ",\n  \"identity\"")]
			mustWrite(g, filepath.Join(p.Dir, "project.json"), string(older)+"\n}\n")
			if err := os.Remove(filepath.Join(a.GitDir, "pawl-id")); err != nil {
				g.Fatal(err)
			}
			if q := g.at(a); q.Dir != p.Dir {
				g.Errorf("it has %s and not %s", q.Dir, p.Dir)
			}
			g.move("a", "b")
			if q := g.at(g.repo("b")); q.Dir != p.Dir {
				g.Errorf("moved, it has %s and not %s", q.Dir, p.Dir)
			}
		},
		"WhoseIdentityCannotBeRead": func(g ground) {
			a := g.begin("a")
			p := g.stored(a)
			mustWrite(g, filepath.Join(a.GitDir, "pawl-id"), "../../etc")
			if q := g.at(a); q.Dir != p.Dir {
				g.Errorf("it has %s and not %s", q.Dir, p.Dir)
			}
		},
	} {
		t.Run(name, func(t *testing.T) { test(ground{t, t.TempDir()}) })
	}
}

// Nobody else can read what a repository is known by, and so make theirs look like it.
// Processes that open a new repository at the same time agree on its state folder.
func TestIdentityRace(t *testing.T) {
	for range 100 {
		top := t.TempDir()
		repo := pawl.Repository{Root: top, GitDir: filepath.Join(top, ".git")}
		if err := os.Mkdir(repo.GitDir, 0o755); err != nil {
			t.Fatal(err)
		}
		ids := make([]string, 8)
		var wg sync.WaitGroup
		for i := range ids {
			wg.Go(func() {
				p, err := project.At(filepath.Join(top, "state"), repo)
				if err != nil {
					t.Error(err)
				}
				ids[i] = p.ID()
			})
		}
		wg.Wait()
		slices.Sort(ids)
		if ids = slices.Compact(ids); len(ids) > 1 {
			t.Fatalf("the project is %q", ids)
		}
	}
}

func TestIdentityIsPrivate(t *testing.T) {
	g := ground{t, t.TempDir()}
	a := g.begin("a")
	g.at(a)
	if mode := permissions(t, filepath.Join(a.GitDir, "pawl-id")); mode != 0o600 {
		t.Errorf("permissions %o, want 600", mode)
	}
}
