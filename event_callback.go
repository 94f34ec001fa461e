package pawl

// Notified answers [Notify].
type Notified struct {
	Effect Seq `json:"effect"`
	Status int `json:"status"` // of HTTP
}

// EventKind implements [Body].
func (*Notified) EventKind() Kind { return KindNotified }

func (b *Notified) fields(c *coder) {
	num(c, 1, &b.Effect)
	num(c, 2, &b.Status)
}

// Answers implements [Answer].
func (b *Notified) Answers() Seq { return b.Effect }
