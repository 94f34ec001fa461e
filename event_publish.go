package pawl

// Published answers [Publish].
type Published struct {
	Effect Seq        `json:"effect"`
	Commit CommitHash `json:"commit"` // the branch's head now; From when nothing has changed
}

// EventKind implements [Body].
func (*Published) EventKind() Kind { return KindPublished }

func (b *Published) fields(c *coder) {
	num(c, 1, &b.Effect)
	str(c, 2, &b.Commit)
}

// Answers implements [Answer].
func (b *Published) Answers() Seq { return b.Effect }
