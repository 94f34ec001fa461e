package runner

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"pawl"
	"pawl/internal/kernel/brief"
)

// Tools that the harness answers from the run's state, and results that are
// more to the runner than their facts.
const (
	toolRemember    = "remember"
	toolBlackboard  = "blackboard"
	resultLearnings = "learnings"
	resultResult    = "result"
	resultDecision  = "decision"
	resultBatch     = "batch"
)

// Bounds of what is remembered and shared.
const (
	maxMemory     = 600 // bytes of an entry of the memory; the rest is cut
	maxMemories   = 12  // entries of one result
	maxBoardKey   = 60  // bytes
	maxBoardValue = 300 // bytes; one that is cut could say something else
)

// Bounds of the facts of a result.
const (
	maxFacts  = 600 // bytes of all names and values
	maxReason = 300 // bytes of the one value that is a sentence
	maxValue  = 64  // bytes of any other
)

// Bounds of texts that facts say by their hashes.
const (
	maxDecision    = 16 << 10 // bytes of a decision's record
	maxBecause     = 4000     // bytes of why a task of a batch is not approved
	maxAntiPattern = 1000     // bytes of one that a review hands in
	maxBatchFacts  = 1300     // bytes of all facts of a batch's review, with some room for each
)

// texts are the facts of a result that are texts, and how many bytes each may have.
var texts = map[string]map[string]int{
	resultDecision: {"decision-text": maxDecision},
	resultBatch:    {"because": maxBecause, "anti-pattern": maxAntiPattern},
}

// keepNamed keeps the values of some facts as blobs and puts their hashes in their
// place. What does not fit into an event goes: first the short form of why tasks are
// not approved, then the anti-patterns, then the long form, which the result says too.
func (a *answer) keepNamed(facts pawl.Facts, texts map[string]int) pawl.Facts {
	facts = withWords(facts)
	for _, name := range []string{"why", "anti-pattern", "because", "words", ""} {
		for size(facts, texts) > maxBatchFacts {
			i := len(facts) - 1
			for name != "" && i >= 0 && facts[i].Name != name {
				i--
			}
			if i < 0 {
				break
			}
			facts = slices.Delete(facts, i, i+1)
		}
	}
	var out pawl.Facts
	for _, f := range facts {
		most, isText := texts[f.Name]
		if !isText {
			f.Value = a.clean(f.Value)
			out = append(out, boundFact(f))
			continue
		}
		if h, _ := a.text(brief.Cut(a.plain(f.Value), most)); !h.IsZero() {
			out = append(out, pawl.Fact{Name: f.Name, Value: h.String()})
		}
	}
	return out
}

// withWords adds to each text of why a task is not approved the fingerprint of its words: objections are
// compared by them.
func withWords(facts pawl.Facts) pawl.Facts {
	var out pawl.Facts
	for _, f := range facts {
		if out = append(out, f); f.Name == "because" {
			out = append(out, pawl.Fact{Name: "words", Value: strconv.FormatUint(brief.Words(f.Value), 16)})
		}
	}
	return out
}

// size is about what facts take of an event when those that are texts are hashes.
func size(facts pawl.Facts, texts map[string]int) int {
	n := 0
	for _, f := range facts {
		n += len(f.Name) + min(len(f.Value), maxValue) + 6
		if texts[f.Name] > 0 {
			n += max(0, maxValue-len(f.Value))
		}
	}
	return n
}

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

// The facts of answers to findings. A quote or a why belongs to the answer before it.
const (
	factAccepted = "accepted"
	factRefused  = "refused"
	factQuote    = "quote"
	factWhy      = "why"
)

// Bounds of the facts of answers to findings.
const (
	maxAnswers = 700 // bytes of all
	leastText  = 12  // bytes that a quote or a why is cut to; with less it is left out
)

// answersTo returns those of the facts of a result that are answers to findings, or the
// others.
func answersTo(facts pawl.Facts, findings bool) pawl.Facts {
	var out pawl.Facts
	for _, f := range facts {
		if slices.Contains([]string{factAccepted, factRefused, factQuote, factWhy}, f.Name) == findings {
			out = append(out, f)
		}
	}
	return out
}

// boundAnswers keeps answers to findings small. Which finding is accepted matters most, so
// what is too much is cut from the texts, all of them alike. The answers that do not fit
// even so are left out: a finding without an answer is not accepted.
func boundAnswers(facts pawl.Facts) pawl.Facts {
	spare, texts := maxAnswers, 0
	for _, f := range facts {
		if f.Name == factQuote || f.Name == factWhy {
			spare -= len(f.Name)
			texts++
		} else {
			spare -= len(f.Name) + len(f.Value)
		}
	}
	var out pawl.Facts
	size := 0
	for _, f := range facts {
		if f.Name == factQuote || f.Name == factWhy {
			if spare/texts < leastText {
				continue
			}
			f.Value = brief.Cut(f.Value, spare/texts)
		} else {
			f = boundFact(f)
		}
		if size += len(f.Name) + len(f.Value); size > maxAnswers {
			break
		}
		out = append(out, f)
	}
	return out
}

