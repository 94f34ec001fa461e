package pawl

import "strings"

// What a gate's verdict is worth depends on what it looks at: its tests, the files they need, its
// scripts. Evidence is what is known of how a candidate changed these.

// EvidenceMode says what becomes of findings.
type EvidenceMode string

// The modes, the strictest first.
const (
	EvidenceStrict EvidenceMode = "strict" // a person answers every finding
	EvidenceReview EvidenceMode = "review" // the reviewing gate answers them; without one they are listed
	EvidenceOff    EvidenceMode = "off"    // nothing is looked for
)

// Stricter returns the stricter of two modes. An empty one is the least strict.
func (m EvidenceMode) Stricter(than EvidenceMode) EvidenceMode {
	for _, mode := range []EvidenceMode{EvidenceStrict, EvidenceReview, EvidenceOff} {
		if m == mode || than == mode {
			return mode
		}
	}
	return ""
}

// PathClass says what a changed path, or a part of it, is to the gates.
type PathClass string

// The classes of paths.
const (
	ClassCode       PathClass = "code"       // everything that no other class takes
	ClassTest       PathClass = "test"       // tests
	ClassSupport    PathClass = "support"    // what tests need: set-up files, helpers, fixtures, golden files, snapshots
	ClassGateInput  PathClass = "gate_input" // what a gate runs or reads as its configuration
	ClassVendored   PathClass = "vendored"   // copies of other projects
	ClassPolicy     PathClass = "policy"     // what acts elsewhere than in the gates: CI, editors, hooks, installs, images, shells and agents, such as .github
	ClassDependency PathClass = "dependency" // manifests and lock files
	ClassDocs       PathClass = "docs"       // documentation, which no gate looks at
)

// PathClasses are all classes of paths, in the order in which they are listed.
var PathClasses = []PathClass{ClassCode, ClassTest, ClassSupport, ClassGateInput, ClassVendored, ClassPolicy, ClassDependency, ClassDocs}

// Words returns what people call a class of paths, such as "gate input".
func (c PathClass) Words() string {
	if c == ClassSupport {
		return "test support"
	}
	return strings.ReplaceAll(string(c), "_", " ")
}

// PathRule gives the paths that match a pattern a class.
type PathRule struct {
	Pattern string    `json:"pattern" yaml:"pattern"` // as in .gitignore
	Class   PathClass `json:"class" yaml:"class"`
}

// FindingKind is what is found in a candidate.
type FindingKind string

// The kinds of findings.
const (
	FindExpectation     FindingKind = "expectation"      // the candidate passes with its own expectations and fails with the base's
	FindProvesNothing   FindingKind = "proves_nothing"   // code changed, and no new test fails on the base's code
	FindRemovedTest     FindingKind = "removed_test"     // the runner no longer finds a test that the base had
	FindSkippedTest     FindingKind = "skipped_test"     // a test that ran is skipped, or its failure no longer counts
	FindEmptiedTest     FindingKind = "emptied_test"     // a test has no assertion left
	FindFewerAssertions FindingKind = "fewer_assertions" // a test has lost some of its assertions
	FindGateInput       FindingKind = "gate_input"       // what a gate runs or reads changed, and with it the verdict
	FindSetUp           FindingKind = "set_up"           // a new or changed TestMain, conftest or set-up file
	FindUnlisted        FindingKind = "unlisted"         // the reported tests are not those that the runner lists
	FindVendored        FindingKind = "vendored"         // a vendored file is not the one that the lock describes
	FindPolicy          FindingKind = "policy"           // what acts elsewhere than in the gates changed, or a symlink leaves the tree
	FindSecret          FindingKind = "secret"           // the candidate holds a secret
	FindFlaky           FindingKind = "flaky"            // a test that the candidate added or changed passes and fails by chance
)

// FindingKinds are all kinds of findings.
var FindingKinds = []FindingKind{FindExpectation, FindProvesNothing, FindRemovedTest, FindSkippedTest, FindEmptiedTest, FindFewerAssertions,
	FindGateInput, FindSetUp, FindUnlisted, FindVendored, FindPolicy, FindSecret, FindFlaky}

