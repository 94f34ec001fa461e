package heldout

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
)

// MustFolder makes a folder of pairs of names and contents. A name that ends in @ is a symbolic link
// to the content, one in * an executable file.
func MustFolder(tb testing.TB, files ...string) string {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "checks")
	if err := os.Mkdir(dir, 0o755); err != nil {
		tb.Fatal(err)
	}
	for i := 0; i < len(files); i += 2 {
		name, mode := filepath.Join(dir, strings.TrimRight(files[i], "@*")), os.FileMode(0o644)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			tb.Fatal(err)
		}
		if strings.HasSuffix(files[i], "@") {
			if err := os.Symlink(files[i+1], name); err != nil {
				tb.Fatal(err)
			}
			continue
		}
		if strings.HasSuffix(files[i], "*") {
			mode = 0o755
		}
		if err := os.WriteFile(name, []byte(files[i+1]), mode); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

func TestScripts(t *testing.T) {
	dir := MustFolder(t, "02-b.sh", "two", "01-a.sh*", "one", "overlay/x/y.txt", "deep", "overlay/run*", "tool", "overlay/link@", "run", "README", "not used", "data/z", "not used")
	got, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := &Checks{
		Scripts: []pawl.RoomFile{{Path: "01-a.sh", Data: []byte("one"), Executable: true}, {Path: "02-b.sh", Data: []byte("two")}},
		Overlay: []pawl.RoomFile{{Path: "link", Data: []byte("tool"), Executable: true}, {Path: "run", Data: []byte("tool"), Executable: true}, {Path: "x/y.txt", Data: []byte("deep")}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the checks (-want +got):\n%s", diff)
	}
	if s := got.String(); s != "2 scripts with 3 files laid over the checkout" {
		t.Errorf("they are called %q", s)
	}
	one, err := got.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(one)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, back); diff != "" {
		t.Errorf("decoded (-want +got):\n%s", diff)
	}
	if again, err := back.Encode(); err != nil || !bytes.Equal(one, again) {
		t.Errorf("the same checks are other bytes: %v", err)
	}
}

func TestHarborTask(t *testing.T) {
	dir := MustFolder(t, "task.toml", "version = \"1.0\"\n[verifier]\ntimeout_sec = 90.5\nenv = { B = \"2\", A = \"1\" }\n[environment]\ndocker_image = \"none\"\nallow_internet = false\nenv = { A = \"0\", C = \"3\" }\n[agent]\ntimeout_sec = 1.0\n",
		"environment/Dockerfile", "FROM python", "tests/test.sh", "#!/bin/bash\n", "tests/unit/test_a.py", "a", "solution/solve.sh", "no")
	got, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := &Checks{
		Tests: []pawl.RoomFile{{Path: "test.sh", Data: []byte("#!/bin/bash\n")}, {Path: "unit/test_a.py", Data: []byte("a")}},
		Env:   []string{"A=1", "B=2", "C=3"}, Timeout: 90500 * time.Millisecond,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the checks (-want +got):\n%s", diff)
	}
}

// What a gate's room is not is refused, with the key that asks for it.
func TestHarborTaskBeyondARoom(t *testing.T) {
	for task, want := range map[string]string{
		"[environment]\ndocker_image = 'python:3'":             `environment.docker_image = "python:3": it needs an image`,
		"[environment]\nallow_internet = true":                 "environment.allow_internet = true: it needs the network",
		"[environment]\nnetwork_mode = 'public'":               `environment.network_mode = "public": it needs the network`,
		"[verifier]\nnetwork_mode = 'allowlist'":               `verifier.network_mode = "allowlist": it needs the network`,
		"[environment]\nallowed_hosts = ['pypi.org']":          `environment.allowed_hosts = ["pypi.org"]: it needs the network`,
		"[environment]\ngpus = 1":                              "environment.gpus = 1",
		"[environment]\nworkdir = '/app'":                      `environment.workdir = "/app"`,
		"[environment]\nos = 'windows'":                        `environment.os = "windows": want linux`,
		"[environment.healthcheck]\ncommand = 'x'":             "environment.healthcheck",
		"[[environment.mcp_servers]]\nname = 'x'":              "environment.mcp_servers",
		"[[steps]]\nname = 'one'":                              "[[steps]]",
		"[verifier]\nuser = 'root'":                            "verifier.user = root",
		"[verifier]\nenvironment_mode = 'separate'":            `verifier.environment_mode = "separate"`,
		"[verifier.environment]\ncpus = 2":                     "[verifier.environment]",
		"[verifier]\ntimeout_sec = -1.0":                       "verifier.timeout_sec = -1: want a positive number",
		"[verifier.env]\nKEY = '${KEY}'":                       `verifier.env.KEY = "${KEY}": variables of this machine are not passed on`,
		"[verifier\n":                                          "task.toml:1:10: ",
		"[environment]\nnetwork_mode = 'no-network'\ncpus = 4": "",
	} {
		_, err := Read(MustFolder(t, "task.toml", task, "tests/test.sh", "true"))
		if want == "" && err == nil {
			continue
		}
		if pawl.CodeOf(err) != pawl.CodeInvalid || want == "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", task, err, want)
		}
	}
	_, err := Read(MustFolder(t, "task.toml", "", "tests/test.sh", "true", "environment/Dockerfile", "FROM x"))
	if err == nil || !strings.Contains(err.Error(), `docker_image is not set and there is environment/Dockerfile: it needs an image`) {
		t.Errorf("a task with a Dockerfile: %v", err)
	}
}

