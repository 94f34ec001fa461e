package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/url"
	"strconv"
	"strings"

	"pawl"
)

// The parts of SARIF 2.1.0 that a verdict needs.
type (
	sarifLog struct {
		Version string      `json:"version"`
		Runs    *[]sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver     sarifComponent   `json:"driver"`
			Extensions []sarifComponent `json:"extensions"`
		} `json:"tool"`
		Results     []sarifResult `json:"results"`
		Invocations []struct {
			ExecutionSuccessful *bool  `json:"executionSuccessful"`
			ExitCodeDescription string `json:"exitCodeDescription"`
		} `json:"invocations"`
	}
	sarifComponent struct {
		Name  string      `json:"name"`
		Rules []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID                   string          `json:"id"`
		Properties           sarifProperties `json:"properties"`
		DefaultConfiguration struct {
			Level string `json:"level"`
		} `json:"defaultConfiguration"`
	}
	sarifResult struct {
		RuleID    string `json:"ruleId"`
		RuleIndex *int   `json:"ruleIndex"`
		Rule      struct {
			ID            string `json:"id"`
			Index         *int   `json:"index"`
			ToolComponent struct {
				Index *int `json:"index"`
			} `json:"toolComponent"`
		} `json:"rule"`
		Level         string           `json:"level"`
		Kind          string           `json:"kind"`
		BaselineState string           `json:"baselineState"`
		Message       sarifMessage     `json:"message"`
		Properties    sarifProperties  `json:"properties"`
		Suppressions  []sarifSuppress  `json:"suppressions"`
		Locations     []sarifLocations `json:"locations"`
	}
	sarifMessage struct {
		Text     string `json:"text"`
		Markdown string `json:"markdown"`
		ID       string `json:"id"`
	}
	sarifSuppress struct {
		Status string `json:"status"`
	}
	sarifLocations struct {
		PhysicalLocation struct {
			ArtifactLocation struct {
				URI string `json:"uri"`
			} `json:"artifactLocation"`
			Region struct {
				StartLine int `json:"startLine"`
			} `json:"region"`
		} `json:"physicalLocation"`
	}
	// sarifProperties keeps what is needed of a property bag. Tools write the
	// severity as text or as a number.
	sarifProperties struct {
		SecuritySeverity json.RawMessage `json:"security-severity"`
	}
)

// UnmarshalJSON lets a property bag be anything at all.
func (p *sarifProperties) UnmarshalJSON(data []byte) error {
	var bag map[string]json.RawMessage
	if json.Unmarshal(data, &bag) == nil {
		p.SecuritySeverity = bag["security-severity"]
	}
	return nil
}

// readSARIF reads SARIF 2.1 logs, whatever stands around them. Results that
// are suppressed, gone since a baseline or no failure are passed over.
func readSARIF(c *collector, text []byte) bool {
	found := false
	for _, doc := range jsonDocuments(text) {
		var log sarifLog
		if err := json.Unmarshal(doc, &log); err != nil {
			if bytes.Contains(doc, []byte(`"runs"`)) && bytes.Contains(doc, []byte(`"2.1.`)) {
				found = true
				c.damage("the SARIF log is damaged: %v", err)
			}
			continue
		}
		if !strings.HasPrefix(log.Version, "2.1") || log.Runs == nil {
			continue
		}
		found = true
		for i := range *log.Runs {
			readSARIFRun(c, &(*log.Runs)[i])
		}
	}
	return found
}

func readSARIFRun(c *collector, run *sarifRun) {
	tool := cut(clean(run.Tool.Driver.Name), 60)
	if c.tool == "" {
		c.tool = tool
	}
	for _, inv := range run.Invocations {
		if inv.ExecutionSuccessful != nil && !*inv.ExecutionSuccessful {
			c.damage("%s says that it did not run to its end %s", tool, cut(clean(inv.ExitCodeDescription), 200))
		}
	}
	byID := map[string]*sarifRule{}
	for i := range run.Tool.Extensions {
		indexRules(byID, run.Tool.Extensions[i].Rules)
	}
	indexRules(byID, run.Tool.Driver.Rules)
	for i := range run.Results {
		res := &run.Results[i]
		if res.ignored() {
			continue
		}
		rule := run.rule(res, byID)
		f := pawl.Diagnostic{Severity: c.sarifSeverity(res, rule), Rule: rule.ID, Message: res.Message.String()}
		if f.Rule == "" {
			f.Rule = res.RuleID
		}
		if len(res.Locations) > 0 {
			at := res.Locations[0].PhysicalLocation
			f.File, f.Line = sarifPath(at.ArtifactLocation.URI), at.Region.StartLine
		}
		c.find(f)
	}
}

