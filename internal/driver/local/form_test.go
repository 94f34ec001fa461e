package local

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// PrintsForm is set for a process of the tests that prints its form.
const PrintsForm = "PAWL_TEST_PRINTS_FORM"

// PrintForm prints the form after somebody wrote a line to this process.
func PrintForm() {
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	fmt.Println(form())
}

// build makes a program that does nothing.
func build(t *testing.T, name, says string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, name)
	if err := os.WriteFile(source, fmt.Appendf(nil, "package main\n\nfunc main() { println(%q) }\n", says), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", append(append([]string{"build", "-o", program}, flags...), source)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// Each program has a form of its own, and one without a build ID has none.
func TestForm(t *testing.T) {
	form := func(program string) string {
		f, err := os.Open(program)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		return formOf(f)
	}
	stripped := []string{"-trimpath", "-ldflags=-s -w"}
	one, again, other := build(t, "one", "1", stripped...), build(t, "again", "1", stripped...), build(t, "other", "2", stripped...)
	if form(one) == "" || form(one) != form(again) || form(one) == form(other) {
		t.Errorf("the forms are %q, again %q, and of another program %q", form(one), form(again), form(other))
	}
	if got := form(build(t, "bare", "1", "-trimpath", "-ldflags=-s -w -buildid=")); got != "" {
		t.Errorf("a program without a build ID has the form %q", got)
	}
	for _, text := range []string{"", "\x7fELF", "Go\x00\x00", strings.Repeat("\x00", headSize) + "\xff Go build ID: \"1"} {
		if got := formOf(strings.NewReader(text)); got != "" {
			t.Errorf("%.20q has the form %q", text, got)
		}
	}
	if formOf(strings.NewReader("MZ\xff Go build ID: \"1")) == formOf(strings.NewReader("MZ\xff Go build ID: \"2")) {
		t.Error("two build IDs have one form")
	}
}

// A program whose file is replaced while it runs has the form it had.
func TestFormOfAReplacedProgram(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells the file of a process")
	}
	mine, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, mine, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), PrintsForm+"=1")
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if inErr != nil || outErr != nil {
		t.Fatal(inErr, outErr)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	if line, err := said.ReadString('\n'); line != "ready\n" {
		t.Fatalf("it said %q, %v", line, err)
	}
	if err := os.Rename(build(t, "newer", "newer"), program); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(in)
	line, err := said.ReadString('\n')
	if got := strings.TrimSpace(line); err != nil || got == "" || got != form() {
		t.Errorf("its form is %q, want %q (%v)", got, form(), err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
