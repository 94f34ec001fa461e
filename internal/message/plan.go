package message

import (
	"pawl"
	"pawl/internal/artifact"
	"pawl/internal/plain"
	"pawl/internal/view"
)

// Preview is what a person decides about.
type Preview struct {
	Content string     `json:"content"` // the plan.md
	Specs   []SpecInfo `json:"specs"`
	// About is what an answer must name: the hash of the plan as it was handed in.
	About    pawl.Hash          `json:"about"`
	Approval pawl.ApprovalState `json:"approval"`
	// Question is the number of the question that an answer answers; 0 = none is open.
	Question int `json:"question,omitempty"`
}

// PreviewOf reads the plan of a loop: the one a person is asked about, or was, else
// the one that is in force. A loop that never had one is [pawl.CodeState].
func PreviewOf(r *view.Record, blobs view.Blobs) (Preview, error) {
	about := r.About
	if about.IsZero() {
		about = r.List
	}
	if about.IsZero() {
		return Preview{}, pawl.Errorf(pawl.CodeState, "loop %s has no plan: Plan has no output artifact", r.ID)
	}
	data, err := blobs(about)
	if err != nil {
		return Preview{}, err
	}
	p := Preview{About: about, Approval: r.Approval, Specs: []SpecInfo{}}
	if r.Approval == pawl.ApprovalAwaiting && len(r.Questions) > 0 {
		p.Question = r.Questions[0]
	}
	kind := artifact.Detect(data)
	if kind == "" {
		p.Content = plain.Text(string(data))
		return p, nil
	}
	a, err := artifact.Read(kind, data)
	if err != nil {
		return p, pawl.Errorf(pawl.CodeDamaged, "the plan of loop %s: %w", r.ID, err)
	}
	p.Content = a.Markdown()
	for _, t := range a.Tasks(r.Task) {
		p.Specs = append(p.Specs, SpecInfo{plain.Line(t.ID, 0), plain.Text(t.Description)})
	}
	return p, nil
}
