package submit

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"pawl"
)

// FindingAnswer is a reviewer's answer to a finding.
type FindingAnswer struct {
	ID       string `json:"id"`
	Accepted bool   `json:"accepted"`
	// Quote are the words of the goal or of a criterion that ask for what was found. Only
	// what is accepted needs them.
	Quote string `json:"quote,omitempty"`
	Why   string `json:"why,omitempty"`
}

// Bounds of what facts have of an answer.
const maxAnswer = 160 // bytes of a quote, or of why something is not accepted

// answers are the facts of a verdict's answers to findings, or the first that is wrong. Answers that nobody
// asked for are surplus.
func (v Verdict) answers(about pawl.Submission) (pawl.Facts, error) {
	var facts pawl.Facts
	for i, a := range v.Findings {
		first := slices.IndexFunc(v.Findings, func(o FindingAnswer) bool { return o.ID == a.ID })
		switch {
		case !slices.Contains(about.Findings, a.ID):
			facts = append(facts, surplus("answer to "+a.ID))
			continue
		case first < i && v.Findings[first].Accepted == a.Accepted:
			facts = append(facts, surplus("second answer to "+a.ID))
			continue
		case first < i:
			return nil, fmt.Errorf("%s is answered twice, and not alike", a.ID)
		}
		if err := a.check(about); err != nil {
			return nil, err
		}
		verb, name, text := "refused", "why", a.Why
		if a.Accepted {
			verb, name, text = "accepted", "quote", a.Quote
		}
		facts = append(facts, pawl.Fact{Name: verb, Value: a.ID})
		if !blank(text) {
			facts = append(facts, pawl.Fact{Name: name, Value: short(text, maxAnswer)})
		}
	}
	for _, id := range about.Findings {
		if !slices.ContainsFunc(v.Findings, func(a FindingAnswer) bool { return a.ID == id }) {
			facts = append(facts, pawl.Fact{Name: "unanswered", Value: id})
		}
	}
	return facts, nil
}

// check looks for the quote of an answer that accepts a finding: in the goal, in a
// criterion, but never across two of them.
func (a FindingAnswer) check(about pawl.Submission) error {
	if !a.Accepted {
		return nil
	}
	const copyWords = "copy the words of the goal or of a criterion that ask for it, or do not accept it"
	quote := unquoted(a.Quote)
	if quote == "" {
		return fmt.Errorf("%s is accepted without a quote: %s", a.ID, copyWords)
	}
	asked := slices.Clone(about.Goal)
	for _, c := range about.Criteria {
		asked = append(asked, strings.TrimPrefix(c.Text, pawl.GoalIsMet)) // that it is met asks for nothing
	}
	found := false
	for _, text := range asked {
		if text = alike(text); unquoted(text) == quote {
			return nil
		}
		found = found || hasWords(text, quote)
	}
	switch {
	case !isPhrase(quote):
		return fmt.Errorf("the quote of %s, %q, says too little: want at least %d words with %d letters, or the whole text; %s",
			a.ID, short(a.Quote, maxCitation), leastWords, leastLetters, copyWords)
	case !found:
		return fmt.Errorf("the quote of %s, %q, is not in the goal and in no criterion: %s", a.ID, short(a.Quote, maxCitation), copyWords)
	}
	return nil
}

// unquoted is a quotation as [alike] writes it, without what stands around it.
func unquoted(text string) string { return strings.Trim(alike(text), "' .,;:!?…") }

// hasWords reports whether a text has another one in it that begins and ends where words
// do. Neither is empty.
func hasWords(text, part string) bool {
	inWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
	for from := 0; ; {
		i := strings.Index(text[from:], part)
		if i < 0 {
			return false
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(part):])
		if !inWord(before) && !inWord(after) {
			return true
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		from = i + size
	}
}
