package git_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"pawl"
	"pawl/internal/git"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mustRepo makes an empty repository with a worktree and an index.
func mustRepo(tb testing.TB, command *git.Command) git.Repo {
	tb.Helper()
	top := tb.TempDir()
	r := git.Repo{
		Command: command, Dir: filepath.Join(top, "git"), WorkTree: filepath.Join(top, "files"), Index: filepath.Join(top, "index"),
	}
	if err := os.Mkdir(r.WorkTree, 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := (git.Repo{Command: command, Dir: r.Dir}).Create(context.Background(), "sha1"); err != nil {
		tb.Fatal(err)
	}
	return r
}

func mustFind(tb testing.TB) *git.Command {
	tb.Helper()
	command, err := git.Find(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	return command
}

// mustTree records the files, and only them, as a tree.
func mustTree(tb testing.TB, r git.Repo, files map[string]string) string {
	tb.Helper()
	ctx := context.Background()
	if err := os.RemoveAll(r.WorkTree); err != nil {
		tb.Fatal(err)
	}
	if err := os.Mkdir(r.WorkTree, 0o755); err != nil {
		tb.Fatal(err)
	}
	for path, content := range files {
		at := filepath.Join(r.WorkTree, path)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(content), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	if err := r.AddAll(ctx); err != nil {
		tb.Fatal(err)
	}
	tree, err := r.WriteTree(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	return tree
}

// mustCommit records the files, and only them, as a commit.
func mustCommit(tb testing.TB, r git.Repo, files map[string]string, parents ...string) string {
	tb.Helper()
	commit, err := r.WriteCommit(context.Background(), mustTree(tb, r, files), parents, "Test\n\nBody\n", time.Unix(1_780_000_000, 0))
	if err != nil {
		tb.Fatal(err)
	}
	return commit
}

func TestFind(t *testing.T) {
	for version, ok := range map[string]bool{
		"2.39.5": true, "2.40.0.windows.1": true, "3.0": true, "2.9.1": false, "2.38.9": false, "1.99": false, "nonsense": false,
	} {
		t.Run(version, func(t *testing.T) {
			dir := t.TempDir()
			script := "#!/bin/sh\necho git version " + version + "\n"
			if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", dir)
			_, err := git.Find(context.Background())
			if ok && err != nil || !ok && pawl.CodeOf(err) != pawl.CodeUnavailable {
				t.Errorf("error is %v", err)
			}
		})
	}
	t.Run("another in its place", func(t *testing.T) {
		dir := t.TempDir()
		t.Setenv("PATH", dir)
		for _, version := range []string{"2.40", "2.38", "2.41"} { // the same size, maybe at the same time
			program := filepath.Join(dir, "git")
			script := "#!/bin/sh\necho git version " + version + "\n"
			if err := errors.Join(os.WriteFile(program+".new", []byte(script), 0o755), os.Rename(program+".new", program)); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if _, err := git.Find(t.Context()); (err == nil) != (version != "2.38") {
					t.Errorf("%s: error is %v", version, err)
				}
			}
		}
	})
	t.Run("nothing", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		if _, err := git.Find(context.Background()); pawl.CodeOf(err) != pawl.CodeUnavailable {
			t.Errorf("error is %v, want the code unavailable", err)
		}
	})
}

// No variable of this process reaches git but those that are named, and what is
// named wins over every file.
func TestEnvironment(t *testing.T) {
	for _, name := range []string{"GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_CONFIG_PARAMETERS", "SECRET_TOKEN"} {
		t.Setenv(name, "inherited")
	}
	command := mustFind(t)
	var env []string
	command.Exec = func(cmd *exec.Cmd, run func(*exec.Cmd) error) error {
		env = cmd.Env
		return run(cmd)
	}
	r := mustRepo(t, command)
	commit := mustCommit(t, r, map[string]string{"a": "a\n"})
	if all := strings.Join(env, "\n"); strings.Contains(all, "inherited") || strings.Contains(all, "HOME=") {
		t.Errorf("the environment is\n%s", all)
	}
	for _, want := range []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_DIR=" + r.Dir, "GIT_AUTHOR_DATE=@1780000000 +0000"} {
		if !slices.Contains(env, want) {
			t.Errorf("the environment lacks %s", want)
		}
	}
	command.Name, command.Email = "Somebody", "somebody@example.com"
	if other := mustCommit(t, r, map[string]string{"a": "a\n"}); other == commit {
		t.Error("another identity gives the same commit")
	}

	t.Setenv("HOME", "/home/of/the/user")
	if _, err := command.Discover(t.TempDir()).Git(context.Background(), nil, "rev-parse", "--git-dir"); err == nil {
		t.Error("a repository was found where there is none")
	}
	if !slices.Contains(env, "HOME=/home/of/the/user") || slices.Contains(env, "GIT_CONFIG_GLOBAL=/dev/null") || strings.Contains(strings.Join(env, "\n"), "inherited") {
		t.Errorf("the environment of discovery is\n%s", strings.Join(env, "\n"))
	}
}

func TestObjects(t *testing.T) {
	ctx := context.Background()
	command := mustFind(t)
	r := mustRepo(t, command)
	base := mustCommit(t, r, map[string]string{"a": "a\n", "dir/b": "b\n"})
	commit := mustCommit(t, r, map[string]string{"a": "a\n", "dir/b": "b\n", "empty": ""}, base)
	if err := r.MoveRef(ctx, "refs/heads/x", commit, "", "test"); err != nil {
		t.Fatal(err)
	}
	read(t, r, func(objects *git.Objects) {
		got, err := objects.Commit("refs/heads/x")
		if want := (git.Commit{Hash: commit, Tree: got.Tree, Parents: []string{base}, Message: "Test\n\nBody\n", Time: time.Unix(1_780_000_000, 0)}); err != nil || !cmp.Equal(want, got) {
			t.Errorf("commit is %+v, %v", got, err)
		}
		for _, missing := range []string{"refs/heads/none", strings.Repeat("1", 40), "two\nlines", got.Tree[:39] + "!"} {
			if _, err := objects.Get(missing); !errors.Is(err, git.ErrMissing) {
				t.Errorf("%q: error is %v, want ErrMissing", missing, err)
			}
		}
		if _, err := objects.Commit(got.Tree); !errors.Is(err, git.ErrMissing) {
			t.Errorf("a tree as a commit: error is %v, want ErrMissing", err)
		}
		byCommit, err := objects.Tree(commit)
		if err != nil {
			t.Fatal(err)
		}
		byTree, err := objects.Tree(got.Tree)
		if err != nil || !cmp.Equal(byCommit, byTree) || len(byTree) != 3 {
			t.Errorf("tree is %+v and %+v, %v", byCommit, byTree, err)
		}
		if byTree[1].Mode != git.ModeTree || byTree[1].Name != "dir" || byTree[0].Mode != git.ModeFile {
			t.Errorf("tree is %+v", byTree)
		}
		if empty, err := objects.Get(byTree[2].Hash); err != nil || empty.Data == nil || len(empty.Data) > 0 {
			t.Errorf("the empty file is %q, %v", empty.Data, err)
		}
	})

	t.Run("that are too large end the reading", func(t *testing.T) {
		small := *command
		small.Limit = 1000
		limited := r
		limited.Command = &small
		big := mustCommit(t, r, map[string]string{"big": strings.Repeat("x", 1<<20)})
		err := limited.Resident(time.Hour).Objects(ctx, func(objects *git.Objects) error {
			entries, err := objects.Tree(big)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := objects.Get(entries[0].Hash); pawl.CodeOf(err) != pawl.CodeState {
				t.Errorf("error is %v, want the code state", err)
			}
			return nil
		})
		if pawl.CodeOf(err) != pawl.CodeState {
			t.Errorf("the whole reading gives %v, want the same", err)
		}
		if _, err := limited.Patch(ctx, base, big); pawl.CodeOf(err) != pawl.CodeState {
			t.Errorf("a patch that is too large gives %v, want the code state", err)
		}
	})

	t.Run("that may be large are skipped", func(t *testing.T) {
		commit := mustCommit(t, r, map[string]string{"big": strings.Repeat("x", 1<<20), "small": "x"})
		read(t, r, func(objects *git.Objects) {
			entries, err := objects.Tree(commit)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range []string{"", "x"} {
				got, err := objects.GetSmall(entries[i].Hash, 1000)
				if err != nil || string(got.Data) != want || (got.Data == nil) != (want == "") || got.Hash != entries[i].Hash {
					t.Errorf("%s is %q, %v; want %q", entries[i].Name, got.Data, err, want)
				}
			}
			for i, want := range []string{"xxx", "x"} {
				got, err := objects.GetStart(entries[i].Hash, 3)
				if err != nil || string(got.Data) != want || got.Size != []int64{1 << 20, 1}[i] {
					t.Errorf("the start of %s is %q of %d bytes, %v; want %q", entries[i].Name, got.Data, got.Size, err, want)
				}
			}
		})
	})

	t.Run("of a git that dies are an error", func(t *testing.T) {
		broken := *command
		broken.Path = "/bin/false"
		other := r
		other.Command = &broken
		err := other.Resident(time.Hour).Objects(ctx, func(objects *git.Objects) error {
			_, err := objects.Get(commit)
			if err == nil || errors.Is(err, git.ErrMissing) {
				t.Errorf("error is %v", err)
			}
			return err
		})
		if e, ok := errors.AsType[*git.Error](err); !ok || e.Exit != 1 {
			t.Errorf("reading gives %v, want git's exit code", err)
		}
	})
}

// read reads objects of a repository and wants git to end well.
func read(t *testing.T, r git.Repo, see func(*git.Objects)) {
	t.Helper()
	k := r.Resident(time.Hour)
	err := k.Objects(t.Context(), func(objects *git.Objects) error {
		see(objects)
		return nil
	})
	if err := errors.Join(err, k.Close()); err != nil {
		t.Error(err)
	}
}

func TestMergeTree(t *testing.T) {
	ctx := context.Background()
	command := mustFind(t)
	r := mustRepo(t, command)
	base := mustCommit(t, r, map[string]string{"a": "1\n", "b": "1\n"})
	one := mustCommit(t, r, map[string]string{"a": "2\n", "b": "1\n"}, base)
	two := mustCommit(t, r, map[string]string{"a": "3\n", "b": "2\n"}, base)
	got, err := r.MergeTree(ctx, one, two)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a"}, got.Paths); diff != "" || got.Clean {
		t.Errorf("clean is %v, paths (-want +got):\n%s", got.Clean, diff)
	}
	wanted := git.Message{Paths: []string{"a"}, Kind: "CONFLICT (contents)", Text: "CONFLICT (content): Merge conflict in a\n"}
	if !slices.ContainsFunc(got.Messages, func(m git.Message) bool { return cmp.Equal(m, wanted) }) {
		t.Errorf("messages are %+v", got.Messages)
	}
	if got, err := r.MergeTree(ctx, base, two); err != nil || !got.Clean || got.Tree == "" || len(got.Paths)+len(got.Messages) > 0 {
		t.Errorf("a merge without conflicts is %+v, %v", got, err)
	}
	if _, err := r.MergeTree(ctx, one, mustCommit(t, r, map[string]string{"a": "4\n"})); !errors.Is(err, git.ErrUnrelated) {
		t.Errorf("error is %v, want ErrUnrelated", err)
	}
	if _, err := r.MergeTree(ctx, one, strings.Repeat("1", 40)); err == nil || errors.Is(err, git.ErrUnrelated) {
		t.Errorf("error is %v", err)
	}
}