// Words returns what people call a kind of finding, such as "changed expectation". Of a kind that is not
// known, as of a later version, it returns the kind with blanks for its lines.
func (k FindingKind) Words() string {
	switch k {
	case FindExpectation:
		return "changed expectation"
	case FindProvesNothing:
		return "new tests prove nothing"
	case FindGateInput:
		return "changed gate input"
	case FindSetUp:
		return "changed test set-up"
	case FindUnlisted:
		return "tests the runner does not list"
	case FindVendored:
		return "vendored file differs"
	case FindPolicy:
		return "policy path"
	case FindFlaky:
		return "flaky test"
	}
	return strings.ReplaceAll(string(k), "_", " ") // such as removed test
}

// At says what is found, and where: "changed expectation in calc_test.go".
func (k FindingKind) At(path string) string {
	switch {
	case path == "":
		return k.Words()
	case k == FindPolicy: // the path is what is found
		return k.Words() + " " + path
	}
	return k.Words() + " in " + path
}

// Finding is something in a candidate that may have made a gate pass without the work being done,
// and that somebody has to answer for: the goal asks for it, or it is to be undone.
type Finding struct {
	// ID is F-1 and on, counted in the run; empty as long as it is not raised.
	ID   string      `json:"id,omitempty"`
	Kind FindingKind `json:"kind"`
	// Path is the changed file; empty when the finding is about tests alone.
	Path string `json:"path,omitempty"`
	// Tests are the tests that it is about, by the names that the runner gives them.
	Tests []string `json:"tests,omitempty"`
	// Text says in one sentence what was found.
	Text string `json:"text"`
	// Detail is what to look at, such as the change of the expectation as a diff.
	Detail string `json:"detail,omitempty"`
	// Print tells the finding from others by its content. An answer holds as long as it stays the same.
	Print uint64 `json:"print"`
}

// EvidenceReport is all that is known of how a candidate changed what its gates look at.
type EvidenceReport struct {
	// Commit was compared with Base.
	Commit CommitHash `json:"commit"`
	Base   CommitHash `json:"base"`
	// Paths are the changed paths, sorted. A file with two jobs is there once for each class whose
	// part of it changed.
	Paths    []ChangedPath `json:"paths,omitempty"`
	Findings []Finding     `json:"findings,omitempty"`
	// Remarks are only worth knowing.
	Remarks []string `json:"remarks,omitempty"`
	// Runs are the gates that ran once more, and why.
	Runs []FurtherRun `json:"runs,omitempty"`
}

// ChangedPath is a path that a candidate changed, added or removed.
type ChangedPath struct {
	Path  string    `json:"path"`
	Class PathClass `json:"class"`
}

// Submission is what a structured result is checked against when a session hands it in.
type Submission struct {
	// Goal is what is asked for besides the criteria: the run's goal, and of a task its title
	// and description.
	Goal     []string
	Criteria []Criterion // the task's
	// Findings are the ids of those that a verdict is to answer.
	Findings []string
	// Red are the tests that an assessment may pick as goal tests, as [GoalTest.String] has them.
	Red []string
	// Sources are what the evidence of a verdict may cite; nil = it is not looked up.
	Sources Sources
}

// Sources are what the evidence of a verdict may cite. What cannot be read is not there: whoever
// made them has the error.
type Sources interface {
	// Paths returns the files of the candidate and of its base, each once.
	Paths() []string
	// Lines returns how many lines a file of Paths has, in the candidate or in the base, where
	// it has more.
	Lines(path string) int
	// Tests returns the names of tests in the reports of gates, on the candidate and on the base.
	Tests() []string
	// InTests reports whether a file with tests, of the candidate or of the base, contains the
	// text and not only as a part of a longer word.
	InTests(text string) bool
	// Documents returns the results that steps have handed in, by their names, where these are
	// the work and not files.
	Documents() map[string]string
}
