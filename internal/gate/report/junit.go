package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"pawl"
	"pawl/internal/pattern"
)

// readJUnit reads JUnit XML: one or more testsuites or testsuite elements,
// whatever stands around them. Entities that a document defines are not known,
// so a document that uses one is damaged; nothing outside it is ever opened.
func readJUnit(c *collector, text []byte) bool {
	c.number = c.runner != RunnerPytest // a test of it whose teardown fails is there twice
	found := false
	for {
		at := bytes.Index(text, []byte("<testsuite"))
		if at < 0 {
			return found
		}
		if !found {
			// Only from here on, so that a large text without a report is not copied.
			text = legalXML(text[at:])
			at = 0
		}
		j := &junit{c: c, dec: xml.NewDecoder(bytes.NewReader(text[at:]))}
		used, err := j.document()
		found = true
		if err != nil {
			c.damage("the JUnit report is damaged: %v", err)
			return true
		}
		text = text[at+used:]
	}
}

var illegalRef = pattern.Of(`&#(x[0-9a-fA-F]{1,8}|[0-9]{1,10});`)

// legalXML takes out what many runners write and XML does not allow: control
// characters, raw or as references, and bytes that are not UTF-8 (they are
// taken for Latin-1).
func legalXML(text []byte) []byte {
	if !utf8.Valid(text) {
		var b bytes.Buffer
		for len(text) > 0 {
			r, n := utf8.DecodeRune(text)
			if r == utf8.RuneError && n == 1 {
				r = rune(text[0])
			}
			b.WriteRune(r)
			text = text[n:]
		}
		text = b.Bytes()
	}
	text = illegalRef.ReplaceAllFunc(text, func(ref []byte) []byte {
		digits, base := string(ref[2:len(ref)-1]), 10
		if digits[0] == 'x' {
			digits, base = digits[1:], 16
		}
		n, err := strconv.ParseInt(digits, base, 64)
		switch {
		case err != nil || n > utf8.MaxRune:
			return nil
		case n == '\x1b':
			return []byte{'\x1b'} // a terminal escape, taken out as a whole below
		case !isXMLChar(rune(n)):
			return nil
		}
		return ref
	})
	if bytes.IndexByte(text, '\x1b') >= 0 {
		text = escapes.ReplaceAll(text, nil)
	}
	return bytes.Map(func(r rune) rune {
		if !isXMLChar(r) {
			return -1
		}
		return r
	}, text)
}

func isXMLChar(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || r >= 0x20 && r <= 0xD7FF || r >= 0xE000 && r <= 0xFFFD || r >= 0x10000 && r <= utf8.MaxRune
}

// junit reads one document, element by element, in bounded memory.
type junit struct {
	c      *collector
	dec    *xml.Decoder
	suites []*junitSuite
}

type junitSuite struct {
	name    string
	claimed int // failures and errors it says it has
	failed  int // those found in it
}

var errDeep = errors.New("it is nested too deeply")

// document reads to the end of the root element and returns how many bytes that took.
func (j *junit) document() (int, error) {
	depth := 0
	for {
		tok, err := j.dec.Token()
		if errors.Is(err, io.EOF) {
			return 0, errors.New("it ends in the middle")
		}
		if err != nil {
			return 0, err
		}
		switch t := tok.(type) {
		case xml.StartElement:
			if depth++; depth > maxDepth {
				return 0, errDeep
			}
			switch t.Name.Local {
			case "testsuites", "testsuite":
				j.open(t)
				continue
			case "testcase":
				err = j.testcase(t)
			case "error", "failure":
				var text string
				text, err = j.body()
				j.suiteFailed(text)
			default:
				_, err = j.body()
			}
			if err != nil {
				return 0, err
			}
			depth--
		case xml.EndElement:
			depth--
			j.close()
			if depth == 0 {
				return int(j.dec.InputOffset()), nil
			}
		}
	}
}