func TestMoveRef(t *testing.T) {
	ctx := context.Background()
	r := mustRepo(t, mustFind(t))
	first := mustCommit(t, r, map[string]string{"a": "1\n"})
	second := mustCommit(t, r, map[string]string{"a": "2\n"}, first)
	const ref = "refs/heads/x"
	for _, row := range []struct {
		about, to, old string
		ok             bool
	}{
		{"from elsewhere", second, first, false},
		{"from nothing", first, "", true},
		{"from nothing again", second, "", false},
		{"from where it is", second, first, true},
		{"from where it was", second, first, false},
	} {
		if err := r.MoveRef(ctx, ref, row.to, row.old, "test"); (err == nil) != row.ok {
			t.Errorf("%s: error is %v", row.about, err)
		}
	}
	if refs, err := r.Refs(ctx, "refs/heads/"); err != nil || !slices.Equal(refs, []string{ref}) {
		t.Errorf("refs are %q, %v", refs, err)
	}
	for _, pair := range [][2]string{{first, second}, {second, first}} {
		is, err := r.IsAncestor(ctx, pair[0], pair[1])
		if err != nil || is != (pair[0] == first) {
			t.Errorf("%s is an ancestor of %s: %v, %v", pair[0], pair[1], is, err)
		}
	}
	if _, err := r.IsAncestor(ctx, first, strings.Repeat("1", 40)); err == nil {
		t.Error("a commit that is not there has an ancestor")
	}
}

