package start

import (
	"slices"
	"strings"

	"pawl"
	"pawl/internal/pattern"
)

// entryName matches the name of an entry of context or metadata.
var entryName = pattern.Of(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)

// maxEntry is how many bytes an entry of context or metadata may have.
const maxEntry = 4000

// entries takes over the context and the metadata of a request.
func (s *starting) entries(set *pawl.Settings) error {
	for _, x := range []struct {
		flag  string
		given []string
		to    *[]string
	}{{"context", s.req.Flags.Context, &set.Context}, {"metadata", s.req.Flags.Metadata, &set.Metadata}} {
		names := map[string]bool{}
		for _, kv := range x.given {
			name, value, ok := strings.Cut(kv, "=")
			switch {
			case !ok || strings.TrimSpace(value) == "" || !entryName.MatchString(name):
				return wrong(x.flag, "%q: want NAME=VALUE", kv)
			case names[name]:
				return wrong(x.flag, "%q is given twice", name)
			case len(kv) > maxEntry:
				return wrong(x.flag, "%q has %d bytes: want at most %d", name, len(kv), maxEntry)
			}
			names[name] = true
			*x.to = append(*x.to, kv)
		}
	}
	return nil
}

// dropFinalReview takes the reviews out of the final gates of the recipe that is frozen with the run.
func (s *starting) dropFinalReview() error {
	r := &s.spec.Recipe
	r.Kinds = slices.Clone(r.Kinds)
	k := r.Kind(r.Start)
	if k == nil || !slices.ContainsFunc(k.FinalGates, isReview) {
		return wrong("no-final-review", "has no effect: recipe %s has no final review", r.Name)
	}
	k.FinalGates = slices.DeleteFunc(slices.Clone(k.FinalGates), isReview)
	return nil
}

func isReview(st pawl.Stage) bool { return st.Review != nil }
