package governor

import (
	"cmp"
	"time"

	"pawl"
	"pawl/internal/driver"
)

// Limits are how many places there are. A number below one counts as one.
type Limits struct {
	Machine int // effects at once, of all kinds
	Calls   int // model calls at once of each provider, over all its accounts
	// Accounts are the providers that have another number of calls.
	Accounts map[string]int
	NoNet    int // tools without network at once
	Net      int // tools with network, and preparations, at once
	// Heavy is how many gates run at once. One project has at most all places but one, if there are
	// several.
	Heavy int
}

// The names of pools, as [pawl.PoolLoad] has them.
const (
	machinePool   = "machine"
	accountPrefix = "account:"
	noNetLane     = "lane:no-net"
	netLane       = "lane:net"
	heavyLane     = "lane:heavy"
)

// toolLanes is the lane of each tool. The tools that look and edit work on files; run
// works in a sandbox without network. A tool that is not here comes from elsewhere and
// may do anything, so it gets the lane of tools with a network, which is narrower.
//
var toolLanes = map[string]string{
	"read": noNetLane, "list": noNetLane, "glob": noNetLane, "grep": noNetLane,
	"write": noNetLane, "edit": noNetLane, "run": noNetLane,
}

// slots is how many places the pool of a name has.
func (l Limits) slots(pool string) int {
	switch pool {
	case machinePool:
		return max(l.Machine, 1)
	case noNetLane:
		return max(l.NoNet, 1)
	case netLane:
		return max(l.Net, 1)
	case heavyLane:
		return max(l.Heavy, 1)
	}
	return max(cmp.Or(l.Accounts[pool[len(accountPrefix):]], l.Calls), 1)
}

// need is what an effect takes besides a place of the machine. An empty pool means that it
// needs no place at all.
type need struct {
	pool    string
	model   string       // that it calls; empty = none
	account pawl.Account // whose limits that counts against
	// patience is how long it waits at most for the account to open; 0 = as long as it takes.
	patience time.Duration
}

// needs returns what an effect needs.
func needs(job driver.Job) need {
	switch do := job.Effect.Do.(type) {
	case *pawl.CallModel:
		m := job.Settings.Model(do.Tier, do.Choice)
		if m == nil {
			return need{} // it will not be sent
		}
		return need{accountPrefix + m.Provider, m.Name, m.Account(), job.Settings.Patience(do.Tier, do.Choice)}
	case *pawl.CallTool:
		return need{pool: cmp.Or(toolLanes[do.Tool], netLane)}
	case *pawl.Prepare: // it waits for registries most of its time
		return need{pool: netLane}
	case *pawl.RunGate:
		if do.Light {
			return need{pool: noNetLane}
		}
		return need{pool: heavyLane}
	}
	return need{}
}