// boundNotes keeps the first of the facts of a name which say what a result has beyond what was asked for, or in
// another form, and says how much more there is: a result is none the worse for it, so that it takes no room from what
// decides.
func boundNotes(facts pawl.Facts, name string) pawl.Facts {
	var out, ignored pawl.Facts
	for _, f := range facts {
		if f.Name == name {
			ignored = append(ignored, boundFact(f))
		} else {
			out = append(out, f)
		}
	}
	if n := len(ignored) - maxNotes; n > 0 {
		ignored = append(ignored[:maxNotes], pawl.Fact{Name: name, Value: fmt.Sprintf("%d more", n)})
	}
	return append(out, ignored...)
}

// maxNotes bounds what facts name of what a result has beyond what was asked for, and in another form.
const maxNotes = 3

func boundFact(f pawl.Fact) pawl.Fact {
	switch {
	case f.Name == "reason" || f.Name == "blocker":
		f.Value = brief.Cut(f.Value, maxReason)
	case len(f.Value) > maxValue:
		f.Value = brief.Cut(f.Value, maxValue-17) + fmt.Sprintf("#%016x", fingerprint([]string{f.Value}))
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

// keepTexts keeps the values of facts as blobs and puts their hashes in their place.
func (a *answer) keepTexts(facts pawl.Facts) pawl.Facts {
	var out pawl.Facts
	for _, f := range facts[:min(len(facts), maxMemories)] {
		if h := a.memory(f.Value); !h.IsZero() {
			out = append(out, pawl.Fact{Name: f.Name, Value: h.String()})
		}
	}
	return out
}

// memory keeps a text that is to be remembered; the zero Hash when it says nothing.
func (a *answer) memory(text string) pawl.Hash {
	h, _ := a.text(brief.Cut(a.plain(text), maxMemory))
	return h
}

// asked are the facts of a call that the harness answers, or what is wrong with it.
func (a *answer) asked(tool string, args []byte) (pawl.Facts, string) {
	if tool == toolRemember {
		return a.remember(args)
	}
	return a.blackboard(args)
}

func (a *answer) remember(raw []byte) (pawl.Facts, string) {
	var args struct {
		Kind  pawl.MemoryKind
		Text  string
		Scope pawl.MemoryScope
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, fmt.Sprintf("the arguments do not fit: %v", err)
	}
	if !args.Kind.Learned() {
		return nil, "kind: want decision, learning, discovery, error, artifact or anti-pattern"
	}
	h := a.memory(args.Text)
	if h.IsZero() {
		return nil, "text is empty: there is nothing to remember"
	}
	facts := pawl.Facts{{Name: "kind", Value: string(args.Kind)}}
	switch args.Scope {
	case "":
	case pawl.ScopeRun, pawl.ScopeProject:
		facts = append(facts, pawl.Fact{Name: "scope", Value: string(args.Scope)})
	default:
		return nil, "scope: want run or project"
	}
	return append(facts, pawl.Fact{Name: "text", Value: h.String()}), ""
}

func (a *answer) blackboard(raw []byte) (pawl.Facts, string) {
	var args struct{ Op, Key, Value string }
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, fmt.Sprintf("the arguments do not fit: %v", err)
	}
	facts := pawl.Facts{{Name: "op", Value: args.Op}}
	if args.Op == "list" {
		return facts, ""
	}
	key, value := oneLine(a.plain(args.Key)), a.plain(args.Value)
	switch {
	case args.Op != "get" && args.Op != "set":
		return nil, "op: want get, set or list"
	case key == "":
		return nil, "key is empty: say which entry"
	case len(key) > maxBoardKey:
		return nil, fmt.Sprintf("key has %d bytes: want at most %d", len(key), maxBoardKey)
	case args.Op == "get":
		return append(facts, pawl.Fact{Name: "key", Value: key}), ""
	case value == "":
		return nil, "value is empty: say what is to be noted"
	case len(value) > maxBoardValue:
		return nil, fmt.Sprintf("value has %d bytes: want at most %d; write more into a file and note where it is", len(value), maxBoardValue)
	}
	return append(facts, pawl.Fact{Name: "key", Value: key}, pawl.Fact{Name: "value", Value: value}), ""
}
