package message

import (
	"pawl"
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

// PreviewOf is the part of [view.PlanPreview] that a face is told.
func PreviewOf(r *view.Record, blobs view.Blobs) (Preview, error) {
	full, err := r.PlanPreview(blobs)
	if err != nil {
		return Preview{}, err
	}
	p := Preview{full.Content, []SpecInfo{}, full.About, full.Approval, full.Question}
	for _, s := range full.Specs {
		p.Specs = append(p.Specs, SpecInfo{s.Name, s.Description})
	}
	return p, nil
}
