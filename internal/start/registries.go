package start

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/ecosystem"
	"pawl/internal/egress"
)

// AddRegistries adds to the settings the egress rules of the registries that the package
// managers of a project use as the user with this environment has configured them, and the
// variables that tell the package managers so. The notes say what could not be passed on.
func AddRegistries(environ []string, s *pawl.Settings, found ecosystem.Project) (notes []string) {
	user := ecosystem.Client{Environ: environ, Home: config.Variable(environ, "HOME")}
	registries, variables, notes := ecosystem.Registries(found, user)
	for _, v := range variables {
		// A room adds the modules that are on this machine to a GOPROXY of the environment.
		if !strings.HasPrefix(v, "GOPROXY=") || config.Variable(environ, "GOPROXY") == "" {
			s.PrepareEnviron = append(s.PrepareEnviron, v)
		}
	}
	for _, rule := range registries {
		if _, err := egress.Parse(rule); err != nil { // it is from the user's files, not from egress
			notes = append(notes, fmt.Sprintf("the registry %q is not reached by prepare: %v", rule, err))
		} else if !slices.ContainsFunc(s.Egress, func(named string) bool { return named == rule || strings.HasPrefix(named, rule+"=") }) {
			s.Egress = append(s.Egress, rule)
		}
	}
	return notes
}
