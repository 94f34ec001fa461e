package egress

import (
	"context"
	"slices"
	"sync"
)

// Unresolved stands in the lines about hosts whose names have no address that can be found.
const Unresolved = "cannot be resolved"

// Check returns why requests to hosts that the rules name would be refused now, one line for
// each of those hosts. It resolves their names and connects to none of them. What a wildcard
// names is not known, so it is left out.
func Check(ctx context.Context, o Options) ([]string, error) {
	p, err := New(o)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	refusals := make([]string, len(p.rules))
	var all sync.WaitGroup
	for i, r := range p.rules {
		if r.wildcard {
			continue
		}
		all.Go(func() {
			if _, err := p.judge(ctx, true, r.host, r.port); err != nil {
				refusals[i] = err.Error()
			}
		})
	}
	all.Wait()
	slices.Sort(refusals)
	return slices.DeleteFunc(slices.Compact(refusals), func(s string) bool { return s == "" }), nil
}
