//go:build unix

package tool_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pawl"
	"pawl/internal/tool"
)

// No path leads out of the worktree, for no tool.
func TestPathsDoNotEscape(t *testing.T) {
	w := MustWorld(t, map[string]string{"file": "inside", "folder/file": "inside"})
	MustLink(t, w.outside, filepath.Join(w.env.Dir, "link"))
	MustLink(t, "../outside", filepath.Join(w.env.Dir, "relative"))
	MustLink(t, "../../outside/secret", filepath.Join(w.env.Dir, "folder", "deep"))
	MustLink(t, "link", filepath.Join(w.env.Dir, "chain"))
	MustLink(t, "loop", filepath.Join(w.env.Dir, "loop"))
	MustLink(t, "/proc/self/root"+w.outside, filepath.Join(w.env.Dir, "proc"))
	MustLink(t, "/dev/zero", filepath.Join(w.env.Dir, "endless"))
	tricks := map[string]string{
		"DotDot":            "../outside/secret",
		"DotDotInside":      "folder/../../outside/secret",
		"Absolute":          filepath.Join(w.outside, "secret"),
		"AbsoluteAndDotDot": w.env.Dir + "/../outside/secret",
		"AbsolutePrefix":    w.env.Dir + "-other/secret",
		"AbsoluteLink":      "link/secret",
		"RelativeLink":      "relative/secret",
		"LinkToFile":        "folder/deep",
		"LinkToLink":        "chain/secret",
		"LinkLoop":          "loop",
		"LinkThroughProc":   "proc/secret",
		"LinkToDevice":      "endless",
		"NUL":               "file\x00/../../outside/secret",
		"DotDotAfterLink":   "link/../outside/secret",
		"Backslash":         `..\outside\secret`,
		"Percent":           "%2e%2e/outside/secret",
		"System":            "/etc/passwd",
	}
	for name, path := range tricks {
		t.Run(name, func(t *testing.T) {
			for _, reader := range []struct {
				tool pawl.Tool
				args map[string]any
			}{
				{tool.Read{}, map[string]any{"path": path}},
				{tool.List{}, map[string]any{"path": filepath.Dir(path)}},
				{tool.List{}, map[string]any{"path": path}},
				{tool.Grep{}, map[string]any{"pattern": ".", "path": path}},
				{tool.Glob{}, map[string]any{"pattern": path}},
				{tool.Glob{}, map[string]any{"pattern": filepath.Dir(path) + "/*"}},
			} {
				if got := w.call(t, reader.tool, reader.args); strings.Contains(got.Text, secret) || strings.Contains(got.Text, "root:") {
					t.Errorf("%s %q shows what is outside: %s", reader.tool.Spec().Name, path, got.Text)
				}
			}
			for _, writer := range []struct {
				tool pawl.Tool
				args map[string]any
			}{
				{tool.Write{}, map[string]any{"path": path, "content": "overwritten"}},
				{tool.Edit{}, map[string]any{"path": path, "old": secret, "new": "overwritten"}},
			} {
				w.call(t, writer.tool, writer.args)
				if text, err := os.ReadFile(filepath.Join(w.outside, "secret")); err != nil || string(text) != secret {
					t.Fatalf("%s %q changed what is outside to %q, %v", writer.tool.Spec().Name, path, text, err)
				}
			}
			entries, err := os.ReadDir(w.outside)
			if err != nil || len(entries) != 1 {
				t.Errorf("outside there are now %v, %v", entries, err)
			}
		})
	}
}

