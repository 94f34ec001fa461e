package instructions_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"pawl"
	"pawl/internal/git"
	"pawl/internal/instructions"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// repository is a repository with a worktree, and a commit of what was in it.
type repository struct {
	git.Repo
	commit pawl.CommitHash
}

// linkTo marks the content of a symbolic link.
const linkTo = "-> "

// mustCommit makes a repository with one commit.
// reader reads the repository until the test ends.
func (r repository) reader(tb testing.TB) *git.Resident {
	tb.Helper()
	k := r.Resident(time.Minute)
	tb.Cleanup(func() {
		if err := k.Close(); err != nil {
			tb.Error(err)
		}
	})
	return k
}

func mustCommit(tb testing.TB, files map[string]string) repository {
	tb.Helper()
	ctx := context.Background()
	command, err := git.Find(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	top := tb.TempDir()
	dir := filepath.Join(top, "git")
	if err := (git.Repo{Command: command, Dir: dir}).Create(ctx, "sha1"); err != nil {
		tb.Fatal(err)
	}
	work := git.Repo{Command: command, Dir: dir, WorkTree: filepath.Join(top, "files"), Index: filepath.Join(top, "index")}
	r := repository{Repo: git.Repo{Command: command, Dir: dir}}
	mustWrite(tb, work.WorkTree, files)
	if err := work.AddAll(ctx); err != nil {
		tb.Fatal(err)
	}
	tree, err := work.WriteTree(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	commit, err := work.WriteCommit(ctx, tree, nil, "Begin\n", time.Unix(1_780_000_000, 0))
	if err != nil {
		tb.Fatal(err)
	}
	r.commit = pawl.CommitHash(commit)
	return r
}

func mustWrite(tb testing.TB, dir string, files map[string]string) {
	tb.Helper()
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			tb.Fatal(err)
		}
		var err error
		if to, isLink := strings.CutPrefix(text, linkTo); isLink {
			err = os.Symlink(to, at)
		} else {
			err = os.WriteFile(at, []byte(text), 0o600)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
}

func mustRead(tb testing.TB, r repository) pawl.Instructions {
	tb.Helper()
	got, err := instructions.Read(tb.Context(), r.reader(tb), r.commit, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return got
}

// outline is a line for each file: its path, the folder it holds for, and its text.
func outline(got pawl.Instructions) []string {
	texts := map[pawl.Hash]string{}
	for _, b := range got.Texts {
		texts[b.Hash()] = strings.TrimSpace(string(b.Data()))
	}
	var out []string
	for _, f := range got.Files {
		text, shown := texts[f.Blob]
		if !shown {
			text = "-"
		}
		out = append(out, fmt.Sprintf("%s [%s] %s", f.Path, f.Folder, text))
	}
	return out
}

func TestRead(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"None": {map[string]string{"README.md": "A shop.", "docs/AGENTS.txt": "x", "agents.md": "x"}, nil},
		"Kinds": {map[string]string{
			"AGENTS.md": "a", "CLAUDE.md": "b", ".github/copilot-instructions.md": "c", ".cursorrules": "d",
			".cursor/rules/z.mdc": "f", ".cursor/rules/deep/y.md": "e", ".cursor/rules/no.txt": "no", ".cursor/mcp.json": "no",
			"web/copilot-instructions.md": "no",
		}, []string{"AGENTS.md [] a", "CLAUDE.md [] b", ".github/copilot-instructions.md [] c", ".cursorrules [] d",
			".cursor/rules/deep/y.md [] e", ".cursor/rules/z.mdc [] f"}},
		"Nested": {map[string]string{
			"web/app/AGENTS.md": "app", "web/AGENTS.md": "web", "AGENTS.md": "root", "api/CLAUDE.md": "api", "web/.cursor/rules/x.mdc": "rule",
			"web/.claude/CLAUDE.md": "claude",
		}, []string{"AGENTS.md [] root", "api/CLAUDE.md [api] api", "web/AGENTS.md [web] web", "web/.claude/CLAUDE.md [web] claude",
			"web/.cursor/rules/x.mdc [web] rule", "web/app/AGENTS.md [web/app] app"}},
		"OfOtherProjects": {map[string]string{"vendor/x/AGENTS.md": "x", "web/node_modules/y/CLAUDE.md": "y", "vendored/AGENTS.md": "z"},
			[]string{"vendored/AGENTS.md [vendored] z"}},
		"SameText": {map[string]string{"AGENTS.md": "a\n", "CLAUDE.md": "a\n\n", "web/AGENTS.md": "b"},
			[]string{"AGENTS.md [] a", "CLAUDE.md [] a", "web/AGENTS.md [web] b"}},
		"Empty": {map[string]string{"AGENTS.md": " \n\n", "CLAUDE.md": "b"}, []string{"CLAUDE.md [] b"}},
		"Import": {map[string]string{"AGENTS.md": "a", "CLAUDE.md": "@AGENTS.md\n- style: @docs/style.md.\n", "docs/style.md": "s, see @more/names.md", "docs/more/names.md": "n",
			"web/CLAUDE.md": "@../docs/style.md @./own.md", "web/own.md": "o"},
			[]string{"AGENTS.md [] a", "CLAUDE.md [] @AGENTS.md\n- style: @docs/style.md.", "docs/style.md [] s, see @more/names.md", "docs/more/names.md [] n",
				"web/CLAUDE.md [web] @../docs/style.md @./own.md", "web/own.md [web] o"}},
		"ImportOfNothing": {map[string]string{"CLAUDE.md": "@../outside.md @/etc/passwd @~/.ssh/id @docs @none.md mail@a.md `@a.md`\n```\n@a.md\n```\n@", "a.md": "no", "docs/x": "no"},
			[]string{"CLAUDE.md [] @../outside.md @/etc/passwd @~/.ssh/id @docs @none.md mail@a.md `@a.md`\n```\n@a.md\n```\n@"}},
		"ImportOfItself": {map[string]string{"AGENTS.md": "@b.md @AGENTS.md", "b.md": "@AGENTS.md"}, []string{"AGENTS.md [] @b.md @AGENTS.md", "b.md [] @AGENTS.md"}},
		"ImportsWithinImports": {map[string]string{"AGENTS.md": "@1", "1": "@2", "2": "@3", "3": "@4", "4": "@5", "5": "@6", "6": "too deep"},
			[]string{"AGENTS.md [] @1", "1 [] @2", "2 [] @3", "3 [] @4", "4 [] @5", "5 [] @6"}},
		"Link": {map[string]string{"AGENTS.md": "a", "CLAUDE.md": linkTo + "AGENTS.md", "web/AGENTS.md": linkTo + "../docs/web.md", "docs/web.md": "@web2.md", "docs/web2.md": "w",
			"api/AGENTS.md": linkTo + "../shared/api.md", "shared": linkTo + "docs", "docs/api.md": "p"},
			[]string{"AGENTS.md [] a", "CLAUDE.md [] a", "api/AGENTS.md [api] p", "web/AGENTS.md [web] @web2.md", "docs/web2.md [web] w"}},
		"LinkToNothing": {map[string]string{"AGENTS.md": linkTo + "../../etc/passwd", "CLAUDE.md": linkTo + "/etc/passwd", ".cursorrules": linkTo + "docs", "docs/AGENTS.md": linkTo + "CLAUDE.md",
			"docs/CLAUDE.md": linkTo + "AGENTS.md", "web/AGENTS.md": linkTo + "gone",
			".github/copilot-instructions.md": linkTo + "/real.md", ".github/real.md": "not at the root"},
			[]string{"AGENTS.md [] -", "CLAUDE.md [] -", ".github/copilot-instructions.md [] -", ".cursorrules [] -", "docs/AGENTS.md [docs] -", "docs/CLAUDE.md [docs] -", "web/AGENTS.md [web] -"}},
		"Hostile": {map[string]string{"AGENTS.md": "a\x1b[2J\u202e\U000e0041b\xffc\r\nd", "CLAUDE.md": "bin\x00ary"},
			[]string{"AGENTS.md [] ab\ufffdc\nd", "CLAUDE.md [] -"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := mustRead(t, mustCommit(t, test.files))
			if diff := cmp.Diff(test.want, outline(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			seen := map[pawl.Hash]bool{}
			for _, b := range got.Texts {
				if seen[b.Hash()] {
					t.Errorf("the text %q is there twice", b.Data())
				}
				seen[b.Hash()] = true
			}
		})
	}
}

// What stands in a folder that somebody may be writing in is not read.
func TestReadsTheCommit(t *testing.T) {
	r := mustCommit(t, map[string]string{"AGENTS.md": "as committed"})
	mustWrite(t, filepath.Join(filepath.Dir(r.Dir), "files"), map[string]string{"AGENTS.md": "edited", "CLAUDE.md": "new"})
	if diff := cmp.Diff([]string{"AGENTS.md [] as committed"}, outline(mustRead(t, r))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := instructions.Read(t.Context(), r.reader(t), pawl.CommitHash(strings.Repeat("0", 40)), nil); err == nil {
		t.Error("a commit that is not there tells nothing, and that is no error")
	}
}

// The limits on what agents are shown, in bytes and files, as the documents say them.
const (
	maxFile, maxAll = 32_000, 64_000
	maxFiles        = 50
)

func size(got pawl.Instructions) int {
	n := 0
	for _, b := range got.Texts {
		n += len(b.Data())
	}
	return n
}

func TestLimits(t *testing.T) {
	lines := func(n int, text string) string { return strings.Repeat(text+"\n", n/(len(text)+1)) }
	t.Run("File", func(t *testing.T) {
		for _, text := range []string{lines(10<<20, "rules"), strings.Repeat("é", 5<<20)} {
			got := mustRead(t, mustCommit(t, map[string]string{"AGENTS.md": text}))
			f := got.Files[0]
			if n := size(got); n > maxFile || n < maxFile-10 || f.Cut != int64(n) || f.Bytes != int64(len(text)) || !utf8.Valid(got.Texts[0].Data()) {
				t.Errorf("%d bytes are shown of %+v", n, f)
			}
		}
		exact := lines(2*maxFile, "12345678")[:maxFile-1] + "\n"
		if got := mustRead(t, mustCommit(t, map[string]string{"AGENTS.md": exact})); got.Files[0].Cut != 0 || size(got) > maxFile {
			t.Errorf("a file of %d bytes is cut: %+v", len(exact), got.Files[0])
		}
	})
	t.Run("All", func(t *testing.T) {
		got := mustRead(t, mustCommit(t, map[string]string{"AGENTS.md": lines(30_000, "a"), "CLAUDE.md": lines(30_000, "b"), "api/AGENTS.md": lines(30_000, "c"), "web/AGENTS.md": lines(30_000, "d")}))
		if n := size(got); n > maxAll || n < maxAll-10 || got.Files[0].Cut != 0 || got.Files[2].Cut != 4000 || !got.Files[3].Blob.IsZero() || got.Files[3].Bytes != 30_000 {
			t.Errorf("%d bytes are shown: %+v", n, got.Files)
		}
	})
	t.Run("AllButLittle", func(t *testing.T) {
		same := lines(32_000, "a")
		got := mustRead(t, mustCommit(t, map[string]string{"AGENTS.md": same, "CLAUDE.md": lines(31_600, "b"), "api/AGENTS.md": lines(30_000, "c"), "web/AGENTS.md": same}))
		if api, web := got.Files[2], got.Files[3]; !api.Blob.IsZero() || api.Cut != 0 || web.Blob != got.Files[0].Blob || web.Cut != 0 {
			t.Errorf("%d bytes are shown: %+v", size(got), got.Files)
		}
	})
	t.Run("Files", func(t *testing.T) {
		files, nested := map[string]string{"CLAUDE.md": "root"}, 5000
		if testing.Short() {
			nested = 200
		}
		for i := range nested {
			files[fmt.Sprintf("d%02d/p%04d/AGENTS.md", i%100, i)] = fmt.Sprintf("package %d\n", i)
		}
		got := mustRead(t, mustCommit(t, files))
		if len(got.Files) != maxFiles || got.More != nested+1-maxFiles || got.Files[0].Path != "CLAUDE.md" {
			t.Errorf("%d files are listed and %d more counted, the first is %+v", len(got.Files), got.More, got.Files[0])
		}
	})
	t.Run("Path", func(t *testing.T) {
		got := mustRead(t, mustCommit(t, map[string]string{strings.Repeat("deep-deep/", 51) + "AGENTS.md": "x", "AGENTS.md": "a"}))
		if len(got.Files) != 1 || got.More != 1 {
			t.Errorf("files %+v and %d more", got.Files, got.More)
		}
	})
}

// A secret goes before a text is cut, so that no part of it is left at the cut.
func TestSecretsAreTakenOut(t *testing.T) {
	const secret = "sk-abcdefghijklmnopqrstuvwxyz"
	text := strings.Repeat("x", maxFile-10) + secret + strings.Repeat("y", 100_000)
	r := mustCommit(t, map[string]string{"AGENTS.md": "The key is " + secret, "CLAUDE.md": text})
	got, err := instructions.Read(t.Context(), r.reader(t), r.commit, func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(secret), []byte("[KEY]")) })
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Texts) != 2 || string(got.Texts[0].Data()) != "The key is [KEY]\n" || bytes.Contains(got.Texts[1].Data(), []byte("sk-")) {
		t.Errorf("the texts are %.100q and end with %q", got.Texts[0].Data(), got.Texts[1].Data()[maxFile-30:])
	}
}