func attr(t xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func (j *junit) open(t xml.StartElement) {
	s := &junitSuite{name: attr(t, "name")}
	for _, name := range []string{"failures", "errors"} {
		if n, err := strconv.Atoi(attr(t, name)); err == nil && n > 0 {
			s.claimed += min(n, 1_000_000)
		}
	}
	j.suites = append(j.suites, s)
}

func (j *junit) suite() *junitSuite {
	if len(j.suites) == 0 {
		return &junitSuite{}
	}
	return j.suites[len(j.suites)-1]
}

// close ends a suite. One that says it has failures of which none is listed
// failed as a whole.
func (j *junit) close() {
	s := j.suite()
	if len(j.suites) > 0 {
		j.suites = j.suites[:len(j.suites)-1]
	}
	if s.claimed > 0 && s.failed == 0 {
		j.c.whole(s.name, suiteFailed, "The report counts failures in this suite and names none.")
		s.failed++
	}
	j.suite().failed += s.failed
}

func (j *junit) suiteFailed(text string) {
	s := j.suite()
	s.failed++
	j.c.whole(s.name, suiteFailed, text)
}

// testcase reads one test to its end.
func (j *junit) testcase(start xml.StartElement) error {
	class, name := j.names(start)
	status := pawl.TestPass
	if s := attr(start, "status"); s == "notrun" || s == "skipped" || s == "disabled" || attr(start, "result") == "skipped" {
		status = pawl.TestSkip
	}
	var out clip
	collection := false
	for {
		tok, err := j.dec.Token()
		if err != nil {
			return err
		}
		if _, end := tok.(xml.EndElement); end {
			break
		}
		t, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		text, err := j.body()
		if err != nil {
			return err
		}
		switch t.Name.Local {
		case "failure", "error":
			status = pawl.TestFail
			message := attr(t, "message")
			collection = collection || message == "collection failure"
			if message = strings.TrimSpace(message); !strings.Contains(text, message) {
				out.write(message + "\n")
			}
			out.write(strings.TrimSpace(text) + "\n")
		case "skipped":
			if status == pawl.TestPass {
				status = pawl.TestSkip
			}
		case "system-out", "system-err":
			out.write(text)
		}
	}
	j.result(class, name, status, out.String(), collection)
	return nil
}

// names are the class and the name of a test. Those of pytest are made into what it prints, a
// node id.
func (j *junit) names(start xml.StartElement) (class, name string) {
	class, name = attr(start, "classname"), attr(start, "name")
	if j.c.runner == RunnerPytest {
		file := attr(start, "file")
		module := strings.ReplaceAll(strings.TrimSuffix(file, ".py"), "/", ".")
		if inner, found := strings.CutPrefix(class+".", module+"."); found && file != "" && name != "" {
			return "", file + "::" + strings.ReplaceAll(inner, ".", "::") + name
		}
	}
	return class, name
}

func (j *junit) result(class, name string, status pawl.TestStatus, output string, collection bool) {
	suite := j.suite()
	if status == pawl.TestFail {
		suite.failed++
	}
	switch {
	case status == pawl.TestFail && (collection || name == "" || name == class && name == suite.name):
		// The file could not be loaded: there are tests in it that have no name here.
		if name == "" || class == "" {
			name = class + name
		}
		j.c.whole(name, collectionFailed, output)
		return
	case class == name:
	case class != "":
		name = class + "." + name
	case j.c.runner != "":
	case suite.name != "":
		name = suite.name + "." + name
	}
	j.c.add(name, status, output)
}

// body reads an element to its end and returns its text, nested text included.
func (j *junit) body() (string, error) {
	var text clip
	for depth := 1; depth > 0; {
		tok, err := j.dec.Token()
		if err != nil {
			return "", err
		}
		switch t := tok.(type) {
		case xml.StartElement:
			if depth++; depth > maxDepth {
				return "", errDeep
			}
		case xml.EndElement:
			depth--
		case xml.CharData:
			text.write(string(t))
		}
	}
	return text.String(), nil
}