func TestDiffs(t *testing.T) {
	ctx := context.Background()
	r := mustRepo(t, mustFind(t))
	k := r.Resident(time.Hour)
	base := mustCommit(t, r, map[string]string{"a": "a\n", "b": "b\n", "skip/x": "1\n", "d/x/y": "1"})
	next := mustCommit(t, r, map[string]string{"a": "A\n", "b": "b\n", "n\nl": "new\n", "skip/x": "2\n", "d/x": "1"}, base)
	skipped := mustCommit(t, r, map[string]string{"a": "A\n", "b": "b\n", "n\nl": "new\n", "skip/x": "3\n", "d/x": "1"}, base)
	trees := map[string]string{}
	read(t, r, func(objects *git.Objects) {
		for _, commit := range []string{base, next, skipped} {
			c, err := objects.Commit(commit)
			if err != nil {
				t.Fatal(err)
			}
			trees[commit] = c.Tree
		}
		for _, from := range []string{base, trees[base]} {
			found, err := objects.FileDifferences(from, next, "skip")
			var changed []string
			for _, d := range found {
				changed = append(changed, d.Path+" "+d.Old.Mode+" "+d.New.Mode)
			}
			want := []string{"a 100644 100644", "d/x 000000 100644", "d/x/y 100644 000000", "n\nl 000000 100644"}
			if err != nil || !slices.Equal(changed, want) {
				t.Errorf("changed is %q, %v; want %q", changed, err, want)
			}
		}
		if found, err := objects.FileDifferences(base, next, ""); err != nil || len(found) != 5 || found[4].Path != "skip/x" {
			t.Errorf("with nothing left out %+v differ, %v", found, err)
		}
	})
	id, err := k.PatchID(ctx, trees[base], trees[next], "skip")
	if err != nil || len(id) != 40 {
		t.Errorf("patch id is %q, %v", id, err)
	}
	if other, err := k.PatchID(ctx, trees[base], trees[skipped], "skip"); err != nil || other != id {
		t.Errorf("patch id is %q, %v; want %q", other, err, id)
	}
	if none, err := k.PatchID(ctx, trees[base], trees[base], "skip"); err != nil || none != "" {
		t.Errorf("the patch id of nothing is %q, %v", none, err)
	}
	if none, err := k.PatchID(ctx, trees[next], trees[skipped], "skip"); err != nil || none != "" {
		t.Errorf("the patch id of what is left out is %q, %v", none, err)
	}
	if err := k.Close(); err != nil {
		t.Error(err)
	}
}

