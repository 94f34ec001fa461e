package runner

import (
	"fmt"
	"slices"

	"pawl"
)

// Bounds of the facts of a result.
const (
	maxFacts  = 600 // bytes of all names and values
	maxReason = 300 // bytes of the one value that is a sentence
	maxValue  = 64  // bytes of any other
)

// boundFacts keeps facts small. A value that is too long keeps its beginning and
// a fingerprint; of values beyond what fits, each name keeps one that says how
// many there are and has their fingerprint. So different facts stay different,
// and none that stands for an objection is lost altogether.
func boundFacts(facts pawl.Facts) pawl.Facts {
	var out pawl.Facts
	size := 0
	for i, f := range facts {
		f = boundFact(f)
		if size += len(f.Name) + len(f.Value); size > maxFacts {
			return append(out, folded(facts[i:])...)
		}
		out = append(out, f)
	}
	return out
}

func boundFact(f pawl.Fact) pawl.Fact {
	switch {
	case f.Name == "reason":
		f.Value = short(f.Value, maxReason)
	case len(f.Value) > maxValue:
		f.Value = short(f.Value, maxValue-17) + fmt.Sprintf("#%016x", fingerprint([]string{f.Value}))
	}
	return f
}

// folded is one fact for all of a name.
func folded(facts pawl.Facts) pawl.Facts {
	var out pawl.Facts
	for _, f := range facts {
		if !slices.ContainsFunc(out, func(o pawl.Fact) bool { return o.Name == f.Name }) {
			values := facts.All(f.Name)
			out = append(out, pawl.Fact{Name: f.Name, Value: fmt.Sprintf("%d more #%016x", len(values), fingerprint(values))})
		}
	}
	return out
}
