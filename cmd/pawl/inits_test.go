//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Most bytes that inits of packages may allocate before main begins. They are a measure of the
// time that every start of the program takes which does not depend on the machine.
const (
	mostInit     = 16 << 10  // of one package of ours
	mostOurInits = 96 << 10  // of all packages of ours
	mostInits    = 900 << 10 // of all packages
)

// What every start of the program pays for is little: regular expressions are compiled and tables are
// made when they are first used.
//
// With -short the test binary takes the place of the program, and inits of packages that only tests use
// are passed over.
func TestInitsAreSmall(t *testing.T) {
	t.Parallel()
	var program string
	counts := func(string) bool { return true }
	if testing.Short() {
		program = pawlProgram(t)
		out, err := exec.Command("go", "list", "-deps", ".").Output()
		if err != nil {
			t.Fatal(err)
		}
		deps := strings.Fields(string(out))
		counts = func(pkg string) bool { return slices.Contains(deps, pkg) }
	} else {
		program = filepath.Join(t.TempDir(), "pawl")
		if out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", program, ".").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	cmd := exec.Command(program, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1", noRaceWait)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	inits := regexp.MustCompile(`(?m)^init (\S+) @.* clock, (\d+) bytes, `).FindAllStringSubmatch(string(out), -1)
	if len(inits) == 0 {
		t.Fatalf("no package has said what its init takes:\n%s", out)
	}
	ours, all := 0, 0
	for _, m := range inits {
		if !counts(m[1]) {
			continue
		}
		bytes, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		all += bytes
		if m[1] != "main" && m[1] != "pawl" && !strings.HasPrefix(m[1], "pawl/") {
			continue
		}
		ours += bytes
		if bytes > mostInit {
			t.Errorf("the init of %s allocates %d bytes, at most %d are expected: make what it makes when it is first used, regular expressions with internal/pattern", m[1], bytes, mostInit)
		}
	}
	if ours == 0 || ours > mostOurInits {
		t.Errorf("the inits of our packages allocate %d bytes, at most %d are expected", ours, mostOurInits)
	}
	if all > mostInits {
		t.Errorf("the inits of all packages allocate %d bytes, at most %d are expected: look for the new one with GODEBUG=inittrace=1", all, mostInits)
	}
	t.Logf("the inits of %d packages allocate %d bytes, those of ours %d", len(inits), all, ours)
}