// Each tree has its own list of files, whichever was listed last.
func TestFilesOfTrees(t *testing.T) {
	ctx := context.Background()
	r := mustRepo(t, mustFind(t))
	k := r.Resident(time.Hour)
	one, two := mustCommit(t, r, map[string]string{"a": "a\n"}), mustCommit(t, r, map[string]string{"b/c": "c\n", "d": ""})
	for _, tree := range []string{one, two, two, one} {
		got, err := k.Files(ctx, tree)
		want, wantErr := r.Files(ctx, tree)
		if err != nil || wantErr != nil || !slices.Equal(got, want) {
			t.Errorf("the files of %s are %v, want %v (%v, %v)", tree, got, want, err, wantErr)
		}
	}
	if err := k.Close(); err != nil {
		t.Error(err)
	}
}

// A patch id is the one that git tells.
func TestPatchID(t *testing.T) {
	r := mustRepo(t, mustFind(t))
	k := r.Resident(time.Hour)
	random := rand.New(rand.NewPCG(1, 19))
	content := func() string {
		var b strings.Builder
		for range random.IntN(12) {
			b.WriteString([]string{"one\n", "  two \n", "\tthree\r\n", "--- four\n", "+++ five\n", "diff --git a b\n", "@@ -1 +1 @@\n", "\n", "\\ six\n"}[random.IntN(9)])
		}
		switch random.IntN(8) {
		case 0:
			return b.String() + "no end"
		case 1:
			return b.String() + "\x00binary"
		case 2:
			return b.String() + strings.Repeat("long\n", 3000) + "\x00text for git\n"
		}
		return b.String()
	}
	files := func() map[string]string {
		all := map[string]string{}
		for _, name := range []string{"a", "b/c", "b/d", "strange \"name\"", "ü"} {
			if random.IntN(4) > 0 {
				all[name] = content()
			}
		}
		all["z"] = content()
		return all
	}
	for range 150 {
		from, to := mustTree(t, r, files()), mustTree(t, r, files())
		patch, err := r.Git(t.Context(), nil, "diff-tree", "-r", "--no-renames", "--full-index", "-p", from, to)
		if err != nil {
			t.Fatal(err)
		}
		out, err := r.Git(t.Context(), bytes.NewReader(patch), "patch-id", "--verbatim")
		if err != nil {
			t.Fatal(err)
		}
		want, _, _ := strings.Cut(string(out), " ")
		got, err := k.PatchID(t.Context(), from, to, "skip")
		if err != nil || got != want {
			t.Errorf("patch id is %q, %v; git says %q of\n%q", got, err, want, patch)
		}
	}
	if err := k.Close(); err != nil {
		t.Error(err)
	}
}

