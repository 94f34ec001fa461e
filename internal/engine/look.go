package engine

import (
	"context"
	"sync"

	"pawl"
)

// look is what a start finds out about the repository while its request is being resolved. Neither
// depends on the other, and each takes several milliseconds.
type look struct {
	engine *Engine
	dir    string
	done   sync.WaitGroup

	repo    pawl.Repository
	repoErr error

	highest    int
	numbersErr error
}

// look begins to look at the repository for a request. The function that it returns ends that, and returns
// when nothing of it is under way any more.
func (e *Engine) look(ctx context.Context, req pawl.StartRequest) (l *look, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	l = &look{engine: e, dir: req.Dir}
	l.done.Go(func() { l.repo, l.repoErr = e.c.Inspect(ctx, req.Dir) })
	if req.Task == "" {
		l.done.Go(func() { l.highest, l.numbersErr = e.c.Numbers(ctx) })
	}
	return l, func() {
		cancel()
		l.done.Wait()
	}
}

// inspected returns what [Config.Inspect] says of a folder.
func (l *look) inspected(ctx context.Context, dir string) (pawl.Repository, error) {
	l.done.Wait()
	if dir != l.dir { // the request was resolved to another one
		return l.engine.c.Inspect(ctx, dir)
	}
	return l.repo, l.repoErr
}

// numbers returns what [Config.Numbers] said. That it may be older than the lock on numbering does no harm:
// runs that have started since are in the log, and no branch is made over another one.
func (l *look) numbers(context.Context) (int, error) {
	l.done.Wait()
	return l.highest, l.numbersErr
}
