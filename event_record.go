package pawl

// Recorded answers [WriteRecords].
type Recorded struct {
	Effect Seq        `json:"effect"`
	Commit CommitHash `json:"commit"` // the branch's head now; From when nothing has changed
}

// EventKind implements [Body].
func (*Recorded) EventKind() Kind { return KindRecorded }

func (b *Recorded) fields(c *coder) {
	num(c, 1, &b.Effect)
	str(c, 2, &b.Commit)
}

// Answers implements [Answer].
func (b *Recorded) Answers() Seq { return b.Effect }
