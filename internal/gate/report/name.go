package report

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"pawl/internal/pattern"
)

// Whole names a failure that belongs to no test: a package that does not
// build, a file that cannot be loaded, a run that was abandoned. Such as
// "example.com/m/b [build failed]".
func Whole(name, what string) string {
	return strings.TrimSpace(cut(name, maxName-len(what)-3) + " [" + what + "]")
}

// What a whole can fail in.
const (
	buildFailed      = "build failed"
	setupFailed      = "setup failed"
	packageFailed    = "package failed"
	collectionFailed = "collection failed"
	suiteFailed      = "suite failed"
	bailedOut        = "bailed out"
	planNotMet       = "plan not met"
)

var wholePattern = pattern.Of(` \[(build|setup|package|collection|suite) failed\]$| \[(bailed out|plan not met)\]$`)

// IsWhole reports whether the name is one that [Whole] made.
func IsWhole(name string) bool {
	return strings.HasSuffix(name, "]") && wholePattern.MatchString(name)
}

var goTestName = pattern.Of(`\.((?:Test|Example|Benchmark|Fuzz)[^.]*.*)$`)

// Split parts a test's name into where the test is (a package, file or class;
// it may be empty) and what it is called there.
func Split(name string) (place, local string) {
	// The parameters of a test may hold anything: only what is before them counts.
	head := name
	if i := strings.IndexAny(name, "[("); i > 0 {
		head = name[:i]
	}
	if i := strings.Index(head, " > "); i >= 0 {
		return name[:i], name[i+len(" > "):]
	}
	if m := goTestName.FindStringSubmatchIndex(name); m != nil {
		return name[:m[0]], name[m[2]:]
	}
	if i := strings.LastIndex(head, "::"); i >= 0 {
		return name[:i], name[i+len("::"):]
	}
	if i := strings.IndexByte(head, ' '); i > 0 {
		head = head[:i]
	}
	if strings.Contains(head, "/") {
		return "", name
	}
	if i := strings.LastIndexByte(head, '.'); i > 0 && i+1 < len(name) {
		return name[:i], name[i+1:]
	}
	return "", name
}

// Parent is the test that a subtest belongs to; empty when the test is none.
func Parent(name string) string {
	_, local := Split(name)
	i := strings.LastIndexByte(local, '/')
	if i <= 0 {
		return ""
	}
	return name[:len(name)-len(local)+i]
}

// Within reports whether a test belongs to a package, file, suite or test.
func Within(name, place string) bool {
	if name == place {
		return true
	}
	rest, ok := strings.CutPrefix(name, place)
	if !ok || place == "" {
		return false
	}
	for _, sep := range []string{".", "::", "/", " > "} {
		if strings.HasPrefix(rest, sep) {
			return true
		}
	}
	return false
}

// name makes a name fit to be kept, with paths relative to the checkout.
func (c *collector) name(s string) string { return Name(c.relative(s)) }

// Name makes a name fit to be kept: one line, no control characters, and short.
func Name(s string) string {
	s = clean(s)
	if len(s) <= maxName {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return cut(s, maxName-12) + "~" + hex.EncodeToString(sum[:5])
}

// relative takes the checkout's own path out of a text.
func (c *collector) relative(s string) string {
	for _, root := range c.roots {
		if root != "" && strings.Contains(s, root) {
			s = strings.ReplaceAll(s, "file://"+root+"/", "")
			s = strings.ReplaceAll(s, root+"/", "")
			s = strings.ReplaceAll(s, root, ".")
		}
	}
	return s
}
