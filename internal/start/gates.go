package start

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/ecosystem"
	"pawl/internal/plain"
	"pawl/internal/recipe"
)

// addGates adds the gates of the flags, each in place of the configured one of its name; where
// there are none at all, the ones the repository's own files suggest.
func (s *starting) addGates(repo fs.FS) error {
	set, flags := &s.spec.Settings, &s.req.Flags
	var given []string
	for _, text := range flags.Gate {
		g, err := parseGate(text)
		if err != nil {
			return err
		}
		if slices.Contains(given, g.Name) {
			return wrong("gate", "%q: there is a gate %s already", text, g.Name).WithHint("give it a name of its own: --gate NAME:%s=%s", g.Kind, g.Command)
		}
		given = append(given, g.Name)
		if i := slices.IndexFunc(set.Gates, func(h pawl.GateSpec) bool { return h.Name == g.Name }); i >= 0 {
			set.Gates[i] = g
		} else {
			set.Gates = append(set.Gates, g)
		}
	}
	if len(set.Gates) == 0 {
		s.suggest(ecosystem.Detect(repo))
	}
	for _, name := range flags.AllowMissingGate {
		known := name == pawl.PrepareGate && len(set.Prepare) > 0
		if !known && !slices.ContainsFunc(set.Gates, func(g pawl.GateSpec) bool { return g.Name == name }) {
			return wrong("allow-missing-gate", "%q: there is no such gate", name).WithHint("the gates are: %s", gateNames(set.Gates))
		}
	}
	set.AllowMissingGates = append(set.AllowMissingGates, flags.AllowMissingGate...)
	set.Scope = append(set.Scope, flags.Scope...)
	if err := s.entries(set); err != nil {
		return err
	}
	set.AllowPaths = append(set.AllowPaths, flags.AllowPath...)
	if flags.RequireGreen {
		for i := range set.Gates {
			set.Gates[i].RequireGreen = true
		}
	}
	for _, test := range flags.NotGreen {
		if strings.TrimSpace(test) == "" {
			return wrong("not-green", "names no test")
		}
		if slices.Contains(flags.Green, test) {
			return wrong("not-green", "%q: --green requires the same test", test)
		}
	}
	set.NotGreen = append(set.NotGreen, flags.NotGreen...)
	for _, test := range flags.Green {
		if err := mustPass(set.Gates, test); err != nil {
			return err
		}
	}
	return nil
}

// GateTimeouts returns the time limits of the gates that the configuration has now; none if it cannot
// be read, as nothing but a resumed run's own limits depend on it.
func (r Resolver) GateTimeouts(ctx context.Context) []pawl.GateTimeout {
	s := &starting{Resolver: r, repo: os.DirFS(r.Root)}
	if err := s.configure(ctx); err != nil {
		return nil
	}
	set, err := s.config.Settings()
	if err != nil {
		return nil
	}
	var out []pawl.GateTimeout
	for _, g := range set.Gates {
		out = append(out, pawl.GateTimeout{Gate: g.Name, Timeout: g.Timeout})
	}
	return out
}

// suggest takes the gates that a repository's files suggest.
func (s *starting) suggest(found ecosystem.Project) {
	s.spec.Settings.Gates = found.Gates
	if len(found.Gates) == 0 {
		s.note(`no gates are configured and none could be found: without one the run can only end unverified. Add one: --gate "tests=make test"`)
		return
	}
	s.note("no gates are configured; these follow from the repository's files (pawl init writes them down)")
	if len(found.Prepare) > 0 && len(s.spec.Settings.Prepare) == 0 {
		s.note("the gates need dependencies, and no prepare is configured that installs them (pawl init proposes: " + strings.Join(found.Prepare, "; ") + ")")
	}
}

