package kernel

import (
	"testing"

	"pawl"
)

// A group that lands whole, or of which the best lands, is not cut to what works at once: its judge
// would see parts of it, and each part would land.
func TestBatchSize(t *testing.T) {
	for _, row := range []struct {
		children pawl.Children
		want     int
	}{
		{pawl.Children{Group: 5, Parallel: 2}, 2},
		{pawl.Children{Group: 5, Parallel: 2, Land: pawl.LandApproved}, 2},
		{pawl.Children{Group: 5, Parallel: 8, Land: pawl.LandApproved}, 5},
		{pawl.Children{Group: 5, Parallel: 2, Land: pawl.LandAll}, 5},
		{pawl.Children{Group: 5, Parallel: 2, Land: pawl.LandBest}, 5},
		{pawl.Children{Group: pawl.GroupAll, Parallel: 2, Land: pawl.LandBest}, maxBatch},
	} {
		s, l := &State{Settings: &pawl.Settings{}}, newLoop(1, &pawl.LoopKind{Children: &row.children})
		if got := s.batchSize(l); got != row.want {
			t.Errorf("%+v: %d; want %d", row.children, got, row.want)
		}
	}
}