func indexRules(byID map[string]*sarifRule, rules []sarifRule) {
	for i := range rules {
		byID[rules[i].ID] = &rules[i]
	}
}

func (r *sarifResult) ignored() bool {
	switch r.Kind {
	case "pass", "notApplicable", "informational":
		return true
	}
	if r.BaselineState == "absent" {
		return true
	}
	for _, s := range r.Suppressions {
		if s.Status == "" || s.Status == "accepted" {
			return true
		}
	}
	return false
}

// rule finds the rule of a result by index, else by id. An id such as
// "CA1000/1" belongs to rule "CA1000".
func (run *sarifRun) rule(res *sarifResult, byID map[string]*sarifRule) *sarifRule {
	id, index := res.RuleID, res.RuleIndex
	if id == "" {
		id = res.Rule.ID
	}
	if index == nil {
		index = res.Rule.Index
	}
	rules := run.Tool.Driver.Rules
	if ext := res.Rule.ToolComponent.Index; ext != nil && *ext >= 0 && *ext < len(run.Tool.Extensions) {
		rules = run.Tool.Extensions[*ext].Rules
	}
	if index != nil && *index >= 0 && *index < len(rules) && (id == "" || strings.HasPrefix(id, rules[*index].ID)) {
		return &rules[*index]
	}
	if rule := byID[id]; rule != nil {
		return rule
	}
	if i := strings.IndexByte(id, '/'); i > 0 && byID[id[:i]] != nil {
		return byID[id[:i]]
	}
	return &sarifRule{ID: id}
}

func (m sarifMessage) String() string {
	for _, s := range []string{m.Text, m.Markdown, m.ID} {
		if s != "" {
			return s
		}
	}
	return "(no message)"
}

// sarifSeverity grades a result: by the score its rule has as a vulnerability
// (CVSS bands), else by its level, which is "warning" unless something says
// otherwise.
func (c *collector) sarifSeverity(res *sarifResult, rule *sarifRule) pawl.Severity {
	if !c.byLevel {
		for _, p := range []sarifProperties{res.Properties, rule.Properties} {
			if score, ok := p.score(); ok {
				return scoreSeverity(score)
			}
		}
	}
	level := res.Level
	if level == "" {
		level = rule.DefaultConfiguration.Level
	}
	return levelSeverity(level)
}

func (p sarifProperties) score() (float64, bool) {
	raw := strings.Trim(string(p.SecuritySeverity), `" `)
	if raw == "" {
		return 0, false
	}
	score, err := strconv.ParseFloat(raw, 64)
	return score, err == nil && !math.IsNaN(score)
}

func scoreSeverity(score float64) pawl.Severity {
	switch {
	case score >= 9:
		return pawl.SeverityCritical
	case score >= 7:
		return pawl.SeverityHigh
	case score >= 4:
		return pawl.SeverityMedium
	}
	return pawl.SeverityLow
}

func levelSeverity(level string) pawl.Severity {
	switch level {
	case "error":
		return pawl.SeverityHigh
	case "note", "none":
		return pawl.SeverityLow
	}
	return pawl.SeverityMedium
}

// sarifPath is the path of a URI; one that is none is kept as it is.
func sarifPath(uri string) string {
	if !strings.Contains(uri, "%") && !strings.HasPrefix(uri, "file:") {
		return uri
	}
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "" && u.Scheme != "file" {
		return uri
	}
	return u.Path
}

// jsonDocuments finds the JSON objects that begin at the start of a line, at
// most 50,000. One that ends in the middle is among them, as it is.
func jsonDocuments(text []byte) [][]byte {
	var docs [][]byte
	for broken := 0; len(docs) < 50_000 && broken < 20; {
		at := lineStart(text, '{')
		if at < 0 {
			break
		}
		text = text[at:]
		dec := json.NewDecoder(bytes.NewReader(text))
		var doc json.RawMessage
		err := dec.Decode(&doc)
		if err == nil {
			docs = append(docs, doc)
			text = text[dec.InputOffset():]
			continue
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			docs = append(docs, text)
		}
		broken++
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return docs
}

// lineStart is where the first line that begins with b, after spaces, has it.
func lineStart(text []byte, b byte) int {
	at := 0
	for len(text) > 0 {
		line, rest, more := bytes.Cut(text, []byte("\n"))
		trimmed := bytes.TrimLeft(line, " \t\r")
		if len(trimmed) > 0 && trimmed[0] == b {
			return at + len(line) - len(trimmed)
		}
		if !more {
			break
		}
		at += len(line) + 1
		text = rest
	}
	return -1
}