// checkGates warns of gates that the recipe never runs on what was made, and refuses a run that
// nothing would judge.
// F-12
func (s *starting) checkGates() error {
	r, gates := &s.spec.Recipe, s.spec.Settings.Gates
	if len(gates) > 0 && !recipe.Judges(r, gates) {
		var kinds []string
		for _, g := range gates {
			kinds = append(kinds, g.Name+" of kind "+string(g.Kind))
		}
		return pawl.Errorf(pawl.CodeInvalid, "no gate would judge the result: %s, it has no other gate, and the run has %s", recipe.Runs(r), strings.Join(kinds, ", ")).
			WithField("recipe").WithHint("let a loop of the recipe run all of them, in %s: gates: [{name: gates, commands: [all]}]", cmp.Or(strings.Join(s.spec.Origin.Files, ", "), "a recipe of your own"))
	}
	s.warnOfCriteria()
	for _, g := range gates {
		switch why := recipe.NeverRun(r, g.Kind); {
		case why != "" && g.Kind == pawl.GateHeldOut:
			return pawl.Errorf(pawl.CodeInvalid, "--held-out: nothing would be judged by the checks: %s", why).WithField(field("held-out")).WithHint("name another recipe, such as --recipe pawl")
		case why != "":
			s.spec.Warnings = append(s.spec.Warnings, "gate "+g.Name+" ("+plain.Line(g.Command, 100)+") never judges the result: "+why)
		}
	}
	return nil
}

// warnOfCriteria warns of criteria that nobody may judge the finished work by.
func (s *starting) warnOfCriteria() {
	if len(s.spec.Criteria) == 0 {
		return
	}
	r, review := &s.spec.Recipe, "review of the finished work"
	if s.req.Flags.NoFinalReview {
		review = "other review of the finished work"
	}
	switch recipe.JudgesCriteria(r) {
	case recipe.JudgedNever:
		s.spec.Warnings = append(s.spec.Warnings, fmt.Sprintf("the recipe %s has no %s: nobody judges the criteria, so the run can only end unverified", r.Name, review))
	case recipe.JudgedUnsplit:
		s.spec.Warnings = append(s.spec.Warnings, fmt.Sprintf("the recipe %s has no %s that was split into tasks: if it is split, nobody judges the criteria, and the run can only end unverified", r.Name, review))
	case recipe.JudgedAlways:
	}
}

// mustPass gives a test that must pass to its gate: the one that is named before it, or the only one
// that runs tests.
func mustPass(gates []pawl.GateSpec, test string) error {
	var testing []int
	for i, g := range gates {
		if name, ok := strings.CutPrefix(test, g.Name+"="); ok && g.Kind != pawl.GateTests {
			return wrong("green", "%q: the gate %s runs no tests, it is of kind %s", test, g.Name, g.Kind)
		} else if ok {
			test, testing = name, []int{i}
			break
		}
		if g.Kind == pawl.GateTests {
			testing = append(testing, i)
		}
	}
	switch {
	case strings.TrimSpace(test) == "":
		return wrong("green", "names no test")
	case len(testing) == 0:
		return wrong("green", "%q: no gate runs tests", test).WithHint(`add one: --gate "tests=make test"`)
	case len(testing) > 1:
		return wrong("green", "%q: several gates run tests", test).WithHint("say which: --green %s=%s; they are: %s", gates[testing[0]].Name, test, gateNames(slices.DeleteFunc(slices.Clone(gates), func(g pawl.GateSpec) bool { return g.Kind != pawl.GateTests })))
	}
	g := &gates[testing[0]]
	g.Green = append(g.Green, test)
	return nil
}

func gateNames(gates []pawl.GateSpec) string {
	var names []string
	for _, g := range gates {
		names = append(names, g.Name)
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}

// parseGate reads KIND=COMMAND or NAME:KIND=COMMAND.
func parseGate(text string) (pawl.GateSpec, error) {
	head, command, ok := strings.Cut(text, "=")
	name, kind, named := strings.Cut(head, ":")
	if !named {
		kind = name
	}
	g := pawl.GateSpec{Name: strings.TrimSpace(name), Kind: pawl.GateKind(strings.TrimSpace(kind)), Command: strings.TrimSpace(command)}
	switch g.Kind {
	case pawl.GateTests, pawl.GateTypes, pawl.GateLint, pawl.GateSecurity, pawl.GateFormat:
	default:
		ok = false
	}
	if !ok || g.Name == "" || g.Command == "" {
		return g, wrong("gate", "%q: want KIND=COMMAND or NAME:KIND=COMMAND, with a kind of tests, types, lint, security or format", text).
			WithHint(`for example --gate "tests=go test -json ./..."`)
	}
	return g, nil
}
