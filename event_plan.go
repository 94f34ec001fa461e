package pawl

// The events of plans: the lists of tasks that loops work through.

// ApprovalState says what a person made of a plan. It is beside the loop's status,
// which stays complete meanwhile.
type ApprovalState string

// The states of approval. The empty one, written "none", needs nobody.
const (
	ApprovalNone      ApprovalState = "none"
	ApprovalAwaiting  ApprovalState = "awaiting"
	ApprovalApproved  ApprovalState = "approved"
	ApprovalRejected  ApprovalState = "rejected"
	ApprovalIterating ApprovalState = "iterating"
)

// PlanAccepted says that the list that was read is the loop's plan from now on.
// Tasks that had passed under the version before it keep their results.
type PlanAccepted struct {
	Version int  `json:"version"` // from 1
	Count   int  `json:"count"`
	List    Hash `json:"list"` // the list as it was handed in
	// Changed tells what is different from the version before, at most 300 bytes.
	Changed string `json:"changed,omitempty"`
}

// EventKind implements [Body].
func (*PlanAccepted) EventKind() Kind { return KindPlanAccepted }

func (b *PlanAccepted) fields(c *coder) {
	num(c, 1, &b.Version)
	num(c, 2, &b.Count)
	sum(c, 3, &b.List)
	str(c, 4, &b.Changed)
}

// PlanRefused says why a list that was read cannot be the loop's plan. The one
// before it, if there is one, stays.
type PlanRefused struct {
	Reason string `json:"reason"` // at most 300 bytes
	List   Hash   `json:"list,omitzero"`
}

// EventKind implements [Body].
func (*PlanRefused) EventKind() Kind { return KindPlanRefused }

func (b *PlanRefused) fields(c *coder) {
	str(c, 1, &b.Reason)
	sum(c, 2, &b.List)
}

// ReplanCause says why a plan is made anew.
type ReplanCause string

// The causes.
const (
	ReplanFailure   ReplanCause = "failure"   // a task failed for good
	ReplanDiscovery ReplanCause = "discovery" // something was found that the plan did not know
	ReplanSchedule  ReplanCause = "schedule"  // so many tasks have passed since
	ReplanUser      ReplanCause = "user"
	ReplanHealth    ReplanCause = "health" // the batches do not get anywhere
)

// ReplanCalled says that the plan is to be made anew: no task starts before it
// is, and those that run come to their end.
type ReplanCalled struct {
	Cause  ReplanCause `json:"cause"`
	Reason string      `json:"reason"`
}

// EventKind implements [Body].
func (*ReplanCalled) EventKind() Kind { return KindReplanCalled }

func (b *ReplanCalled) fields(c *coder) {
	str(c, 1, &b.Cause)
	str(c, 2, &b.Reason)
}
