package sandbox

import (
	"fmt"

	"pawl/internal/sandbox/cgroup"
)

// TakeNextGroup makes the control group that the next holder would have, so that making it fails then. It
// returns nil where there are no groups.
func (b *Box) TakeNextGroup() (*cgroup.Group, error) {
	if b.groups == nil {
		return nil, nil
	}
	return b.groups.New(fmt.Sprintf("room-%d", holders.Load()+1), cgroup.Limits{})
}
