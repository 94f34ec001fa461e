package evidence

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/pattern"
)

// Of some files only a part acts elsewhere than in the gates. Paths that are policy by their names are in
// internal/evidence/class.

// runsCommand matches the line of a .gitmodules file that runs a command.
var runsCommand = pattern.Of(`(?mi)^[ \t]*update[ \t]*=[ \t]*["']?[ \t]*!`)

// installs are the scripts of package managers that run wherever a package is installed or published, by
// the file that has them.
var installs = map[string][]string{
	"package.json": {"preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare", "prepublish", "prepublishOnly", "prepack", "postpack"},
	"composer.json": {"pre-install-cmd", "post-install-cmd", "pre-update-cmd", "post-update-cmd", "pre-autoload-dump", "post-autoload-dump",
		"post-root-package-install", "post-create-project-cmd"},
}

// actsElsewhere says what in a changed file acts elsewhere than in the gates and did not before; empty =
// nothing is known to. A script that the goal names is asked for.
func (s *Survey) actsElsewhere(f *pawl.FileChange) string {
	base := path.Base(f.Path)
	if base == ".gitmodules" {
		if runsCommand.Match(f.New.Data) && !runsCommand.Match(f.Old.Data) {
			return "it runs a command where submodules are updated"
		}
		return ""
	}
	if text := s.runsElsewhere(f); text != "" {
		return text
	}
	if !s.has(f.Path, pawl.ClassPolicy) && !s.isAllowed(f.Path) {
		if service := s.includedBy(f.Path); service != "" {
			return service + " takes it in"
		}
	}
	before, now := scripts(f.Old.Data, installs[base]), scripts(f.New.Data, installs[base])
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if now[name] != before[name] && !mentions(s.c.Goal, name) {
			changed = append(changed, name)
		}
	}
	if len(changed) == 0 {
		return ""
	}
	return "its script " + strings.Join(changed, ", ") + " runs wherever it is installed or published"
}

// scripts returns those of the scripts of a manifest that have one of the names, as JSON.
func scripts(data []byte, names []string) map[string]string {
	var manifest struct {
		Scripts map[string]json.RawMessage `json:"scripts"`
	}
	if len(names) == 0 || json.Unmarshal(data, &manifest) != nil {
		return nil
	}
	out := map[string]string{}
	for name, script := range manifest.Scripts {
		if slices.Contains(names, name) {
			out[name] = string(script)
		}
	}
	return out
}
