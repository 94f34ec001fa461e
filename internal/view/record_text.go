package view

import (
	"bytes"
	"encoding/json"
	"strings"

	"pawl"
	"pawl/internal/plain"
)

// The limits on the texts of a record: of one objection's evidence, and of what the
// whole of a progress, a context and a signal's payload may be. What is more is cut.
const (
	maxEvidence = 4_000
	maxProgress = 64_000
	maxContext  = 16_000
	maxPayload  = 16_000
)

// Full returns a copy of a record with the texts that are made of blobs: its progress,
// context and validation command.
func (rs *Records) Full(r *Record, blobs Blobs) Record {
	out := *r
	for _, text := range []*string{&out.ID, &out.LoopType, &out.ParentID, &out.InputArtifact, &out.PromptPath, &out.Worktree, &out.Task, &out.Title, &out.Tier, &out.Branch, &out.Reason} {
		*text = plain.Line(*text, 0)
	}
	out.OutputArtifacts = append([]string{}, lines(r.OutputArtifacts)...)
	out.Progress = r.progress(blobs)
	spec := r.task(blobs)
	out.Context = rs.context(r, spec, blobs)
	out.ValidationCommand = rs.validation(r, spec)
	return out
}

// FullLoops returns a copy of each record as [Records.Full] does, in their order.
func (rs *Records) FullLoops(blobs Blobs) []Record {
	out := make([]Record, 0, len(rs.Loops))
	for _, r := range rs.Loops {
		out = append(out, rs.Full(r, blobs))
	}
	return out
}

// FullSignal returns a copy of a signal's record with its payload.
func (rs *Records) FullSignal(s *SignalRecord, blobs Blobs) SignalRecord {
	out := *s
	for _, text := range []*string{&out.SourceLoop, &out.TargetLoop, &out.TargetSelector, &out.Reason, &out.By} {
		*text = plain.Line(*text, 0)
	}
	out.Payload = cutText(blobs.text(s.payload), maxPayload)
	return out
}

// Text returns a blob as text that is safe to print; empty when there is none or it cannot
// be read.
func (b Blobs) Text(h pawl.Hash) string { return b.text(h) }

// Bytes returns a blob as it is; nil when there is none or it cannot be read.
func (b Blobs) Bytes(h pawl.Hash) []byte { return b.bytes(h) }

// JSON returns a blob as a JSON value with texts that are safe to print; a blob that is not JSON is
// one string.
func (b Blobs) JSON(h pawl.Hash) json.RawMessage { return safeJSON(b.bytes(h)) }

// safeJSON returns data as [Blobs.JSON] does a blob.
func safeJSON(data []byte) json.RawMessage {
	var v any
	if json.Unmarshal(data, &v) != nil {
		v = string(data)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false) // people read it, too
	if enc.Encode(safe(v)) != nil {
		return json.RawMessage("null") // what was JSON is JSON
	}
	return bytes.TrimRight(out.Bytes(), "\n")
}

