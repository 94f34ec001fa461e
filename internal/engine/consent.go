package engine

import (
	"strconv"
	"strings"

	"pawl"
)

// Consent remembers which of the repository's prepare commands the user allowed.
// Implemented in internal/project.
type Consent interface {
	// PrepareAllowed reports whether commands with this hash were allowed.
	PrepareAllowed(commands pawl.Hash) (bool, error)
	// AllowPrepare remembers that these commands are allowed.
	AllowPrepare(hash pawl.Hash, commands []string) error
}

// maxPrepare bounds the prepare commands of a repository, in bytes: a person reads them
// before allowing them.
const maxPrepare = 8 << 10

// settlePrepare says who chose the prepare commands of a request. If the request does
// not say, they are treated as the repository's: whatever is frozen without an origin
// would count as allowed.
func settlePrepare(s *pawl.Settings) error {
	switch {
	case len(s.Prepare) == 0:
		s.PrepareFrom = ""
	case s.PrepareFrom == "":
		s.PrepareFrom = pawl.FromRepository
	case s.PrepareFrom != pawl.FromUser && s.PrepareFrom != pawl.FromRepository:
		return pawl.Errorf(pawl.CodeInvalid, "prepare_from is %q, want %s or %s", s.PrepareFrom, pawl.FromUser, pawl.FromRepository)
	}
	return nil
}

// allowed reports whether a run may have its prepare commands: they are the user's, or allowed by
// the request or before.
func (e *Engine) allowed(spec *pawl.RunSpec) (bool, error) {
	s := &spec.Settings
	if s.PrepareFrom != pawl.FromRepository {
		return true, nil
	}
	if n := len(strings.Join(s.Prepare, "\n")); n > maxPrepare {
		return false, pawl.Errorf(pawl.CodeInvalid, "the repository's prepare commands have %d bytes, want at most %d", n, maxPrepare).
			WithHint("put them into a script of the repository")
	}
	if spec.AllowPrepare == s.PrepareHash() {
		return true, nil
	}
	return e.c.Consent.PrepareAllowed(s.PrepareHash())
}

// consent refuses prepare commands of the repository that the user has not allowed, and
// remembers them if the request allows them.
func (e *Engine) consent(spec *pawl.RunSpec) error {
	s := &spec.Settings
	hash := s.PrepareHash()
	switch allowed, err := e.allowed(spec); {
	case err != nil:
		return err
	case !allowed:
		err := pawl.Errorf(pawl.CodeConsent, "you have not allowed the commands that this repository wants to run before its gates: %s (hash %s)", listed(s.Prepare), hash).
			WithHint("read them, then allow them, once for all runs: add --yes-prepare to the command, or the hash as allow_prepare to a start request").WithField("allow_prepare")
		err.About = hash
		return err
	case s.PrepareFrom == pawl.FromRepository && spec.AllowPrepare == hash:
		return e.c.Consent.AllowPrepare(hash, s.Prepare)
	}
	return nil
}

// listed quotes commands, so that nothing in them is hidden.
func listed(commands []string) string {
	quoted := make([]string, len(commands))
	for i, c := range commands {
		quoted[i] = strconv.Quote(c)
	}
	return strings.Join(quoted, ", ")
}
