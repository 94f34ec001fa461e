package bench

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"pawl"
	"pawl/internal/kernel"
	"pawl/internal/project"
	"pawl/internal/store/sqlite"
)

// List is how long a daemon takes to list the runs of a project that has many.
type List struct {
	Runs int  `json:"runs"`
	Page Page `json:"page"` // the newest ones, with ?limit=
	All  Page `json:"all"`
}

// Page is what one answer takes, from the request until its last byte was read.
type Page struct {
	Runs  int           `json:"runs"` // in it
	Bytes int           `json:"bytes"`
	P50   time.Duration `json:"p50_ns"`
	P95   time.Duration `json:"p95_ns"`
}

// pageRuns is how many of the newest runs are asked for at once.
const pageRuns = 100

// MeasureList stores runs that have ended and lists them.
func MeasureList(ctx context.Context, o Options, runs, times int) (l List, err error) {
	l.Runs = runs
	u, err := newUser(o.Program, o.Dir)
	if err != nil {
		return l, err
	}
	defer u.remove()
	p, err := u.layProject(ctx, "repo", 1)
	if err != nil {
		return l, err
	}
	if err := storeRuns(ctx, p, runs); err != nil {
		return l, err
	}
	d, err := u.serve()
	if err != nil {
		return l, err
	}
	defer d.kill()
	if _, err := d.Open(ctx, p.Repo.Root); err != nil {
		return l, err
	}
	address := "http://pawl/v1/projects/" + filepath.Base(p.Dir) + "/runs"
	if l.Page, err = measurePage(ctx, u, fmt.Sprintf("%s?limit=%d", address, pageRuns), times); err != nil {
		return l, err
	}
	l.Page.Runs = min(pageRuns, runs)
	if l.All, err = measurePage(ctx, u, address, times/10); err != nil {
		return l, err
	}
	l.All.Runs = runs
	return l, nil
}

func measurePage(ctx context.Context, u *user, address string, times int) (p Page, err error) {
	socket := project.HomeAt(u.state()).Socket()
	c := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	defer c.CloseIdleConnections()
	var took []time.Duration
	for range times {
		from := time.Now()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return p, fmt.Errorf("list the runs: %w", err)
		}
		res, err := c.Do(req)
		if err != nil {
			return p, fmt.Errorf("list the runs: %w", err)
		}
		n, err := io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK {
			return p, fmt.Errorf("list the runs: %s, %w", res.Status, err)
		}
		took, p.Bytes = append(took, time.Since(from)), int(n)
	}
	slices.Sort(took)
	p.P50, p.P95 = took[len(took)/2], took[len(took)*95/100]
	return p, nil
}

// storers is how many runs are stored at once: they share transactions.
const storers = 64

// storeRuns stores runs that were cancelled as soon as they were started.
func storeRuns(ctx context.Context, p project.Project, runs int) error {
	log, err := sqlite.Open(p.Dir)
	if err != nil {
		return err
	}
	defer log.Close()
	started, err := endless(1)
	if err != nil {
		return err
	}
	numbers, errs := make(chan int), make(chan error, storers)
	var storing sync.WaitGroup
	for range storers {
		storing.Go(func() {
			for n := range numbers {
				if err := storeRun(ctx, log, *started, n); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	for n := 1; n <= runs && len(errs) == 0; n++ {
		select {
		case numbers <- n:
		case err := <-errs:
			errs <- err
		}
	}
	close(numbers)
	storing.Wait()
	select {
	case err := <-errs:
		return fmt.Errorf("store runs: %w", err)
	default:
		return nil
	}
}

func storeRun(ctx context.Context, log pawl.Log, started pawl.RunStarted, n int) error {
	id := pawl.RunID(fmt.Sprintf("%05d-a-run-with-a-name-of-usual-length", n))
	started.Task, started.Title, started.Branch = n, "A run with a title of usual length", "pawl/"+string(id)
	s := &kernel.State{}
	u := pawl.Unit{Run: id}
	for _, in := range []kernel.Input{{Start: &kernel.Start{Run: id, Started: &started}},
		{Steer: &pawl.Steering{Verb: pawl.SteerCancel, Running: pawl.DrainNow, Reason: "it was only stored"}}} {
		in.At = time.Unix(1_700_000_000+int64(n), 0).UTC()
		events, err := kernel.Decide(s, in)
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := kernel.Apply(s, e); err != nil {
				return err
			}
		}
		u.Events = append(u.Events, events...)
	}
	info := kernel.Info(s)
	u.Info = &info
	return log.Append(ctx, u)
}
