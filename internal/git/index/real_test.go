//go:build linux

package index_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/git/index"
	"pawl/internal/testsize"
)

// Trees of real projects, before and after changes, with their own .gitattributes files.
func TestRealTrees(t *testing.T) {
	t.Parallel()
	modules := []string{ // that this one needs; those with attributes come first
		"charm.land/bubbletea/v2", "github.com/pelletier/go-toml/v2", "github.com/spf13/cobra", "github.com/klauspost/compress", "golang.org/x/crypto",
		"golang.org/x/text", "golang.org/x/sys", "golang.org/x/net", "github.com/goccy/go-yaml", "modernc.org/sqlite", "golang.org/x/tools",
	}
	rounds := testsize.Of(1, 3, 3)
	for i, module := range modules {
		if !testsize.Case(i, 3) {
			continue
		}
		t.Run(module, func(t *testing.T) {
			t.Parallel()
			out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
			from := strings.TrimSpace(string(out))
			if err != nil || from == "" {
				t.Skipf("the module is not there: %v", err)
			}
			r := newRepository(t)
			if err := os.CopyFS(r.folder, os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
			large := func(o *index.Options) { o.MaxFile, o.MaxBytes, o.MaxUnknown = 1<<30, 1<<30, 1<<20 }
			attributes := map[string]string{}
			for _, at := range r.files() {
				if path.Base(at) == ".gitattributes" {
					content, err := os.ReadFile(filepath.Join(r.folder, at))
					if err != nil {
						t.Fatal(err)
					}
					attributes[at] = string(content)
					r.remove(at)
				}
			}
			if _, err := r.repo.Git(t.Context(), nil, "read-tree", "--empty"); err != nil {
				t.Fatal(err)
			}
			x := r.load()
			r.wantSame(x, large)
			for at, content := range attributes {
				r.write(at, content, 0o644)
			}
			r.recorded(false)
			x = r.load()
			r.wantSame(x, large)
			here := 0
			for round := range rounds {
				r.edit(round)
				tree, reason := r.update(x, large)
				want := r.recorded(false)
				switch {
				case reason == index.ReasonAttributes && len(attributes) > 0:
					x = r.load()
					continue
				case reason != "" || tree.Hash != want:
					t.Errorf("round %d: the index found %q (%q), git %s:\n%s", round, tree.Hash, reason, want, r.difference(tree.Hash, want))
				}
				here++
				if err := os.WriteFile(r.repo.Index, x.Encode(false, apart), 0o644); err != nil {
					t.Fatal(err)
				}
				if got := r.recorded(false); got != want {
					t.Errorf("round %d: git found %s by the index's file, and %s by its own", round, got, want)
				}
				x = r.load()
			}
			if here < rounds {
				t.Logf("%d of %d recordings were left to git because of %d .gitattributes files", rounds-here, rounds, len(attributes))
			}
			r.fsck()
		})
	}
}

// files lists the files of the folder.
func (r *repository) files() (paths []string) {
	r.t.Helper()
	err := fs.WalkDir(os.DirFS(r.folder), ".", func(at string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			paths = append(paths, at)
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return paths
}

// edit changes some of the files.
func (r *repository) edit(round int) {
	r.t.Helper()
	for i, at := range r.files() {
		if strings.HasPrefix(path.Base(at), ".git") {
			continue
		}
		switch (i + round) % 17 {
		case 0:
			r.write(at, fmt.Sprintf("line of round %d\n", round), 0o644)
		case 5:
			r.remove(at)
		case 9:
			r.write(at+".new/"+path.Base(at), at, 0o755)
		case 13:
			r.link(at, "elsewhere")
		}
	}
}
