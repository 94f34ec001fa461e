package runner

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// pathLines is a list of paths, one a line. One that would not be a line, or
// could be mistaken for a quoted one, is in double quotes as Go writes them.
func pathLines(paths []string) string {
	var b strings.Builder
	for _, p := range paths {
		if strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f }) || strings.HasPrefix(p, `"`) || !utf8.ValidString(p) {
			p = strconv.Quote(p)
		}
		b.WriteString(p)
		b.WriteByte('\n')
	}
	return b.String()
}

// linePaths are the paths of a list that pathLines wrote. A line that cannot be
// one is left out: a secret may have been taken out of it.
func linePaths(lines string) []string {
	var paths []string
	for line := range strings.Lines(lines) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, `"`) {
			line, _ = strconv.Unquote(line) //nolint:errcheck // it gives the empty string, which is no path
		}
		if line != "" {
			paths = append(paths, line)
		}
	}
	return paths
}

// changedPaths are the paths that a patch as git prints it changes, sorted; of a
// file that was renamed both names. Every line of a file's content has a sign
// before it, so no content can pass for a line that names a path.
func changedPaths(patch []byte) ([]string, error) {
	var names []string
	same := false // the last name is that of a file that kept it, as far as its header tells
	for line := range strings.Lines(string(patch)) {
		line = strings.TrimSuffix(line, "\n")
		if both, ok := strings.CutPrefix(line, "diff --git "); ok {
			var name string
			if name, same = sameName(both); same {
				names = append(names, name)
			}
			continue
		}
		name, renamed := otherName(line)
		if !renamed {
			continue
		}
		if same {
			names, same = names[:len(names)-1], false
		}
		names = append(names, name)
	}
	for i := range names {
		if !strings.HasPrefix(names[i], `"`) { // git quotes names that are not plain
			continue
		}
		plain, err := strconv.Unquote(names[i])
		if err != nil {
			return nil, fmt.Errorf("a patch names the file %s: %w", names[i], err)
		}
		names[i] = plain
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// otherName is what a line says about a file that was renamed.
func otherName(line string) (name string, ok bool) {
	for _, before := range []string{"rename from ", "rename to ", "copy to "} {
		if name, ok = strings.CutPrefix(line, before); ok {
			return name, true
		}
	}
	return "", false
}

// sameName is the path in "a/path b/path"; ok is false when the two differ, as
// they do for a file that was renamed: then lines of their own name both.
func sameName(names string) (path string, ok bool) {
	half := len(names) / 2 // a blank is in the middle
	if len(names)%2 == 0 || half < 3 || names[half] != ' ' {
		return "", false
	}
	left, right := names[:half], names[half+1:]
	if quoted, ok := strings.CutPrefix(left, `"a/`); ok {
		return `"` + quoted, right == `"b/`+quoted
	}
	plain, ok := strings.CutPrefix(left, "a/")
	return plain, ok && right == "b/"+plain
}
