package report

import (
	"bytes"
	"encoding/json"
	"sort"
	"strings"

	"pawl"
	"pawl/internal/pattern"
)

// npmAudit is what npm audit --json (since npm 7) prints, and what pnpm, yarn
// and npm 6 print.
type npmAudit struct {
	Version         int `json:"auditReportVersion"`
	Vulnerabilities map[string]struct {
		Severity string            `json:"severity"`
		Range    string            `json:"range"`
		Via      []json.RawMessage `json:"via"`
	} `json:"vulnerabilities"`
	Advisories map[string]struct {
		Module   string `json:"module_name"`
		Severity string `json:"severity"`
		Title    string `json:"title"`
		URL      string `json:"url"`
	} `json:"advisories"`
	Metadata *struct {
		Vulnerabilities json.RawMessage `json:"vulnerabilities"`
	} `json:"metadata"`
	Error *struct {
		Summary string `json:"summary"`
	} `json:"error"`
}

// readNPMAudit reads the JSON of npm audit and its kin.
func readNPMAudit(c *collector, text []byte) bool {
	if !bytes.Contains(text, []byte(`"vulnerabilities"`)) && !bytes.Contains(text, []byte(`"advisories"`)) {
		return false
	}
	found := false
	for _, doc := range jsonDocuments(text) {
		var a npmAudit
		if json.Unmarshal(doc, &a) != nil || a.Error != nil {
			continue
		}
		if (a.Version == 0 || a.Vulnerabilities == nil) && (a.Advisories == nil || a.Metadata == nil) {
			continue
		}
		found = true
		for _, name := range sortedKeys(a.Vulnerabilities) {
			v := a.Vulnerabilities[name]
			title, url := npmTitle(v.Via)
			c.find(pawl.Diagnostic{Severity: npmSeverity(v.Severity), Rule: url, File: "package.json", Message: name + " " + v.Range + ": " + title})
		}
		for _, id := range sortedKeys(a.Advisories) {
			v := a.Advisories[id]
			c.find(pawl.Diagnostic{Severity: npmSeverity(v.Severity), Rule: v.URL, File: "package.json", Message: v.Module + ": " + v.Title})
		}
	}
	return found
}

// npmTitle takes the first advisory of a package, or the packages it has the
// trouble from.
func npmTitle(via []json.RawMessage) (title, url string) {
	var packages []string
	for _, raw := range via {
		var advisory struct{ Title, URL string }
		var name string
		if json.Unmarshal(raw, &advisory) == nil && advisory.Title != "" {
			return advisory.Title, advisory.URL
		}
		if json.Unmarshal(raw, &name) == nil {
			packages = append(packages, name)
		}
	}
	if len(packages) == 0 {
		return "no advisory is named", ""
	}
	return "depends on " + strings.Join(packages, ", "), ""
}

func npmSeverity(s string) pawl.Severity {
	switch s {
	case "critical":
		return pawl.SeverityCritical
	case "high":
		return pawl.SeverityHigh
	case "low", "info":
		return pawl.SeverityLow
	}
	return pawl.SeverityMedium // moderate, and what is not known
}

// goVuln is one message of govulncheck -format json. A finding comes once for
// the module, once for the package and once for the function that is called,
// as far as the vulnerable code is reached.
type goVuln struct {
	Config *struct {
		Scanner string `json:"scanner_name"`
	} `json:"config"`
	OSV *struct {
		ID      string `json:"id"`
		Summary string `json:"summary"`
	} `json:"osv"`
	Finding *struct {
		OSV   string `json:"osv"`
		Trace []struct {
			Module   string `json:"module"`
			Version  string `json:"version"`
			Package  string `json:"package"`
			Function string `json:"function"`
		} `json:"trace"`
	} `json:"finding"`
}

// readGovulncheck reads govulncheck's JSON. What the code calls is high; what
// it only depends on is low, as govulncheck itself passes it.
func readGovulncheck(c *collector, text []byte) bool {
	if !bytes.Contains(text, []byte(`"govulncheck"`)) {
		return false
	}
	found := false
	summaries := map[string]string{}
	worst := map[string]pawl.Diagnostic{}
	for _, doc := range jsonDocuments(text) {
		var m goVuln
		if json.Unmarshal(doc, &m) != nil {
			continue
		}
		switch {
		case m.Config != nil && m.Config.Scanner == "govulncheck":
			found = true
		case m.OSV != nil:
			summaries[m.OSV.ID] = m.OSV.Summary
		case m.Finding != nil && len(m.Finding.Trace) > 0:
			at := m.Finding.Trace[0]
			f := pawl.Diagnostic{Severity: pawl.SeverityLow, Rule: m.Finding.OSV, File: "go.mod", Message: at.Module + "@" + at.Version}
			if at.Function != "" {
				f.Severity = pawl.SeverityHigh
				f.Message += " " + at.Function + " is called"
			}
			if Grade(f.Severity) > Grade(worst[f.Rule].Severity) {
				worst[f.Rule] = f
			}
		}
	}
	if !found {
		return false
	}
	for _, id := range sortedKeys(worst) {
		f := worst[id]
		f.Message = strings.TrimSpace(summaries[id] + " (" + f.Message + ")")
		c.find(f)
	}
	return true
}

var goVulnLine = pattern.Of(`^Vulnerability #\d+: (GO-\d+-\d+)$`)

// readGovulncheckText reads what govulncheck prints for people. It lists by
// default only what the code calls.
func readGovulncheckText(c *collector, lines []string) bool {
	found := false
	for i, line := range lines {
		if line == "No vulnerabilities found." {
			found = true
		}
		if m := goVulnLine.FindStringSubmatch(line); m != nil {
			found = true
			summary := ""
			if i+1 < len(lines) {
				summary = strings.TrimSpace(lines[i+1])
			}
			c.find(pawl.Diagnostic{Severity: pawl.SeverityHigh, Rule: m[1], File: "go.mod", Message: summary})
		}
	}
	return found
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
