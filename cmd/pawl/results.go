package main

import (
	"encoding/json"
	"fmt"
	"strconv"

	"pawl"
	"pawl/internal/gate/review"
	"pawl/internal/tool/submit"
)

// results tells the runner what sessions may hand in, and makes the facts that
// decisions need of it.
type results struct{}

// maxRanked bounds the letters of a ballot that become facts.
const maxRanked = 26

// Spec is the tool that hands in the result of this name.
func (results) Spec(name string) (pawl.ToolSpec, bool) { return submit.Spec(name) }

// Facts are what decisions need of a result, or what is wrong with it. The
// arguments have passed the tool's schema.
func (results) Facts(name string, args json.RawMessage, criteria []pawl.Criterion) (pawl.Facts, string) {
	switch name {
	case "verdict":
		var v review.Verdict
		if err := json.Unmarshal(args, &v); err != nil {
			return nil, err.Error()
		}
		return verdictFacts(v, criteria), ""
	case "assessment":
		var a submit.Assessment
		if err := json.Unmarshal(args, &a); err != nil {
			return nil, err.Error()
		}
		return assessmentFacts(a), ""
	case "proposal":
		var p submit.Proposal
		if err := json.Unmarshal(args, &p); err != nil {
			return nil, err.Error()
		}
		return pawl.Facts{{Name: "confidence", Value: strconv.Itoa(p.Confidence)}}, ""
	case "ballot":
		var b submit.Ballot
		if err := json.Unmarshal(args, &b); err != nil {
			return nil, err.Error()
		}
		var f pawl.Facts
		for i, letter := range b.Ranking {
			if i < maxRanked {
				f = append(f, pawl.Fact{Name: "rank", Value: letter})
			}
		}
		return f, ""
	}
	return nil, ""
}

func verdictFacts(v review.Verdict, criteria []pawl.Criterion) pawl.Facts {
	var ids []string
	for _, c := range criteria {
		ids = append(ids, c.ID)
	}
	o := review.Judge(v, ids)
	f := pawl.Facts{
		{Name: "decision", Value: string(o.Verdict)}, {Name: "met", Value: strconv.Itoa(o.Met)},
		{Name: "total", Value: strconv.Itoa(o.Total)}, {Name: "reason", Value: clip(o.Reason, 300)},
	}
	for i, u := range o.Unmet {
		if i < 20 {
			f = append(f, pawl.Fact{Name: "unmet", Value: clip(u.ID, 20)})
		}
	}
	return f
}

func assessmentFacts(a submit.Assessment) pawl.Facts {
	f := pawl.Facts{
		{Name: "files", Value: fmt.Sprint(a.Files)}, {Name: "lines", Value: fmt.Sprint(a.Lines)},
		{Name: "new_dependencies", Value: fmt.Sprint(a.NewDependencies)}, {Name: "type", Value: string(a.Type)},
	}
	for _, r := range a.Risks {
		f = append(f, pawl.Fact{Name: "risk", Value: string(r)})
	}
	return f
}

// clip shortens s to at most n bytes at a rune's boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
