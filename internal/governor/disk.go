package governor

import (
	"context"
	"time"

	"pawl"
	"pawl/internal/driver"
)

// diskPause is the time between two checks of the free space.
const diskPause = time.Second

// OnDisk returns p's places, which no effect gets while a disk lacks space. Lacks says how much
// space there is and is needed, or returns the empty string if there is enough.
func OnDisk(p driver.Places, lacks func() string) driver.Places { return onDisk{p, lacks} }

// onDisk implements [driver.Places].
type onDisk struct {
	driver.Places
	lacks func() string
}

// Take implements [driver.Places].
func (p onDisk) Take(ctx context.Context, job driver.Job) (func(pawl.Answer), error) {
	for p.lacks() != "" {
		t := time.NewTimer(diskPause)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return nil, ctx.Err()
		}
	}
	return p.Places.Take(ctx, job)
}

// Waits implements [driver.Places]. An effect that lacks both space and a place is said to wait
// for space.
func (p onDisk) Waits(job driver.Job) (pawl.PoolLoad, bool) {
	if why := p.lacks(); why != "" {
		return pawl.PoolLoad{Name: pawl.PoolDisk, Why: why}, true
	}
	return p.Places.Waits(job)
}