func TestWriteRefuses(t *testing.T) {
	w := MustWorld(t, map[string]string{"file": "x", "folder/file": "x", ".git/config": "x"})
	MustLink(t, "file", filepath.Join(w.env.Dir, "link"))
	MustLink(t, "folder", filepath.Join(w.env.Dir, "linked"))
	MustLink(t, ".git", filepath.Join(w.env.Dir, "innocent"))
	if err := syscall.Mkfifo(filepath.Join(w.env.Dir, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, says := range map[string]string{
		"":                                 "the path is empty",
		".":                                "is the worktree itself",
		"folder":                           "is a folder",
		"new/":                             "names a folder",
		"file/x":                           "is a file, not a folder",
		"fifo":                             "is not a regular file",
		"link":                             "is a symbolic link to file",
		"linked/file":                      "is a symbolic link to folder",
		"innocent/config":                  "is a symbolic link to .git",
		".git/config":                      "belongs to the harness",
		".git":                             "belongs to the harness",
		".GIT/hooks/x":                     "belongs to the harness",
		"folder/.git":                      "belongs to the harness",
		"folder/.git. /x":                  "git refuses the name .git. ,",
		"GIT~1/config":                     "git refuses the name GIT~1,",
		"folder/.g\u200cit":                "git refuses the name \".g\\u200cit\",", // F-10
		"a\\.git":                          "git refuses the name a\\.git,",
		"./folder/../.git/config":          "belongs to the harness",
		".pawl/config.yaml":                "belongs to the harness",
		".Pawl/config.yaml":                "belongs to the harness",
		".pawl-write":                      "belongs to the harness",
		"/etc/x":                           "is absolute",
		filepath.Join(w.env.Dir, "file"):   "relative to the worktree: file",
		filepath.Join(w.env.Dir, "a", "b"): "relative to the worktree: a/b",
		"../x":                             "leads out",
	} {
		t.Run(path, func(t *testing.T) {
			w.refuses(t, tool.Write{}, map[string]any{"path": path, "content": "y"}, says)
			w.refuses(t, tool.Edit{}, map[string]any{"path": path, "old": "x", "new": "y"}, says)
		})
	}
	for _, name := range []string{"file", "folder/file", ".git/config"} {
		if got := w.content(t, name); got != "x" {
			t.Errorf("%s is now %q", name, got)
		}
	}
}

func TestSpecialFilesAreNotRead(t *testing.T) {
	w := MustWorld(t, nil)
	if err := syscall.Mkfifo(filepath.Join(w.env.Dir, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.refuses(t, tool.Read{}, map[string]any{"path": "fifo"}, "is not a regular file")
	w.want(t, tool.Grep{}, map[string]any{"pattern": "."}, "(nothing matches)\n")
	w.want(t, tool.List{}, map[string]any{}, "fifo (not a regular file)\n")
	// A file of a terabyte with nothing in it.
	f, err := os.Create(filepath.Join(w.env.Dir, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(1 << 40); err != nil {
		t.Skipf("no sparse files here: %v", err)
	}
	f.Close()
	w.refuses(t, tool.Read{}, map[string]any{"path": "sparse"}, "1099511627776 bytes")
	w.refuses(t, tool.Edit{}, map[string]any{"path": "sparse", "old": "a", "new": "b"}, "1099511627776 bytes")
	w.want(t, tool.Grep{}, map[string]any{"pattern": "."}, "(nothing matches)\n[not searched, because of more than 16777216 bytes: sparse]\n")
}

func TestWorktreeGone(t *testing.T) {
	w := MustWorld(t, nil)
	if err := os.Remove(w.env.Dir); err != nil {
		t.Fatal(err)
	}
	for _, tl := range tool.Builtin() {
		if tl.Spec().Name == "run" || tl.Spec().Name == "update_dependencies" || tl.Class() == 0 { // which do not open it
			continue
		}
		args := json.RawMessage(`{"path": "x", "content": "", "old": "a", "new": "b", "pattern": "x"}`)
		var all, fields map[string]any
		_ = json.Unmarshal(args, &all)
		var schema struct{ Properties map[string]any }
		if err := json.Unmarshal(tl.Spec().Schema, &schema); err != nil {
			t.Fatal(err)
		}
		fields = map[string]any{}
		for name := range schema.Properties {
			if v, ok := all[name]; ok {
				fields[name] = v
			}
		}
		raw, _ := json.Marshal(fields)
		if _, err := tl.Call(t.Context(), w.env, raw); pawl.CodeOf(err) != pawl.CodeUnavailable {
			t.Errorf("%s: error %v, want one that the worktree is not there", tl.Spec().Name, err)
		}
	}
}
