package pawl

import "time"

// Load is what the places of a machine are used for at a moment: the machine's own,
// those of each provider's account, those of each lane.
type Load struct {
	At    time.Time  `json:"at"`
	Pools []PoolLoad `json:"pools"` // the machine first, then accounts and lanes by name
	Runs  []RunLoad  `json:"runs"`  // those that have or want places, the one with most first
}

// PoolLoad is how many places of one kind there are and are used.
type PoolLoad struct {
	Name    string `json:"name"` // machine, account:PROVIDER or lane:NAME
	Slots   int    `json:"slots"`
	Used    int    `json:"used"`
	Waiting int    `json:"waiting"` // effects that wait for one
	// Runs are the runs of a project that have places of it, and Elsewhere how many places runs
	// of other projects have. Both are for an effect that waits, in the eyes of its project.
	Runs      []RunID `json:"runs,omitempty"`
	Elsewhere int     `json:"elsewhere,omitempty"`
	// Accounts are those of a provider that it lets nothing begin on for now.
	Accounts []AccountLoad `json:"accounts,omitempty"`
	// Why says what is missing where the pool is [PoolDisk].
	Why string `json:"why,omitempty"`
}

// AccountLoad is an account of a provider's that a limit closes: an address and a key.
type AccountLoad struct {
	// Account names it for people: "api.anthropic.com with key 3f2a91", where the digits
	// tell keys apart and are none of the key's own.
	Account string `json:"account"`
	// Until is when the limit is over. Why says what the provider said, at most 200 bytes.
	Until time.Time `json:"until"`
	Why   string    `json:"why"`
}

// RunLoad is what one run has of a machine's places.
type RunLoad struct {
	Project string `json:"project"` // its id
	Run     RunID  `json:"run"`
	Running int    `json:"running"` // effects that have their places
	Waiting int    `json:"waiting"` // effects that wait for them
	// Used is the time it had places, summed over them, since the daemon began; Share
	// its part of what all runs had in the last minute, in percent.
	Used  time.Duration `json:"used"`
	Share int           `json:"share"`
	// For is what its oldest waiting effect waits for: the name of a pool. Empty = nothing waits.
	For string `json:"for,omitempty"`
	// Money is what it has spent, holds and has lost; nil = no process drives it any more.
	Money *Money `json:"money,omitempty"`
}

// PoolStore is the Pool of a run that waits until its log can be written. Its Waiting is of
// no effect.
const PoolStore = "store"

// PoolDisk is the Pool of an effect that waits until a disk has space; see [DefaultMinFree].
const PoolDisk = "disk"

// PoolModel is the Pool of a model call that has its places, and waits since the model has sent
// nothing for [SilentAfter] or longer.
const PoolModel = "model"

// SilentAfter is how long a model sends nothing before that is said. Unlike [DefaultModelIdle] it
// ends nothing.
const SilentAfter = 20 * time.Second

// DefaultMinFree is the free space that the disks of a project need before an effect of its
// runs begins.
const DefaultMinFree Bytes = 64_000_000

// Waiting is an effect that has waited for its places for two seconds or longer, or for its model
// for [SilentAfter]. It is true for a moment and of one process, and in no log.
type Waiting struct {
	Effect Seq   `json:"effect"`
	Place  Place `json:"place"`
	// Name says what the effect is, such as "gate tests".
	Name string `json:"name"`
	// Pool is what it waits for: machine, account:PROVIDER or lane:NAME. Slots is how many
	// places that has. It is [PoolStore] when the whole run waits until its log can be
	// written, and [PoolDisk] when a disk has no space; Why says what is missing. It is [PoolModel]
	// when the model has sent nothing since Since; Model names it.
	Pool  string `json:"pool"`
	Slots int    `json:"slots"`
	// Runs and Elsewhere say who has them; see [PoolLoad]. Account, Until and Why say which
	// account of a provider is closed, until when and why; see [AccountLoad].
	Runs      []RunID       `json:"runs,omitempty"`
	Elsewhere int           `json:"elsewhere,omitempty"`
	Since     time.Time     `json:"since"`
	For       time.Duration `json:"for"` // that it has waited, in nanoseconds
	Account   string        `json:"account,omitempty"`
	Until     time.Time     `json:"until,omitzero"`
	Why       string        `json:"why,omitempty"`
	Model     string        `json:"model,omitempty"` // such as "anthropic/claude-haiku-4-5"
	// Others counts the run's other effects that wait.
	Others int `json:"others,omitempty"`
	// Over reports that it waits no more.
	Over bool `json:"over,omitempty"`
}