// When git is killed its index lock is removed; when it is cancelled git removes
// it itself.
func TestKilledCalls(t *testing.T) {
	command := mustFind(t)
	r := mustRepo(t, command)
	mustCommit(t, r, map[string]string{"a": "a\n"})
	lock := r.Index + ".lock"
	command.Exec = func(cmd *exec.Cmd, run func(*exec.Cmd) error) error {
		if err := os.WriteFile(lock, nil, 0o644); err != nil {
			t.Error(err)
		}
		cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", "kill -KILL $$"}
		return run(cmd)
	}
	err := r.AddAll(context.Background())
	if e, ok := errors.AsType[*git.Error](err); !ok || !e.Signaled {
		t.Errorf("error is %v, want one of a killed git", err)
	}
	if _, err := os.Lstat(lock); err == nil {
		t.Error("the lock is still there")
	}

	ctx, cancel := context.WithCancelCause(context.Background())
	reason := errors.New("enough")
	command.Exec = func(cmd *exec.Cmd, _ func(*exec.Cmd) error) error {
		cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", "while :; do sleep 1; done"}
		if err := cmd.Start(); err != nil {
			return err
		}
		cancel(reason)
		return cmd.Wait()
	}
	if err := r.AddAll(ctx); !errors.Is(err, reason) {
		t.Errorf("error is %v, want %v", err, reason)
	}
}

