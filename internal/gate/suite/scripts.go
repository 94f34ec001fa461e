package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"pawl/internal/plain"

	"pawl/internal/pattern"
)

// file reads a file of the tree.
func (r reader) file(name string) ([]byte, error) {
	if !fs.ValidPath(name) {
		return nil, fmt.Errorf("%s is not inside the checkout", name)
	}
	if info, err := fs.Stat(r.tree, name); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name) // opening a pipe would wait
	}
	f, err := r.tree.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read", name)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxReadFile+1))
	if err != nil || len(data) > maxReadFile {
		return nil, fmt.Errorf("%s cannot be read or has more than %d bytes", name, maxReadFile)
	}
	return data, nil
}

// script reads the script of package.json that npm, pnpm or yarn runs; nil when the command
// runs none.
func (r reader) script(manager string, args []word, dir string, depth int) (*Suite, error) {
	name, folder := "", ""
	for len(args) > 0 && name == "" {
		w := args[0]
		args = args[1:]
		switch {
		case !w.known:
			return nil, errors.New("which script it runs is known to the shell alone")
		case slices.Contains([]string{"--prefix", "-C", "--dir", "--cwd"}, w.value) && len(args) > 0:
			if folder = path.Clean(args[0].value); !args[0].known || !fs.ValidPath(folder) {
				return nil, errors.New("the folder of its script is not inside the checkout")
			}
			args = args[1:]
		case slices.Contains([]string{"-s", "--silent", "--offline", "--if-present"}, w.value):
		case strings.HasPrefix(w.value, "-"):
			return nil, fmt.Errorf("what %s %s means is not known", manager, w.value)
		case w.value == "run" || w.value == "run-script":
		case w.value == "t" && manager != "yarn":
			name = "test"
		case w.value == "exec" || w.value == "dlx":
			return nil, nil
		default:
			name = w.value
		}
	}
	if name == "" {
		return nil, errNoRunner
	}
	dir = path.Join(dir, folder)
	data, err := r.file(path.Join(dir, "package.json"))
	if err != nil {
		return nil, err
	}
	var manifest struct {
		Scripts map[string]string `json:"scripts"`
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		return nil, errors.New("package.json is no JSON with scripts")
	}
	line, there := manifest.Scripts[name]
	if !there {
		if manager == "npm" {
			return nil, fmt.Errorf("package.json has no script %s", name)
		}
		return nil, nil // a program of a dependency
	}
	s, err := r.line(line, dir, depth+1)
	if err != nil {
		return nil, fmt.Errorf("script %s of package.json: %w", name, err)
	}
	for len(args) > 0 && (slices.Contains([]string{"--silent", "-s"}, args[0].value) || args[0].value == "--" && manager != "pnpm") {
		args = args[1:]
	}
	if s.inner && len(args) > 0 {
		return nil, errors.New("its script is given arguments")
	}
	for _, hook := range []string{"pre" + name, "post" + name} {
		if manifest.Scripts[hook] != "" {
			s.hooks = "the script " + hook
		}
	}
	s.words = append(slices.Clone(s.words), args...)
	if s.indirect = manager + " run " + name; name == "test" {
		s.indirect = manager + " test"
	}
	bin := `PATH="$PWD/node_modules/.bin:$PATH"; export PATH; `
	s.before = enter(folder) + bin + strings.TrimPrefix(s.before, bin)
	return s, nil
}

// enter is what a line begins with that is run in a folder; empty = in the one it is in.
func enter(folder string) string {
	if folder == "" || folder == "." {
		return ""
	}
	return "cd " + plain.Word("./"+folder) + " && "
}

// beyond are the things in a Makefile that make a recipe's line mean something else than it
// says, or run something else with it.
var beyond = pattern.Of(`(?m)^\s*(?:-?include|sinclude|export|unexport|override|define|undefine|load|vpath|if(?:n?eq|n?def))\b|^\.(?:ONESHELL|SHELLFLAGS|DEFAULT|POSIX|EXPORT_ALL_VARIABLES)\b|^(?:SHELL|MAKEFLAGS|PATH)\s*[:?+!]*=`)

var (
	makeVariable = pattern.Of(`^([A-Za-z_][\w.]*)\s*(\?|::?)?=\s*(.*)$`)
	makeRule     = pattern.Of(`^([^\s:#=][^:#=]*?)\s*:\s*([^=]*)$`)
	makeRef      = pattern.Of(`\$(?:\$|[({][A-Za-z_][\w.]*[)}]|.?)`)
)

