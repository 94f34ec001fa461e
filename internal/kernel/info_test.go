package kernel

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/testsize"
	"pawl/internal/view"
)

// A view says of a run what the kernel says, whatever happened: nothing is derived twice. F-40
func TestViewsSayTheSame(t *testing.T) {
	t.Parallel()
	for _, s := range []*simulation{&plain, &trees, &judged, &cascaded} {
		for seed := range uint64(150) {
			if !testsize.Case(int(seed), 5) {
				continue
			}
			w := s.simulate(t, seed)
			if diff := cmp.Diff(Info(w.state), view.Info(w.log)); diff != "" {
				t.Errorf("%s=%d (-kernel +view)\n%s", s.env, seed, diff)
			}
		}
	}
}