func TestRefused(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	many := []string{"a.sh", ""}
	for i := range MaxFiles {
		many = append(many, fmt.Sprintf("overlay/%d", i), "")
	}
	scripts := []string{}
	for i := range MaxScripts + 1 {
		scripts = append(scripts, fmt.Sprintf("%d.sh", i), "")
	}
	for _, row := range []struct {
		want  string
		files []string
	}{
		{"is empty: want scripts *.sh", nil},
		{"has no checks: want scripts *.sh", []string{"README", "", "overlay/a", ""}},
		{"has no checks", []string{"dir.sh/a", ""}},
		{"has both task.toml and a.sh", []string{"task.toml", "", "a.sh", ""}},
		{"tests/test.sh is not there", []string{"task.toml", "", "tests/other.sh", ""}},
		{"no such file", []string{"task.toml", ""}},
		{`the script "a b.sh": want a name`, []string{"a b.sh", ""}},
		{`the script "-x.sh": want a name`, []string{"-x.sh", ""}},
		{"a.sh is a symbolic link to " + outside + ", outside of the folder", []string{"a.sh@", outside}},
		{"overlay/a is a symbolic link to ../../x, outside of the folder", []string{"a.sh", "", "overlay/a@", "../../x"}},
		{"overlay/a is a symbolic link to b, which is not there", []string{"a.sh", "", "overlay/a@", "b"}},
		{"overlay/a is a symbolic link to a folder", []string{"a.sh", "", "overlay/a@", "b", "overlay/b/c", ""}},
		{"overlay is not a folder", []string{"a.sh", "", "overlay@", outside}},
		{"overlay is not a folder", []string{"a.sh", "", "overlay", ""}},
		{"overlay/.git/config: nothing can be laid over .git", []string{"a.sh", "", "overlay/.git/config", ""}},
		{"has more than 2000 files", many},
		{"has 101 scripts: want at most 100", scripts},
		{"holds more than 16 MiB", []string{"a.sh", strings.Repeat("x", MaxBytes), "overlay/a", "y"}},
	} {
		_, err := Read(MustFolder(t, row.files...))
		if pawl.CodeOf(err) != pawl.CodeInvalid || !strings.Contains(err.Error(), row.want) {
			t.Errorf("error %v, want %q", err, row.want)
		}
	}
	for _, dir := range []string{filepath.Join(t.TempDir(), "none"), outside} {
		if _, err := Read(dir); pawl.CodeOf(err) != pawl.CodeInvalid {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if _, err := Read(MustFolder(t, "a.sh", strings.Repeat("x", MaxBytes))); err != nil {
		t.Errorf("as much as can be: %v", err)
	}
	for _, data := range []string{"", "{}", "[", `{"scripts":[{"path":"a"}],"tests":[{"path":"b"}]}`} {
		if _, err := Decode([]byte(data)); pawl.CodeOf(err) != pawl.CodeDamaged {
			t.Errorf("%q is decoded: %v", data, err)
		}
	}
}

func TestCommand(t *testing.T) {
	for script, want := range map[string]string{
		"":                               "/bin/sh f",
		"echo":                           "/bin/sh f",
		"#!/bin/bash\nx":                 "/bin/bash f",
		"#! /bin/bash  -eu \nx":          "/bin/bash|-eu f",
		"#!/usr/bin/env bash\nx":         "/usr/bin/env|bash f",
		"#!/usr/bin/env -S python3 -u\n": "/usr/bin/env|python3|-u f",
		"#!bash\n":                       "/bin/sh f",
		"#!/usr/bin/awk -f a\n":          "/usr/bin/awk|-f a f",
	} {
		argv := Command([]byte(script), "f")
		if got := strings.Join(argv[:len(argv)-1], "|") + " " + argv[len(argv)-1]; got != want {
			t.Errorf("%q is run by %q, want %q", script, got, want)
		}
	}
}

func TestReward(t *testing.T) {
	for _, row := range []struct {
		text, object string // - = the file is not there
		says         string
		passes, ok   bool
	}{
		{"1\n", "-", "reward 1", true, true},
		{"1.0", "-", "reward 1", true, true},
		{"0\n", "-", "reward 0", false, true},
		{"0.99", "-", "reward 0.99", false, true},
		{"", "-", "", false, false},
		{"yes", "-", "", false, false},
		{"-", "-", "", false, false},
		{"-", `{"reward": 1, "seconds": 0.5}`, "reward 1", true, true},
		{"1", `{"reward": 0}`, "reward 0", false, true},
		{"1", `{"style": 0.2}`, "reward 1", true, true},
		{"-", `{"a": 1, "b": 0.5, "note": "x"}`, "a 1, b 0.5", false, true},
		{"-", `{"a": 1, "b": 2}`, "a 1, b 2", true, true},
		{"-", `{"passed": true}`, "", false, false},
		{"1", `[1]`, "", false, false},
		{"1", ``, "", false, false},
	} {
		file := func(s string) []byte {
			if s == "-" {
				return nil
			}
			return []byte(s)
		}
		says, passes, err := Reward(file(row.text), file(row.object))
		if says != row.says || passes != row.passes || (err == nil) != row.ok {
			t.Errorf("%q, %q: %q, passes %t, %v", row.text, row.object, says, passes, err)
		}
	}
}
