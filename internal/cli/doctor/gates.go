package doctor

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/ecosystem"
	"pawl/internal/egress"
	"pawl/internal/pattern"
	"pawl/internal/start"
)

// gates checks that a run started here would be judged, and that commands find the programs of
// its gates.
func (e *examination) gates(cfg *config.Config) {
	if e.repo == nil {
		e.skip("gates", "a repository")
		e.skip("prepare", "a repository")
		return
	}
	settings, err := cfg.Settings()
	if err != nil { // which models says
		e.skip("gates", "a configuration")
		e.skip("prepare", "a configuration")
		return
	}
	found := ecosystem.Detect(os.DirFS(e.repo.Root))
	gates := settings.Gates
	if len(gates) == 0 {
		gates = found.Gates
	}
	missing := e.missing(gates)
	switch {
	case len(gates) == 0:
		e.warn("gates", "none are set, and none follow from the repository's files: a run can only end unverified",
			`name the command that judges an attempt in .pawl/config.yaml, or with --gate "tests=make test"`)
	case len(missing) > 0:
		e.warn("gates", names(gates)+"; commands do not find "+strings.Join(missing, ", "), "install them where PATH finds them, or change the gates")
	case len(settings.Gates) == 0:
		e.warn("gates", "none are set; runs use what follows from the repository's files: "+names(gates), "pawl init writes them to "+config.RepoFile)
	default:
		e.ok("gates", names(gates))
	}
	e.prepare(cfg, &settings, found)
}

// prepare checks the commands that put the dependencies in place.
func (e *examination) prepare(cfg *config.Config, settings *pawl.Settings, found ecosystem.Project) {
	commands, proposed := settings.Prepare, found.Prepare
	missing := e.absent(commands)
	var refused []string
	if len(commands) > 0 {
		start.AddRegistries(e.app.Environ, settings, found)
		var err error
		if refused, err = e.probes.Egress(e.ctx, settings.Egress); err != nil {
			refused = []string{err.Error()}
		}
	}
	switch {
	case len(missing) > 0:
		e.warn("prepare", strings.Join(commands, "; ")+": commands do not find "+strings.Join(missing, ", "), "install it where PATH finds it, or change prepare")
	case len(refused) > 0 && !slices.ContainsFunc(refused, func(line string) bool { return !strings.Contains(line, egress.Unresolved) }):
		e.warn("prepare", strings.Join(commands, "; ")+": "+strings.Join(refused, "; "), "look at the network and the name server of this machine, or name a mirror in the package manager's configuration")
	case len(refused) > 0:
		e.warn("prepare", strings.Join(commands, "; ")+": "+strings.Join(refused, "; "), "egress is a setting of your own configuration, "+e.app.UserConfig()+", and a flag of pawl run")
	case len(commands) > 0:
		e.ok("prepare", strings.Join(commands, "; "))
	case len(proposed) > 0 && !isSet(cfg, "prepare"):
		e.warn("prepare", "none is set, but the gates need dependencies", "set prepare in "+config.RepoFile+"; pawl init proposes: "+strings.Join(proposed, "; "))
	default:
		e.ok("prepare", "there is nothing to prepare")
	}
}

// isSet reports whether a setting was given, and be it an empty list.
func isSet(cfg *config.Config, key string) bool {
	return slices.ContainsFunc(cfg.Explain(), func(v config.Value) bool { return v.Key == key && v.Origin != "default" })
}

func names(gates []pawl.GateSpec) string {
	list := make([]string, len(gates))
	for i, g := range gates {
		list[i] = g.Name
	}
	return strings.Join(list, ", ")
}

// missing returns the programs of gates that commands do not find, each with the gates that
// need it.
func (e *examination) missing(gates []pawl.GateSpec) []string {
	var list []string
	needs := map[string][]string{}
	for _, g := range gates {
		if g.Optional {
			continue // it is skipped then
		}
		for _, program := range e.absent([]string{g.Command}) {
			if needs[program] == nil {
				list = append(list, program)
			}
			needs[program] = append(needs[program], g.Name)
		}
	}
	for i, program := range list {
		list[i] = fmt.Sprintf("%s (%s)", program, strings.Join(needs[program], ", "))
	}
	return list
}

// absent returns the programs in shell lines that commands do not find.
func (e *examination) absent(lines []string) []string {
	var list []string
	for _, line := range lines {
		for _, program := range programs(line) {
			if e.probes.Program(program) == "" && !slices.Contains(list, program) {
				list = append(list, program)
			}
		}
	}
	return list
}

var (
	quoted     = pattern.Of(`'[^']*'|"[^"]*"|\\.`)
	separators = pattern.Of("\\$\\(|[;&|\\n(){}`]")
	assignment = pattern.Of(`^[A-Za-z_]\w*=`)
	program    = pattern.Of(`^[A-Za-z0-9][\w.+-]*$`)
)

// builtin are words of the shell itself, and those after which no program comes.
const builtin = " . : alias break case cd continue done echo esac eval exit export false fi for function in printf pwd read return set shift source test trap true type ulimit umask unset wait "

// leading are words of the shell after which a program comes.
const leading = " ! command do elif else exec if then time until while "

// programs returns the programs that a shell line runs by name, as far as its words tell.
func programs(line string) []string {
	var list []string
	for part := range strings.SplitSeq(separators.ReplaceAllString(quoted.ReplaceAllString(line, "''"), "\n"), "\n") {
		for _, word := range strings.Fields(part) {
			if assignment.MatchString(word) || strings.Contains(leading, " "+word+" ") {
				continue
			}
			if program.MatchString(word) && !strings.Contains(builtin, " "+word+" ") && !slices.Contains(list, word) {
				list = append(list, word)
			}
			break
		}
	}
	return list
}
