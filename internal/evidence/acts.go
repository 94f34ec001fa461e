package evidence

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"pawl"
	"pawl/internal/pattern"
)

// Some files of a project are ordinary, and run something wherever it is installed or opened. They act elsewhere if a
// line that does so is new.

// acting says which lines of a file act elsewhere than in the gates.
type acting struct {
	names    []string         // of files, with * at most once; with a slash they are ends of paths
	lines    *pattern.Pattern // those that do, below "[section] " where a file has sections; nil = none
	harmless *pattern.Pattern // those that do nothing unexpected; nil = none
	added    bool             // so does any file that is new
	does     string
}

var actings = []acting{
	{
		names: []string{"setup.py"}, does: "it runs wherever the project is installed",
		lines: pattern.Of(`\b(?:subprocess|popen|Popen|os\.(?:system|exec\w*|spawn\w*)|cmdclass|urlopen|urlretrieve|requests\.|socket|b64decode|__import__|ctypes|winreg|exec|eval)\b`),
		// Projects keep the version in a module that cannot be imported before they are installed.
		harmless: pattern.Of(`^[^(]*\bexec\((?:compile\()?(?:open\([^)]*(?:version|__init__|about|meta)[^)]*\)|f|fp|fh|file|version_file|handle)\.read\(\)`),
	},
	{
		names: []string{"pyproject.toml", "setup.cfg"}, does: "it runs wherever the project is installed",
		lines: pattern.Of(`^\[build-system\] *(?:build-backend|backend-path) *=|^\[tool\.hatch\.build\.(?:.+\.)?hooks\.|^\[tool\.hatch\.metadata\.hooks\.custom|^\[tool\.setuptools\.cmdclass|^\[tool\.poetry\.build\]|` +
			`^\[tool\.poetry\] *build *=|^\[tool\.pdm\.build\] *(?:custom-hook|run-setuptools) *=|^\[(?:options|global)\] *(?:cmdclass|setup_hooks) *=`),
		harmless: pattern.Of(`build-backend *= *["'](?:setuptools\.build_meta(?::__legacy__)?|hatchling\.build|flit(?:_core)?\.buildapi|poetry(?:\.core)?\.masonry\.api|pdm\.backend|maturin|scikit_build_core\.build|mesonpy|uv_build|whey)["']|` +
			`hooks\.(?:vcs|version)\]`),
	},
	{
		names: []string{".cargo/config.toml", ".cargo/config"}, does: "cargo runs it wherever somebody builds below it",
		lines: pattern.Of(`(?:^|[\] .{,])"?(?:rustc|rustc-wrapper|rustc-workspace-wrapper|rustdoc|runner|linker|credential-provider|credential-process)"? *=|linker=|RUSTC(?:_WORKSPACE)?(?:_WRAPPER)?\b`),
	},
	{
		names: []string{"bunfig.toml"}, does: "bun obeys it wherever somebody runs or installs the project",
		lines:    pattern.Of(`^(?:\[run\] *)?preload *=|^\[install[\w.]*\] *(?:registry|"?@?[\w-]+"?|cafile|ca) *=`),
		harmless: pattern.Of(`^\[install[\w.]*\] *(?:exact|frozenLockfile|saveTextLockfile|production|optional|dev|peer|auto|dryRun|linker|hoistPattern|minimumReleaseAge|dir|disable|disableManifest) *=`),
	},
	{
		names: []string{"binding.gyp"}, added: true, does: "it runs wherever the package is installed",
		lines: pattern.Of(`<!@?\(|["']actions?["']|["']target_conditions["']`),
	},
	{
		names: []string{"flake.nix", "default.nix"}, added: true, does: "it runs for whoever enters its shell or builds with it",
		lines: pattern.Of(`\b(?:shellHook|exec|fetchurl|fetchTarball|builtins\.fetch\w*|postBuild|nixConfig|trusted-public-keys|curl|wget)\b`),
	},
	{
		names: []string{"*.pth"}, does: "Python runs it wherever it is on the path",
		lines: pattern.Of(`^import[ \t;]`),
	},
	{
		names: []string{".pnp.cjs", ".pnp.js", ".pnp.loader.mjs"}, does: "node loads it before everything else",
		lines: pattern.Of(`\b(?:require|import|eval|Function|fetch)\(|\b(?:child_process|process\.env|execSync|spawnSync)\b`),
	},
	{
		names: []string{"gradle-wrapper.properties", "maven-wrapper.properties"}, does: "it is downloaded and run for whoever builds the project",
		lines:    pattern.Of(`^(?:distributionUrl|wrapperUrl)[ \t]*=`),
		harmless: pattern.Of(`=[ \t]*https\\?://(?:services\.gradle\.org|downloads\.gradle\.org|repo\.maven\.apache\.org|repo1\.maven\.org)/`),
	},
}

// is reports whether a file is one of those that it is about.
func (a *acting) is(p string) bool {
	return slices.ContainsFunc(a.names, func(name string) bool {
		before, after, star := strings.Cut(name, "*")
		base := path.Base(p)
		return star && strings.HasPrefix(base, before) && strings.HasSuffix(base, after) || strings.HasSuffix("/"+p, "/"+name)
	})
}