// safe makes the texts of a JSON value safe to print.
func safe(v any) any {
	switch v := v.(type) {
	case string:
		return plain.Text(v)
	case []any:
		for i := range v {
			v[i] = safe(v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[plain.Line(k, 0)] = safe(x)
		}
		return out
	}
	return v
}

// Evidence returns a gate's evidence for people: what failed singly, else its output.
func (b Blobs) Evidence(h pawl.Hash) string { return evidenceText(b.bytes(h)) }

// task returns what the loop was spawned to do, as far as it can be read.
func (r *Record) task(blobs Blobs) pawl.TaskSpec {
	spec := pawl.TaskSpec{ID: r.Task, Title: r.Title}
	_ = json.Unmarshal(blobs.bytes(r.spec), &spec) // an unreadable one says no more than its entry
	return spec
}

// progress returns what was said of the iterations that failed, oldest first; where it is
// too much the oldest is left out.
func (r *Record) progress(blobs Blobs) string {
	var parts []string
	size := 0
	for i := len(r.said) - 1; i >= 0; i-- {
		part := r.said[i].write(blobs)
		if size += len(part); size > maxProgress {
			parts = append(parts, "[earlier feedback is left out]")
			break
		}
		parts = append(parts, part)
	}
	var t strings.Builder
	for i := len(parts) - 1; i >= 0; i-- {
		t.WriteString(parts[i])
		if i > 0 {
			t.WriteString("\n\n")
		}
	}
	return t.String()
}

// write returns one section of a progress.
func (m remark) write(blobs Blobs) string {
	var t strings.Builder
	if m.rule {
		t.WriteString("---\n")
	}
	t.WriteString(m.head + "\n" + plain.Text(m.text))
	for _, g := range m.gates {
		said := plain.Line(g.from, 0) + ": " + plain.Line(g.reason, 0)
		if !strings.Contains(t.String(), said) {
			t.WriteString("\n- " + said)
		}
		if more := evidenceText(blobs.bytes(g.evidence)); more != "" {
			t.WriteString("\n  " + strings.ReplaceAll(cutText(more, maxEvidence), "\n", "\n  "))
		}
	}
	return t.String()
}

// evidenceText returns a gate's evidence for people: what failed singly, else its output.
// A review's verdict and a loop's evidence are texts already.
func evidenceText(evidence []byte) string {
	var g pawl.GateReport
	if len(evidence) == 0 {
		return ""
	}
	if json.Unmarshal(evidence, &g) != nil {
		return plain.Text(string(evidence))
	}
	if all := objections(evidence); len(all) > 0 {
		return plain.Text(strings.Join(all, "\n"))
	}
	return plain.Text(strings.TrimSpace(g.Output))
}

// context returns what a loop was spawned to do, as JSON.
func (rs *Records) context(r *Record, spec pawl.TaskSpec, blobs Blobs) pawl.JSON {
	type document struct {
		Goal        string   `json:"goal,omitempty"`
		Name        string   `json:"name,omitempty"`
		Title       string   `json:"title,omitempty"`
		Description string   `json:"description,omitempty"`
		Index       int      `json:"index,omitempty"`
		Criteria    []string `json:"acceptance_criteria,omitempty"`
		DependsOn   []string `json:"dependencies,omitempty"`
	}
	doc := document{Name: plain.Line(r.Task, 0), Title: plain.Line(spec.Title, 0), Index: r.Index,
		Description: cutText(plain.Text(spec.Description), maxContext), DependsOn: spec.DependsOn}
	if r.Parent == 0 {
		doc = document{Goal: cutText(blobs.text(rs.goal), maxContext)}
	}
	for _, c := range spec.Criteria {
		doc.Criteria = append(doc.Criteria, plain.Line(c, 400))
	}
	data, err := json.Marshal(doc)
	if err != nil {
		return pawl.JSON("{}")
	}
	return data
}

// validation returns what says whether an iteration passed.
func (rs *Records) validation(r *Record, spec pawl.TaskSpec) string {
	var parts []string
	if r.validate && spec.ValidationCommand != "" {
		parts = append(parts, plain.Line(spec.ValidationCommand, 0))
	}
	var stages []pawl.Stage
	if r.kind != nil {
		stages = r.kind.Gates
	}
	for _, st := range stages {
		for _, g := range rs.settings.Gates {
			if g.Kind != pawl.GateHeldOut && contains(st.Commands, string(g.Kind)) {
				parts = append(parts, plain.Line(g.Command, 0))
			}
		}
		switch {
		case st.Review != nil:
			parts = append(parts, "review:"+plain.Line(st.Name, 0))
		case st.Builtin != "" && st.Builtin != "validation_command": // that command is there already
			parts = append(parts, "check:"+plain.Line(st.Builtin, 0))
		}
	}
	for i, part := range parts {
		if len(parts) > 1 && strings.ContainsAny(part, ";|&\n") {
			parts[i] = "( " + part + " )"
		}
	}
	return strings.Join(parts, " && ")
}

func contains(kinds []string, kind string) bool {
	for _, k := range kinds {
		if k == "*" || k == kind {
			return true
		}
	}
	return false
}

// cutText returns a text of at most so many bytes, and says so where it was longer.
func cutText(s string, most int) string {
	const more = "\n[the rest is left out]"
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most-len(more)], "") + more
}
