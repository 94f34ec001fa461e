package pawl_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every requirement line is named by a test, or by docs/not-testable.md with the
// reason why none shows it. That the test that names it shows it nobody can check.
func TestRequirementsAreNamed(t *testing.T) {
	named := map[string]bool{}
	id := regexp.MustCompile(`\b[DPLVR]-B?[0-9]{2}\b`)
	name := func(text []byte) {
		for _, found := range id.FindAll(text, -1) {
			named[string(found)] = true
		}
	}
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, "_test.go") && !strings.Contains(path, "testdata/") {
			return err
		}
		text, err := os.ReadFile(path)
		name(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("docs/not-testable.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(page) {
		if cells := bytes.Split(line, []byte("|")); len(cells) > 3 {
			name(cells[1])
			if len(bytes.TrimSpace(cells[3])) == 0 {
				t.Errorf("no reason is given: %s", line)
			}
		}
	}
	for kind, last := range map[string]int{"D-": 64, "D-B": 15, "P-": 94, "P-B": 21, "L-": 85, "L-B": 22, "V-": 79, "V-B": 18, "R-": 82, "R-B": 31} {
		for n := 1; n <= last; n++ {
			if id := fmt.Sprintf("%s%02d", kind, n); !named[id] {
				t.Errorf("%s is named neither by a test nor by docs/not-testable.md", id)
			}
		}
	}
}
