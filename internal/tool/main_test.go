package tool_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/tool"
)

// The test program also plays the process that is killed while it writes.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "__write" {
		os.Exit(playWriter(os.Args[2]))
	}
	os.Exit(m.Run())
}

// world is a worktree with a temporary folder, and a folder outside with a secret.
type world struct {
	env     pawl.ToolEnv
	outside string
}

const secret = "the secret outside"

// MustWorld makes a world with these files in the worktree.
func MustWorld(tb testing.TB, files map[string]string) world {
	tb.Helper()
	base := tb.TempDir()
	w := world{env: pawl.ToolEnv{Dir: filepath.Join(base, "work"), Temp: filepath.Join(base, "temp")}, outside: filepath.Join(base, "outside")}
	for _, folder := range []string{w.env.Dir, w.env.Temp, w.outside} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			tb.Fatal(err)
		}
	}
	MustWrite(tb, filepath.Join(w.outside, "secret"), secret)
	for name, content := range files {
		MustWrite(tb, filepath.Join(w.env.Dir, name), content)
	}
	return w
}

// MustWrite writes a file and the folders it needs.
func MustWrite(tb testing.TB, path, content string) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		tb.Fatal(err)
	}
}

// MustLink makes a symbolic link.
func MustLink(tb testing.TB, target, path string) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		tb.Fatal(err)
	}
}

// call calls a tool with arguments that it must accept as they are.
func (w world) call(tb testing.TB, t pawl.Tool, args map[string]any) pawl.ToolResult {
	tb.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		tb.Fatal(err)
	}
	result, err := t.Call(context.Background(), w.env, raw)
	if err != nil {
		tb.Fatalf("%s %s: %v", t.Spec().Name, raw, err)
	}
	return result
}

// want calls a tool and compares the answer.
func (w world) want(tb testing.TB, t pawl.Tool, args map[string]any, text string) {
	tb.Helper()
	if got := w.call(tb, t, args); got.IsError || got.Text != text {
		tb.Errorf("%s %v: error %v, %q, want %q", t.Spec().Name, args, got.IsError, got.Text, text)
	}
}

// refuses calls a tool, which must answer with an error that says this.
func (w world) refuses(tb testing.TB, t pawl.Tool, args map[string]any, says string) {
	tb.Helper()
	got := w.call(tb, t, args)
	if !got.IsError || !strings.Contains(got.Text, says) {
		tb.Errorf("%s %v: error %v, %q, want an error that says %q", t.Spec().Name, args, got.IsError, got.Text, says)
	}
	if len(got.Wrote) > 0 {
		tb.Errorf("%s %v was refused and wrote %v", t.Spec().Name, args, got.Wrote)
	}
}

// content is a file of the worktree.
func (w world) content(tb testing.TB, name string) string {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(w.env.Dir, name))
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// files are all files of the worktree and all that is left in the temporary folder.
func (w world) files(tb testing.TB) []string {
	tb.Helper()
	var found []string
	for _, root := range []string{w.env.Dir, w.env.Temp} {
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				rel, _ := filepath.Rel(root, path)
				found = append(found, filepath.Base(root)+"/"+rel)
			}
			return err
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
	return found
}

func TestBuiltin(t *testing.T) {
	classes := map[string]pawl.CrashClass{
		"read": pawl.CrashRepeat, "list": pawl.CrashRepeat, "glob": pawl.CrashRepeat, "grep": pawl.CrashRepeat,
		"write": pawl.CrashProbe, "edit": pawl.CrashProbe, "run": pawl.CrashOnce, "update_dependencies": pawl.CrashOnce,
		"remember": 0, "blackboard": 0, // the harness answers them itself
	}
	set := tool.New(tool.Builtin()...)
	if got := set.Names(); len(got) != len(classes) {
		t.Errorf("there are %v", got)
	}
	for name, class := range classes {
		found, ok := set.Lookup(name)
		if !ok {
			t.Fatalf("there is no %s", name)
		}
		if got := found.Class(); got != class {
			t.Errorf("%s has the class %s, want %s", name, got, class)
		}
		if _, ok := found.(pawl.Replayer); ok != (class == pawl.CrashProbe) {
			t.Errorf("%s of class %s tells its effect: %v", name, class, ok)
		}
		spec := found.Spec()
		if spec.Name != name || len(spec.Description) < 40 || !json.Valid(spec.Schema) {
			t.Errorf("%s has the spec %+v", name, spec)
		}
		if problem := set.Check(spec, json.RawMessage(`{"bogus": 1}`)); !strings.Contains(problem, `"bogus" is unknown`) {
			t.Errorf("%s accepts unknown fields: %q", name, problem)
		}
	}
}

func TestSpecs(t *testing.T) {
	set := tool.New(tool.Builtin()...)
	specs, err := set.Specs([]string{"run", "read"})
	if err != nil || len(specs) != 2 || specs[0].Name != "run" || specs[1].Name != "read" {
		t.Errorf("got %v, %v", specs, err)
	}
	if _, err := set.Specs([]string{"read", "fly"}); pawl.CodeOf(err) != pawl.CodeInvalid || !strings.Contains(err.Error(), `"fly"`) {
		t.Errorf("got %v", err)
	}
}