// sectionLine matches the line that begins a section of TOML or INI.
var sectionLine = pattern.Of(`^\[\[?([^\[\]]+)\]?\][ \t]*(?:#.*)?$`)

// found returns the lines of a text that act elsewhere.
func (a *acting) found(text []byte) []string {
	if a.lines == nil || isBinary(text) {
		return nil
	}
	var out []string
	section := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "//") || strings.HasPrefix(line, ";") {
			continue
		}
		if m := sectionLine.FindStringSubmatch(line); m != nil {
			section = "[" + strings.TrimSpace(m[1]) + "] "
			line = ""
		}
		line = section + line
		if a.lines.MatchString(line) && (a.harmless == nil || !a.harmless.MatchString(line)) {
			out = append(out, line)
		}
	}
	return out
}

// runsElsewhere says what a changed file of a project runs wherever it is installed or opened, and did not before;
// empty = nothing is known to.
func (s *Survey) runsElsewhere(f *pawl.FileChange) string {
	if s.has(f.Path, pawl.ClassTest, pawl.ClassSupport) {
		return ""
	}
	for i := range actings {
		a := &actings[i]
		if !a.is(f.Path) || !f.New.Exists() {
			continue
		}
		if a.added && !hadIt(f) && !s.isAllowed(f.Path) {
			return a.does + ", and it is new"
		}
		before := a.found(f.Old.Data)
		for _, line := range a.found(f.New.Data) {
			if !slices.Contains(before, line) && !s.asksFor(a, line) {
				return fmt.Sprintf("%s: %s", a.does, cutLine(line))
			}
		}
	}
	return ""
}

// asksFor reports whether the goal names what makes a line act elsewhere.
func (s *Survey) asksFor(a *acting, line string) bool {
	what := strings.Trim(a.lines.FindString(line), ` []"'=(.{,<!`)
	if i := strings.LastIndexAny(what, ` ."`); i >= 0 {
		what = what[i+1:]
	}
	return len(what) > minMention && mentions(s.c.Goal, what)
}

// maxLine bounds the bytes of a line that a finding shows.
const maxLine = 120

func cutLine(line string) string {
	if len(line) <= maxLine {
		return line
	}
	return strings.ToValidUTF8(line[:maxLine], "") + "…"
}

var (
	// serviceFile matches the files of services that build and review, by their paths.
	serviceFile = pattern.Of(`^(?:\.gitlab-ci\.ya?ml|azure-pipelines[\w-]*\.ya?ml|\.travis\.ya?ml|\.github/workflows/[^/]+\.ya?ml)$`)
	// includes matches what a line of such a file takes in from elsewhere in the repository; includeList begins a list
	// of it, and includeItem is a line of one.
	includes    = pattern.Of(`^[ \t]*(?:-[ \t]+)?(?:local|template|uses|import|include)[ \t]*:[ \t]*["']?(\.?/?[\w.*][\w./*-]*)["']?[ \t]*$`)
	includeList = pattern.Of(`^(?:include|import)[ \t]*:[ \t]*$`)
	includeItem = pattern.Of(`^[ \t]*-[ \t]+["']?(\.?/?[\w.*][\w./*-]*)["']?[ \t]*$`)
)

// included returns the paths that a file of a service takes in.
func included(text string) []string {
	var out []string
	inList := false
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(strings.TrimRight(line, "\r\n"), " #")
		if line != "" && line[0] != ' ' && line[0] != '-' {
			inList = includeList.MatchString(line)
		}
		m := includes.FindStringSubmatch(line)
		if m == nil && inList {
			m = includeItem.FindStringSubmatch(line)
		}
		if m != nil {
			out = append(out, strings.TrimPrefix(path.Clean(m[1]), "/"))
		}
	}
	return out
}

// includedBy returns the file of a service that takes in another one, as base or candidate have it; empty = none does.
func (s *Survey) includedBy(p string) string {
	if s.services == nil {
		s.services = s.readServices()
	}
	for service, names := range s.services {
		for _, name := range names {
			isFile := slices.Contains([]string{".yml", ".yaml"}, path.Ext(name))
			isAction := strings.HasPrefix(service, ".github/") && name != "."
			if isFile && (name == p || doublestar.MatchUnvalidated(name, p)) || isAction && strings.HasPrefix(p, name+"/") {
				return service
			}
		}
	}
	return ""
}

// readServices returns what the files of services take in, by their paths.
func (s *Survey) readServices() map[string][]string {
	var files []string
	if s.c.Paths != nil {
		files = slices.DeleteFunc(slices.Clone(s.c.Paths()), func(p string) bool { return !serviceFile.MatchString(p) })
	}
	for i := range s.c.Files {
		if p := s.c.Files[i].Path; serviceFile.MatchString(p) && !slices.Contains(files, p) {
			files = append(files, p)
		}
	}
	out := map[string][]string{}
	for _, p := range files {
		for _, ofBase := range []bool{true, false} {
			out[p] = append(out[p], included(string(s.c.Read(p, ofBase)))...)
		}
	}
	return out
}
