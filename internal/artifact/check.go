package artifact

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"pawl"
	"pawl/internal/tasks"
)

func (p *Plan) check(bad *problems) {
	bad.text("title", p.Title, maxTitle)
	bad.text("overview", p.Overview, maxText)
	bad.texts("phases", p.Phases, 0)
	bad.texts("success_criteria", p.SuccessCriteria, 0)
	bad.texts("non_goals", p.NonGoals, 0)
	bad.texts("risks", p.Risks, 0)
	bad.count("specs", len(p.Specs), 1, MaxSpecs, "put together what belongs together")
	entries := make([]entry, len(p.Specs))
	for i, s := range p.Specs {
		entries[i] = entry{s.Name, s.Title, s.Description, s.Dependencies}
	}
	bad.entries("specs", "dependencies", entries)
	if len(bad.told) == 0 {
		bad.circle("specs", p.Tasks(""))
	}
}

func (s *Spec) check(bad *problems) {
	bad.text("title", s.Title, maxTitle)
	bad.text("parent_plan", s.ParentPlan, maxTitle)
	bad.text("overview", s.Overview, maxText)
	bad.texts("success_criteria", s.SuccessCriteria, 0)
	bad.texts("risks", s.Risks, 0)
	bad.count("phases", len(s.Phases), MinPhases, MaxPhases, "divide the spec into steps that can each be done and checked in one sitting")
	entries := make([]entry, len(s.Phases))
	for i, p := range s.Phases {
		entries[i] = entry{p.Name, p.Title, p.Description, p.DependsOn}
	}
	bad.entries("phases", "depends_on", entries)
	if len(bad.told) == 0 {
		bad.circle("phases", s.Tasks(""))
	}
}

func (p *Phase) check(bad *problems) {
	bad.text("title", p.Title, maxTitle)
	bad.text("task", p.Task, maxText)
	bad.texts("success_criteria", p.SuccessCriteria, 1)
	if p.Notes != "" {
		bad.text("notes", p.Notes, maxText)
	}
	bad.count("tasks", len(p.Work), 1, MaxWork, "say file by file what is to be done, in the order of the work")
	for i, w := range p.Work {
		at := fmt.Sprintf("tasks[%d]", i)
		bad.text(at+".description", w.Description, maxItem)
		bad.file(at+".file", w.File)
		if !slices.Contains([]Action{ActionCreate, ActionModify, ActionDelete}, w.Action) {
			bad.add("%s.action is %s: want create, modify or delete", at, short(string(w.Action)))
		}
	}
	bad.text("validation_command", p.ValidationCommand, MaxCommand)
	if strings.ContainsFunc(p.ValidationCommand, odd) {
		bad.add("validation_command holds a line break or a control character: want one shell line; join several with &&")
	}
}

// entry is what specs and phases have in common.
type entry struct {
	name, title, description string
	depends                  []string
}

// problems collects what is wrong with an artifact.
type problems struct {
	told []string
	more int
}

func (p *problems) add(format string, args ...any) {
	if len(p.told) == maxProblems {
		p.more++
		return
	}
	p.told = append(p.told, fmt.Sprintf(format, args...))
}

func (p *problems) err() error {
	if len(p.told) == 0 {
		return nil
	}
	text := strings.Join(p.told, "; ")
	if p.more > 0 {
		text += fmt.Sprintf("; and %d more", p.more)
	}
	return pawl.Errorf(pawl.CodeInvalid, "%s", text)
}

// text checks that a text says something and is not too long.
func (p *problems) text(field, text string, most int) {
	switch {
	case blank(text):
		p.add("%s is empty", field)
	case len(text) > most:
		p.add("%s has %d bytes: want at most %d", field, len(text), most)
	}
}

func (p *problems) texts(field string, list []string, least int) {
	p.count(field, len(list), least, maxItems, "")
	for i, text := range list {
		p.text(fmt.Sprintf("%s[%d]", field, i), text, maxItem)
	}
}

func (p *problems) count(field string, n, least, most int, advice string) {
	switch {
	case n >= least && n <= most:
		return
	case n == 0:
		p.add("%s is empty: want %s", field, between(least, most))
	default:
		p.add("%s has %d entries: want %s", field, n, between(least, most))
	}
	if advice != "" && len(p.told) > 0 && p.more == 0 {
		p.told[len(p.told)-1] += "; " + advice
	}
}

func between(least, most int) string {
	if least == 0 {
		return fmt.Sprintf("at most %d", most)
	}
	return fmt.Sprintf("%d to %d", least, most)
}

// entries checks the entries of a list that children are spawned from.
func (p *problems) entries(field, depends string, list []entry) {
	at := make(map[string]int, len(list))
	for i, e := range list {
		here := fmt.Sprintf("%s[%d]", field, i)
		first, twice := at[e.name]
		switch {
		case !tasks.IsID(e.name):
			p.add("%s.name is %s: want a letter or digit, then letters, digits, dots, dashes and underscores, at most 60 in all", here, short(e.name))
		case twice:
			p.add("%s.name is %s, as %s[%d].name is: want each name once", here, short(e.name), field, first)
		default:
			at[e.name] = i
		}
		p.text(here+".title", e.title, maxTitle)
		p.text(here+".description", e.description, maxText)
	}
	for i, e := range list {
		for j, name := range e.depends {
			here := fmt.Sprintf("%s[%d].%s[%d]", field, i, depends, j)
			switch _, known := at[name]; {
			case name == e.name:
				p.add("%s is %s itself: nothing can wait for itself", here, short(name))
			case !known:
				p.add("%s is %s, which is not a name in %s", here, short(name), field)
			case slices.Contains(e.depends[:j], name):
				p.add("%s is %s, which is there already", here, short(name))
			}
		}
	}
}

// circle reports entries that wait for each other.
func (p *problems) circle(field string, list []pawl.TaskSpec) {
	if err := tasks.Check(list); err != nil {
		p.add("%s: %s", field, strings.Replace(err.Error(), "the tasks depend", "they depend", 1))
	}
}

// file checks a path relative to the repository that may be worked on.
func (p *problems) file(field, file string) {
	clean := path.Clean(file)
	top, _, _ := strings.Cut(clean, "/")
	switch {
	case blank(file):
		p.add("%s is empty", field)
	case len(file) > maxPath:
		p.add("%s has %d bytes: want at most %d", field, len(file), maxPath)
	case strings.ContainsFunc(file, odd) || !utf8.ValidString(file):
		p.add("%s holds a control character", field)
	case path.IsAbs(file) || clean == "." || clean == ".." || strings.HasPrefix(clean, "../"):
		p.add("%s is %s: want a path inside the repository, relative to its root", field, short(file))
	case top == ".git" || top == ".pawl":
		p.add("%s is %s: nothing below .git and .pawl is worked on", field, short(file))
	}
}

// odd are controls, line breaks and marks that change the direction of text.
func odd(r rune) bool {
	return unicode.IsControl(r) && r != '\t' || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r)
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// short shows a text in a message: on one line, quoted, not long.
func short(s string) string {
	const most = 40
	r := []rune(strings.ToValidUTF8(s, "\uFFFD"))
	if len(r) > most {
		r = append(r[:most], '…')
	}
	return fmt.Sprintf("%q", string(r))
}