// The names that are refused before git sees them are those that git refuses. F-10
func TestRefusedNames(t *testing.T) {
	r := mustRepo(t, mustFind(t))
	hashes, err := r.WriteFiles(t.Context(), []string{mustFile(t, r)})
	if err != nil {
		t.Fatal(err)
	}
	takes := func(path string) bool {
		if err := os.Remove(r.Index); err != nil && !errors.Is(err, os.ErrNotExist) {
			panic(err)
		}
		if err := r.Enter(t.Context(), []git.Entry{{Mode: git.ModeFile, Hash: hashes[0], Name: path}}); err != nil {
			panic(err)
		}
		entries, err := r.List(t.Context())
		if err != nil {
			panic(err)
		}
		return len(entries) == 1 && entries[0].Name == path
	}
	for _, path := range []string{".git", ".GIT/x", "a/.git", "git~1", "a/GIT~1/x", ".git ", ".git...", ".git. .", ".g\u200cit", "\ufeff.git", ".git\u206f/x", ".git:x", "git~1::$DATA", `a\.git`, `a\git~1\x`, `\\.git`, ".git\xff", ".g\xffit", "\xff.git"} {
		if refused := pawl.RefusedName(path) != ""; refused == takes(path) {
			t.Errorf("%q is refused: %t, by git: %t", path, refused, !refused)
		}
	}
	for _, path := range []string{".gitx", ".git x", "git~2", "xgit~1", "git", ".g it", ".git\u200b", "odd\nname", "\xff", "a\tb", "CON", "aux.txt", "trailing ", `back\slash`, `\.git`, "\u202a", "gıt~1", ".gİt"} {
		if pawl.RefusedName(path) != "" || !takes(path) {
			t.Errorf("%q is refused: %q, by git: %t", path, pawl.RefusedName(path), !takes(path))
		}
	}
	parts := rapid.SampledFrom([]string{".", "g", "i", "t", "G", "I", "T", "~", "1", " ", ":", `\`, "/", "x", "\u200c", "\u202b", "\ufeff", "\xe2\x80", "\xff", ".git", "git~1", ".GIT"})
	rapid.Check(t, func(rt *rapid.T) {
		path := strings.Join(rapid.SliceOfN(parts, 1, 6).Draw(rt, "path"), "")
		if path != filepath.Clean(path) || !filepath.IsLocal(path) || path == "." {
			return
		}
		if refused := pawl.RefusedName(path) != ""; refused == takes(path) {
			rt.Errorf("%q is refused: %t, by git: %t", path, refused, !refused)
		}
	})
}

// mustFile makes a file in the worktree and returns its name.
func mustFile(tb testing.TB, r git.Repo) string {
	tb.Helper()
	if err := os.WriteFile(filepath.Join(r.WorkTree, "file"), nil, 0o644); err != nil {
		tb.Fatal(err)
	}
	return "file"
}

// A call that takes too long is ended, and says so. Its lock is removed, also when it
// had to be killed. F-03
func TestTimeLimit(t *testing.T) {
	command := mustFind(t)
	r := mustRepo(t, command)
	commit := mustCommit(t, r, map[string]string{"a": "a\n"})
	lock := r.Index + ".lock"
	command.Timeout = 20 * time.Millisecond
	command.Exec = func(cmd *exec.Cmd, run func(*exec.Cmd) error) error {
		if err := os.WriteFile(lock, nil, 0o644); err != nil {
			t.Error(err)
		}
		cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", "exec sleep 1000"}
		return run(cmd)
	}
	err := r.AddAll(t.Context())
	if !errors.Is(err, git.ErrTimeout) || pawl.CodeOf(err) != pawl.CodeUnavailable {
		t.Errorf("error is %v, want a time limit", err)
	}
	if want := "git add took longer than its limit of 20ms and was ended"; err == nil || err.Error() != want {
		t.Errorf("error is %q, want %q", err, want)
	}
	if _, err := os.Lstat(lock); err == nil {
		t.Error("the lock is still there")
	}
	err = r.Resident(time.Hour).Objects(t.Context(), func(objects *git.Objects) error {
		_, err := objects.Get(commit)
		if err == nil {
			t.Error("an object was read from a git that hangs")
		}
		return err
	})
	if !errors.Is(err, git.ErrTimeout) {
		t.Errorf("error is %v, want a time limit", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	command.Timeout = time.Hour
	if err := r.AddAll(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v, want the caller's deadline", err)
	}
}
