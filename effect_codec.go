package pawl

// How each effect is stored. The number of a field never changes its meaning.

func (d *OpenWorkspace) fields(c *coder) {
	str(c, 1, &d.Name)
	str(c, 2, &d.Branch)
	str(c, 3, &d.Base)
}

func (d *AssemblePrompt) fields(c *coder) {
	str(c, 1, &d.Template)
	words(c, 2, &d.Tools)
	str(c, 3, &d.Output)
	sum(c, 4, &d.Goal)
	sum(c, 5, &d.Criteria)
	list(c, 6, &d.Feedback, func(c *coder, f *Feedback) {
		str(c, 1, &f.From)
		str(c, 2, &f.Verdict)
		str(c, 3, &f.Summary)
		sum(c, 4, &f.Evidence)
	})
	list(c, 7, &d.Inputs, func(c *coder, in *Input) {
		str(c, 1, &in.Name)
		sum(c, 2, &in.Blob)
	})
	str(c, 8, &d.Commit)
	str(c, 9, &d.Base)
	num(c, 10, &d.Max)
	words(c, 11, &d.History)
	list(c, 12, &d.RedAtBase, func(c *coder, in *Input) {
		str(c, 1, &in.Name)
		sum(c, 2, &in.Blob)
	})
	str(c, 13, &d.Focus)
	sum(c, 14, &d.Task)
	num(c, 15, &d.Number)
	num(c, 16, &d.Count)
	sum(c, 17, &d.Plan)
	str(c, 18, &d.States)
	memory := Memory{}
	if d.Memory != nil {
		memory = *d.Memory
	}
	sub(c, 19, func(c *coder) {
		str(c, 1, &memory.Select)
		num(c, 2, &memory.MaxTokens)
	})
	if c.reading && memory != (Memory{}) {
		d.Memory = &memory
	}
	words(c, 20, &d.Signs)
	str(c, 21, &d.Cause)
	num(c, 22, &d.Item)
	sum(c, 23, &d.ItemOf)
	str(c, 24, &d.ItemField)
	sums(c, 25, &d.Answers)
	list(c, 26, &d.Batch, func(c *coder, m *Member) {
		sum(c, 1, &m.Task)
		sum(c, 2, &m.Result)
		sum(c, 3, &m.Paths)
		str(c, 4, &m.Commit)
	})
}

func (d *CallModel) fields(c *coder) {
	num(c, 1, &d.Tier)
	num(c, 2, &d.MaxOutput)
	sum(c, 3, &d.System)
	sum(c, 4, &d.Tools)
	num(c, 5, &d.Items)
	num(c, 6, &d.Try)
	num(c, 7, &d.Reserved)
	num(c, 8, &d.ReservedTokens)
}

func (d *CallTool) fields(c *coder) {
	str(c, 1, &d.Tool)
	sum(c, 2, &d.Args)
	num(c, 3, &d.Call)
	str(c, 4, &d.Before)
}

func (d *RunGate) fields(c *coder) {
	str(c, 1, &d.Gate)
	str(c, 2, &d.Commit)
	flag(c, 3, &d.OnBase)
	sum(c, 4, &d.Base)
	str(c, 5, &d.Start)
	sum(c, 6, &d.Before)
	sum(c, 7, &d.Doubt)
	sum(c, 8, &d.Task)
	str(c, 9, &d.Prepared)
}

func (d *Prepare) fields(c *coder) {
	str(c, 1, &d.Commit)
	flag(c, 2, &d.Furnish)
}

func (d *Commit) fields(c *coder) {
	str(c, 1, &d.Branch)
	str(c, 2, &d.Parent)
	str(c, 3, &d.Base)
	str(c, 4, &d.Message)
	instant(c, 5, &d.Time)
}

func (d *InspectWorkspace) fields(*coder) {}

func (d *ResetWorkspace) fields(c *coder) {
	str(c, 1, &d.Commit)
	str(c, 2, &d.Salvage)
	flag(c, 3, &d.Detached)
}

func (d *CloseWorkspace) fields(c *coder) { str(c, 1, &d.Salvage) }

func (d *Wait) fields(c *coder) {
	num(c, 1, &d.For)
	str(c, 2, &d.Reason)
	str(c, 3, &d.Account.Provider)
	str(c, 4, &d.Account.Address)
	str(c, 5, &d.Account.Key)
	str(c, 6, &d.Why)
}

func (e *Effect) fields(c *coder) {
	num(c, 1, &e.Session)
	num(c, 2, &e.Class)
	sub(c, 3, e.Place.fields)
	num(c, 4, &e.Timeout)
	verb := Verb(0)
	if e.Do != nil {
		verb = e.Do.Verb()
	}
	num(c, 5, &verb)
	if e.Do == nil {
		if e.Do = newDo(verb); e.Do == nil {
			c.fail("unknown effect %d; a newer pawl may have written it", verb)
			return
		}
	}
	sub(c, 6, e.Do.fields)
	num(c, 7, &e.First)
}

func (p *Place) fields(c *coder) {
	str(c, 1, &p.Loop)
	num(c, 2, &p.Iteration)
	num(c, 3, &p.Attempt)
	str(c, 4, &p.Step)
	str(c, 5, &p.Role)
	str(c, 6, &p.Lens)
	num(c, 7, &p.Tier)
	num(c, 8, &p.Turn)
	str(c, 9, &p.Task)
	num(c, 10, &p.Round)
}