// makeTarget reads the recipe of a make target that has one line.
func (r reader) makeTarget(_ string, args []word, dir string, depth int) (*Suite, error) {
	target, folder := "", ""
	for len(args) > 0 {
		w := args[0]
		args = args[1:]
		switch {
		case !w.known:
			return nil, errors.New("which target it makes is known to the shell alone")
		case w.value == "-C" && len(args) > 0:
			if folder = path.Clean(args[0].value); !args[0].known || !fs.ValidPath(folder) {
				return nil, errors.New("the folder of its Makefile is not inside the checkout")
			}
			args = args[1:]
		case slices.Contains([]string{"-s", "--silent", "--no-print-directory"}, w.value):
		case strings.HasPrefix(w.value, "-") || strings.Contains(w.value, "=") || target != "":
			return nil, fmt.Errorf("what make %s means is not known", w.value)
		default:
			target = w.value
		}
	}
	if target == "" {
		return nil, errors.New("make is run without a target")
	}
	dir = path.Join(dir, folder)
	var text []byte
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} {
		if data, err := r.file(path.Join(dir, name)); err == nil {
			text = data
			break
		}
	}
	if text == nil {
		return nil, errors.New("there is no Makefile that can be read")
	}
	line, needs, err := recipe(string(text), target)
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", target, err)
	}
	s, err := r.line(line, dir, depth+1)
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", target, err)
	}
	if s.inner || s.hooks != "" {
		return nil, fmt.Errorf("make %s: what it runs is not known", target)
	}
	s.indirect, s.hooks, s.before = "make "+target, needs, enter(folder)+s.before
	return s, nil
}

// recipe returns the only line of a target's recipe, with variables replaced, and what else is
// made for it.
func recipe(text, target string) (line, needs string, err error) {
	if m := beyond.FindStringSubmatch(text); m != nil {
		return "", "", fmt.Errorf("the Makefile has %q", strings.TrimSpace(m[0]))
	}
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\\\n", " ")
	variables := map[string]string{}
	var lines []string
	found, in := false, false
	for _, l := range strings.Split(text, "\n") {
		if rest, isRecipe := strings.CutPrefix(l, "\t"); isRecipe {
			if in && strings.TrimSpace(rest) != "" && !strings.HasPrefix(strings.TrimSpace(rest), "#") {
				lines = append(lines, strings.TrimSpace(rest))
			}
			continue
		}
		if l = strings.TrimSpace(l); l == "" || l[0] == '#' {
			continue
		}
		in = false
		if m := makeVariable.FindStringSubmatch(l); m != nil {
			if _, twice := variables[m[1]]; twice || strings.Contains(m[3], "#") {
				variables[m[1]] = "$" // not known
				continue
			}
			variables[m[1]] = m[3]
			continue
		}
		m := makeRule.FindStringSubmatch(l)
		if m == nil {
			if strings.HasPrefix(l, target) {
				return "", "", fmt.Errorf("its rule %q is not known", l)
			}
			continue
		}
		names := strings.Fields(m[1])
		if slices.Contains(names, target) {
			if in = true; found {
				return "", "", errors.New("it has more than one rule")
			}
			found = true
			if need, _, _ := strings.Cut(m[2], "#"); strings.TrimSpace(need) != "" {
				needs = strings.TrimSpace(need)
			}
			if strings.Contains(needs, ";") {
				return "", "", errors.New("its recipe is on the line of its rule")
			}
		}
	}
	switch {
	case !found:
		return "", "", errors.New("the Makefile has no rule for it")
	case len(lines) != 1:
		return "", "", fmt.Errorf("its recipe has %d lines, not one", len(lines))
	}
	line = strings.TrimSpace(strings.TrimPrefix(lines[0], "@"))
	if strings.HasPrefix(line, "-") || strings.HasPrefix(line, "+") {
		return "", "", errors.New("its recipe ignores errors or runs in any case")
	}
	x := expander{variables: variables}
	line = x.expand(line, 0)
	return line, needs, x.err
}

// maxReferences bounds how many references to variables a recipe has in the end.
const maxReferences = 100

// expander replaces the variables that a Makefile sets once, to a text.
type expander struct {
	variables map[string]string
	replaced  int
	err       error
}

func (x *expander) expand(text string, depth int) string {
	return makeRef.ReplaceAllStringFunc(text, func(ref string) string {
		value, known := x.variables[strings.Trim(ref, "$(){}")]
		x.replaced++
		switch {
		case ref == "$$" && depth == 0:
			return "$"
		case x.err != nil:
			return ""
		case !known || value == "$" || depth > maxNesting || len(ref) < 4 || len(value) > 1_000 || x.replaced > maxReferences:
			x.err = fmt.Errorf("its recipe uses %s", ref)
			return ""
		}
		return x.expand(value, depth+1)
	})
}
