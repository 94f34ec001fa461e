package pawl

// The events of questions that loops ask people.

// QuestionKind says what a question is about.
type QuestionKind string

// The kinds of question.
const (
	AskPlan     QuestionKind = "plan"       // may these tasks be worked on
	AskStart    QuestionKind = "start"      // may this task start
	AskMerge    QuestionKind = "merge"      // may this work be merged, although confidence in it is low
	AskVotes    QuestionKind = "votes"      // reviewers do not agree
	AskReplan   QuestionKind = "plan_limit" // the plan was made anew as often as it may be
	AskStuck    QuestionKind = "stuck"      // everything was tried
	AskVerdict  QuestionKind = "verdict"    // a gate asks a person
	AskClarify  QuestionKind = "clarify"    // an agent asks what only a person knows
	AskBlocked  QuestionKind = "blocked"    // a task needs what only a person can give
	AskHealth   QuestionKind = "health"     // the batches do not get anywhere
	AskMissing  QuestionKind = "missing"    // a gate's program is not installed
	AskFinding  QuestionKind = "finding"    // are these findings accepted
	AskUnjudged QuestionKind = "unjudged"   // gates give no verdict, as on the base
)

// QuestionAsked says that a loop waits for a person.
type QuestionAsked struct {
	N    int          `json:"n"` // its number in the run, from 1
	Kind QuestionKind `json:"kind"`
	Text string       `json:"text"` // at most 400 bytes
	// Choices are the answers there are, the safe one last.
	Choices []string `json:"choices"`
	// Means says what each choice does, in their order, in at most 160 bytes each. Empty = the
	// words of the choices say it, or the log is of an earlier version.
	Means []string `json:"means,omitempty"`
	// About is what the answer is about: an answer names its hash, so that nobody
	// consents to what they have not seen. Zero = there is nothing to see.
	About Hash `json:"about,omitzero"`
}

// EventKind implements [Body].
func (*QuestionAsked) EventKind() Kind { return KindQuestionAsked }

func (b *QuestionAsked) fields(c *coder) {
	num(c, 1, &b.N)
	str(c, 2, &b.Kind)
	str(c, 3, &b.Text)
	words(c, 4, &b.Choices)
	sum(c, 5, &b.About)
	words(c, 6, &b.Means)
}

// QuestionAnswered says what a person answered.
type QuestionAnswered struct {
	N      int    `json:"n"`
	Choice string `json:"choice"`
	Text   string `json:"text,omitempty"` // at most 1000 bytes
	By     string `json:"by,omitempty"`
	// Said is Text as a blob, for prompts; zero = nothing was said.
	Said Hash `json:"said,omitzero"`
}

// EventKind implements [Body].
func (*QuestionAnswered) EventKind() Kind { return KindQuestionAnswered }

func (b *QuestionAnswered) fields(c *coder) {
	num(c, 1, &b.N)
	str(c, 2, &b.Choice)
	str(c, 3, &b.Text)
	str(c, 4, &b.By)
	sum(c, 5, &b.Said)
}

// QuestionWithdrawn says that an answer is not wanted any more.
type QuestionWithdrawn struct {
	N      int    `json:"n"`
	Reason string `json:"reason"`
}

// EventKind implements [Body].
func (*QuestionWithdrawn) EventKind() Kind { return KindQuestionWithdrawn }

func (b *QuestionWithdrawn) fields(c *coder) {
	num(c, 1, &b.N)
	str(c, 2, &b.Reason)
}
