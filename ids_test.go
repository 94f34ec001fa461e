package pawl_test

import (
	"bytes"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// lastLine has the number of the last requirement line of each kind. Numbers begin with 1.
var lastLine = map[string]int{"D-": 64, "D-B": 15, "P-": 94, "P-B": 21, "L-": 85, "L-AC": 11, "L-B": 22,
	"V-": 79, "V-B": 18, "R-": 82, "R-B": 31}

// closedFindings has the numbers of defects that reviews found and that are fixed. A test that
// fails without the fix names each.
var closedFindings = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 103, 105, 107, 117, 118, 123, 124, 125, 126, 127, 130, 131}

// maxIDs bounds how many ids a comment names, so that a reader who looks for the test of a
// requirement finds its assertion.
const maxIDs = 5

var (
	idPattern = regexp.MustCompile(`\b(?:[DPLVR]-(?:B?[0-9]{2}|AC[0-9]{1,2})|F-[0-9]{2,})\b`)
	// idRange matches a range of ids, which does not name the ids between its ends.
	idRange = regexp.MustCompile(`[DPLVRF]-[ABC]*[0-9]+\s*(?:…|\.\.|–|—|-|to|through)\s*(?:[DPLVRF]-)?[ABC]*[0-9]+`)
)

// knownIDs returns all ids that a test may name. Numbers have two digits, but that of an
// acceptance criterion has no leading zero.
func knownIDs() map[string]bool {
	known := map[string]bool{}
	for kind, last := range lastLine {
		format := "%s%02d"
		if kind == "L-AC" {
			format = "%s%d"
		}
		for n := 1; n <= last; n++ {
			known[fmt.Sprintf(format, kind, n)] = true
		}
	}
	return known
}

// A test names every requirement line, unless docs/not-testable.md says why no test shows it.
// A test also names every closed finding. The author of a test must prove that it shows the
// lines it names. F-64
func TestRequirementsAreNamed(t *testing.T) {
	known := knownIDs()
	if want := 522; len(known) != want {
		t.Errorf("there are %d requirement lines, want %d", len(known), want)
	}
	named := map[string]bool{}
	for _, f := range testFiles(t) {
		for _, id := range idPattern.FindAllString(f.text, -1) {
			named[id] = true
		}
	}
	excused := excusedIDs(t)
	for _, id := range slices.Sorted(maps.Keys(known)) {
		switch {
		case !named[id] && !excused[id]:
			t.Errorf("neither a test nor docs/not-testable.md names %s", id)
		case named[id] && excused[id]:
			t.Errorf("docs/not-testable.md excuses %s, which a test names", id)
		}
	}
	for _, n := range closedFindings {
		id := fmt.Sprintf("F-%02d", n)
		if known[id] = true; !named[id] {
			t.Errorf("no test names the closed finding %s", id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(named)) {
		if !known[id] {
			t.Errorf("a test names %s, which is not a requirement line or a closed finding", id)
		}
	}
}

// A comment names at most maxIDs ids, each in full. F-64
func TestCommentsNameFewIDs(t *testing.T) {
	for _, f := range testFiles(t) {
		for _, c := range f.comments {
			ids := map[string]bool{}
			for _, id := range idPattern.FindAllString(c.text, -1) {
				ids[id] = true
			}
			if len(ids) > maxIDs {
				t.Errorf("%s names %d ids, want at most %d: name each beside the assertion that holds it", c.at, len(ids), maxIDs)
			}
			if r := idRange.FindString(c.text); r != "" {
				t.Errorf("%s names the range %s: name each id beside the assertion that holds it", c.at, r)
			}
		}
	}
}

func TestIDRange(t *testing.T) {
	for text, want := range map[string]bool{"D-1 … D-5": true, "L-7…8": true, "V-6 to V-7": true, "V-B6–V-B9": true, "P-7..P-8": true,
		"D-1 D-2": false, "D-1, D-2": false, "D-1: to 2": false} {
		if idRange.MatchString(text) != want {
			t.Errorf("%q is a range: %t, want %t", text, !want, want)
		}
	}
}

// excusedIDs returns the ids that docs/not-testable.md lists, and reports those without a
// reason.
func excusedIDs(t *testing.T) map[string]bool {
	t.Helper()
	page, err := os.ReadFile("docs/not-testable.md")
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for line := range bytes.Lines(page) {
		cells := bytes.Split(line, []byte("|"))
		if len(cells) < 4 {
			continue
		}
		for _, id := range idPattern.FindAll(cells[1], -1) {
			ids[string(id)] = true
		}
		if len(bytes.TrimSpace(cells[3])) == 0 {
			t.Errorf("docs/not-testable.md gives no reason: %s", line)
		}
	}
	return ids
}

// testFile is a file of tests, or one that tests read.
type testFile struct {
	text     string
	comments []comment
}

// comment is a block of comment lines and the position of its first line.
type comment struct {
	at, text string
}

// testFiles returns the files of tests and of test suites, and the stories and scripts that
// tests read.
func testFiles(t *testing.T) []testFile {
	t.Helper()
	var all []testFile
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		dir, ext := filepath.ToSlash(filepath.Dir(path)), filepath.Ext(path)
		source := strings.HasSuffix(path, "_test.go") || ext == ".go" && strings.HasSuffix(dir, "test")
		story := strings.Contains(dir+"/", "/testdata/") && (ext == ".txt" || ext == ".txtar")
		if !source && !story {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f := testFile{text: string(text)}
		if source {
			f.comments, err = goComments(path, text)
		} else {
			f.comments = hashComments(path, f.text)
		}
		all = append(all, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func goComments(path string, text []byte) ([]comment, error) {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var all []comment
	for _, g := range f.Comments {
		all = append(all, comment{files.Position(g.Pos()).String(), g.Text()})
	}
	return all, nil
}

// hashComments returns the blocks of lines that begin with a hash.
func hashComments(path, text string) []comment {
	var all []comment
	n, within := 0, false
	for line := range strings.Lines(text) {
		n++
		if !strings.HasPrefix(line, "#") {
			within = false
			continue
		}
		if !within {
			all = append(all, comment{at: fmt.Sprintf("%s:%d", path, n)})
		}
		all[len(all)-1].text += line
		within = true
	}
	return all
}
