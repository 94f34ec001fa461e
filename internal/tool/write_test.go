package tool_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl"
	"pawl/internal/tool"
)

func TestWrite(t *testing.T) {
	w := MustWorld(t, map[string]string{"script": "old"})
	if err := os.Chmod(filepath.Join(w.env.Dir, "script"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Run("New", func(t *testing.T) {
		got := w.call(t, tool.Write{}, map[string]any{"path": "a/b/../c/new.txt", "content": "héllo\n"})
		if got.IsError || got.Text != "made a/c/new.txt, 7 bytes" || !cmp.Equal(got.Wrote, []string{"a/c/new.txt"}) {
			t.Errorf("got %+v", got)
		}
		if w.content(t, "a/c/new.txt") != "héllo\n" {
			t.Error("the content is another")
		}
		if info, err := os.Stat(filepath.Join(w.env.Dir, "a/c/new.txt")); err != nil || info.Mode() != 0o644 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	})
	t.Run("KeepsMode", func(t *testing.T) {
		w.want(t, tool.Write{}, map[string]any{"path": "script", "content": ""}, "replaced script, 0 bytes")
		if info, err := os.Stat(filepath.Join(w.env.Dir, "script")); err != nil || info.Mode() != 0o755 || info.Size() != 0 {
			t.Errorf("mode %v, size %d, %v", info.Mode(), info.Size(), err)
		}
	})
	t.Run("LeavesNothingElse", func(t *testing.T) {
		if diff := cmp.Diff([]string{"work/a/c/new.txt", "work/script"}, w.files(t)); diff != "" {
			t.Errorf("files differ (-want +got):\n%s", diff)
		}
	})
	t.Run("HardLink", func(t *testing.T) {
		// What a command may have linked in from elsewhere is not written through.
		if err := os.Link(filepath.Join(w.outside, "secret"), filepath.Join(w.env.Dir, "hard")); err != nil {
			t.Fatal(err)
		}
		w.want(t, tool.Write{}, map[string]any{"path": "hard", "content": "x"}, "replaced hard, 1 bytes")
		if text, err := os.ReadFile(filepath.Join(w.outside, "secret")); err != nil || string(text) != secret {
			t.Errorf("outside there is now %q, %v", text, err)
		}
	})
}

func TestWriteWithoutTemp(t *testing.T) {
	w := MustWorld(t, nil)
	t.Run("Gone", func(t *testing.T) {
		gone := w.env
		gone.Temp = filepath.Join(gone.Temp, "gone")
		if _, err := (tool.Write{}).Call(t.Context(), gone, json.RawMessage(`{"path": "x", "content": "x"}`)); err == nil {
			t.Error("no error")
		}
	})
	t.Run("None", func(t *testing.T) {
		w.env.Temp = ""
		w.want(t, tool.Write{}, map[string]any{"path": "x", "content": "x"}, "made x, 1 bytes")
	})
}

// writerContents are what the writer that is killed writes in turn.
func writerContents() [2]string {
	return [2]string{strings.Repeat("a", 3<<20), strings.Repeat("b", 2<<20)}
}

func playWriter(base string) int {
	env := pawl.ToolEnv{Dir: filepath.Join(base, "work"), Temp: filepath.Join(base, "temp")}
	contents := writerContents()
	for i := 0; ; i++ {
		raw, err := json.Marshal(map[string]string{"path": "file", "content": contents[i%2]})
		if err != nil {
			return 1
		}
		if _, err := io.WriteString(os.Stdout, "writing\n"); err != nil {
			return 1
		}
		if result, err := (tool.Write{}).Call(nil, env, raw); err != nil || result.IsError { //nolint:staticcheck // Write needs no context
			fmt.Fprintln(os.Stderr, result.Text, err)
			return 1
		}
	}
}

// A process that is killed while it writes leaves the old file or the new one.
func TestKillWhileWriting(t *testing.T) {
	contents := writerContents()
	for round := range 12 {
		w := MustWorld(t, map[string]string{"file": contents[1]})
		writer := exec.Command(os.Args[0], "__write", filepath.Dir(w.env.Dir))
		writer.Stderr = os.Stderr
		output, err := writer.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := writer.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(output)
		for range round + 1 {
			if _, err := lines.ReadString('\n'); err != nil {
				t.Errorf("the writer ended: %v", err)
			}
		}
		writer.Process.Kill()
		writer.Wait()
		if got := w.content(t, "file"); got != contents[0] && got != contents[1] {
			t.Errorf("a file of %d bytes is left", len(got))
		}
		for _, name := range w.files(t) {
			if strings.HasPrefix(name, "work/") && name != "work/file" {
				t.Errorf("%s is left over in the worktree", name)
			}
		}
	}
}

func TestEdit(t *testing.T) {
	w := MustWorld(t, map[string]string{
		"file":    "one\ntwo\nthree two\n\nTwo\n",
		"windows": "a\r\nb\r\n",
		"tabs":    "if x {\n\t\treturn  1\n}\n",
		"binary":  "a\x00b",
		"aaa":     "aaa",
	})
	edit := func(path, old, new string, all bool) map[string]any {
		return map[string]any{"path": path, "old": old, "new": new, "all": all}
	}
	t.Run("NotUnique", func(t *testing.T) {
		w.refuses(t, tool.Edit{}, edit("file", "two", "2", false), "old is in file 2 times, at lines 2, 3: take more of the surroundings")
	})
	t.Run("OverlapIsNotUnique", func(t *testing.T) {
		w.refuses(t, tool.Edit{}, edit("aaa", "aa", "b", false), "2 times, at lines 1, 1")
	})
	t.Run("NotFound", func(t *testing.T) {
		w.refuses(t, tool.Edit{}, edit("file", "four", "4", false), "old is not in file; read the file again")
	})
	t.Run("NotFoundForBlanks", func(t *testing.T) {
		w.refuses(t, tool.Edit{}, edit("tabs", "if x {\n    return 1\n}", "x", false), "at line 1 there is the same text with other blanks")
		w.refuses(t, tool.Edit{}, edit("tabs", "  return 1", "x", false), "at line 2 there is the same text with other blanks")
	})
	t.Run("NotFoundForLineEnds", func(t *testing.T) {
		w.refuses(t, tool.Edit{}, edit("windows", "a\nb", "c", false), `its lines end in \r\n`)
	})
	t.Run("Binary", func(t *testing.T) {
		w.refuses(t, tool.Edit{}, edit("binary", "a", "c", false), "is a binary file")
	})
	t.Run("Missing", func(t *testing.T) {
		w.refuses(t, tool.Edit{}, edit("nowhere", "a", "b", false), "nowhere does not exist; write makes new files")
		w.refuses(t, tool.Edit{}, edit("no/where", "a", "b", false), "no does not exist")
	})
	t.Run("Same", func(t *testing.T) {
		w.refuses(t, tool.Edit{}, edit("file", "one", "one", false), "old and new are the same")
	})
	t.Run("Unique", func(t *testing.T) {
		w.want(t, tool.Edit{}, edit("file", "three two\n", "3\n", false), "edited file at line 3")
		if got := w.content(t, "file"); got != "one\ntwo\n3\n\nTwo\n" {
			t.Errorf("the file is now %q", got)
		}
	})
	t.Run("All", func(t *testing.T) {
		w.want(t, tool.Edit{}, edit("file", "o", "0", true), "edited file at lines 1, 2, 5")
		if got := w.content(t, "file"); got != "0ne\ntw0\n3\n\nTw0\n" {
			t.Errorf("the file is now %q", got)
		}
	})
}

// What a call does to a file is exactly what its Effect says: recovery compares
// the worktree with it.
// What a model was shown in place of a secret does not overwrite it. F-07
func TestSecretsAreNotOverwritten(t *testing.T) {
	const mark = "[redacted:aws-access-token]"
	start := map[string]string{".env": "PORT=1\nKEY=the-real-one\n", "doc.md": "A key is shown as " + mark + ".\n"}
	for _, c := range []struct {
		name  string
		tool  pawl.Tool
		args  map[string]any
		says  string // of the refusal; empty = it is done
		after string // what is in the file then
	}{
		{"Write", tool.Write{}, map[string]any{"path": ".env", "content": "PORT=2\nKEY=" + mark + "\n"},
			".env is not written: the text has " + mark + ", which is what you are shown in place of a secret, and it would overwrite the real one. Leave the line", start[".env"]},
		{"WriteNew", tool.Write{}, map[string]any{"path": "new/.env", "content": "KEY=" + mark + "\n"}, "new/.env is not written: the text has " + mark, ""},
		{"Edit", tool.Edit{}, map[string]any{"path": ".env", "old": "PORT=1\n", "new": "PORT=2\nKEY=" + mark + "\n"}, ".env is not written: the text has " + mark, start[".env"]},
		{"EditAround", tool.Edit{}, map[string]any{"path": ".env", "old": "PORT=1", "new": "PORT=2"}, "", "PORT=2\nKEY=the-real-one\n"},
		{"EditOld", tool.Edit{}, map[string]any{"path": ".env", "old": "KEY=" + mark, "new": "KEY=x"},
			"old is not in .env: in the file there is a secret where you are shown " + mark + "; take old from the lines around it", start[".env"]},
		{"Documentation", tool.Edit{}, map[string]any{"path": "doc.md", "old": "A key is shown as " + mark, "new": "Every key is shown as " + mark}, "", "Every key is shown as " + mark + ".\n"},
		{"DocumentationAgain", tool.Write{}, map[string]any{"path": "doc.md", "content": "See " + mark}, "", "See " + mark},
		{"MoreMarks", tool.Write{}, map[string]any{"path": "doc.md", "content": mark + mark}, "doc.md is not written", start["doc.md"]},
		{"OtherBrackets", tool.Write{}, map[string]any{"path": "doc.md", "content": "[redacted: by hand] [redacted:]"}, "", "[redacted: by hand] [redacted:]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := MustWorld(t, start)
			raw, err := json.Marshal(c.args)
			if err != nil {
				t.Fatal(err)
			}
			path := c.args["path"].(string)
			_, _, ok := c.tool.(pawl.Replayer).Effect(raw, func(string) []byte { return []byte(start[path]) })
			got := w.call(t, c.tool, c.args)
			if got.IsError != (c.says != "") || !strings.HasPrefix(got.Text, c.says) || ok == got.IsError {
				t.Errorf("got %+v, its effect is known: %v", got, ok)
			}
			if now, _ := os.ReadFile(filepath.Join(w.env.Dir, path)); string(now) != c.after {
				t.Errorf("%s holds %q, want %q", path, now, c.after)
			}
		})
	}
}

func TestEffectIsWhatCallDoes(t *testing.T) {
	w := MustWorld(t, nil)
	words := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", "\n", "\r\n", " ", "é", "\x00", "[redacted:x]"}), 0, 8)
	text := rapid.Map(words, func(w []string) string { return strings.Join(w, "") })
	path := rapid.SampledFrom([]string{"f", "d/f", "./f", "d/../f", "../f", ".git/x", "d/", "", "/f", "d"})
	rapid.Check(t, func(t *rapid.T) {
		os.RemoveAll(filepath.Join(w.env.Dir, "d")) // a call before may have made a file of it
		for _, name := range []string{"f", "d/f"} {
			full := filepath.Join(w.env.Dir, name)
			os.RemoveAll(full)
			if rapid.Bool().Draw(t, "exists "+name) {
				if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(full, []byte(text.Draw(t, name)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
		args := map[string]any{"path": path.Draw(t, "path")}
		var tl pawl.Tool = tool.Write{}
		if rapid.Bool().Draw(t, "edit") {
			tl = tool.Edit{}
			args["old"], args["new"], args["all"] = text.Draw(t, "old"), text.Draw(t, "new"), rapid.Bool().Draw(t, "all")
		} else {
			args["content"] = text.Draw(t, "content")
		}
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		changed, after, ok := tl.(pawl.Replayer).Effect(raw, func(path string) []byte {
			content, _ := os.ReadFile(filepath.Join(w.env.Dir, path))
			return content
		})
		result, err := tl.Call(t.Context(), w.env, raw)
		if err != nil {
			t.Fatal(err)
		}
		if result.IsError {
			// A folder in the way is not to be seen in contents.
			if ok && args["path"] != "d" {
				t.Fatalf("%s: the call was refused (%s), its effect is %q", raw, result.Text, after)
			}
			return
		}
		if !ok || !cmp.Equal(result.Wrote, []string{changed}) {
			t.Fatalf("%s wrote %v, its effect is on %q, %v", raw, result.Wrote, changed, ok)
		}
		if now, err := os.ReadFile(filepath.Join(w.env.Dir, changed)); err != nil || !bytes.Equal(now, after) {
			t.Fatalf("%s left %q, its effect is %q, %v", raw, now, after, err)
		}
	})
}
