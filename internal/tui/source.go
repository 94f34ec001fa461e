package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"pawl"
	"pawl/internal/artifact"
	"pawl/internal/view"
)

// The limits on what is read at once and kept.
const (
	// maxBlob is how many bytes of one blob are kept to be shown.
	maxBlob = 256 << 10
	// recent is for how many of a run's last events the log is told in full: with what
	// replies say and calls are about. Those before it are told without.
	recent = 400
	// gather is how long what a watcher sees is gathered before it is drawn, and
	// gathered how many updates at most.
	gather   = 100 * time.Millisecond
	gathered = 1000
	// patience is how long one question to the daemon may take.
	patience = 20 * time.Second
)

// key names a run: its project, and its id there.
type key struct {
	project string
	run     pawl.RunID
}

// source does the I/O: every method returns a command. It reaches the daemon anew
// after it has lost it.
type source struct {
	ctx  context.Context
	open func(context.Context) (pawl.Projects, string, error)
	diff func(ctx context.Context, root string, from, to pawl.CommitHash) ([]byte, error)
	now  func() time.Time
	// after is a command that waits, follow one that begins to watch, next one that
	// goes on with it: tests wait for nothing.
	after  func(time.Duration) tea.Cmd
	follow func(w *watch, after, full pawl.Seq) tea.Cmd
	next   func(*watch) tea.Cmd

	mu       sync.Mutex // guards what follows
	projects pawl.Projects
	here     string                  // the project that the program was begun in
	services map[string]pawl.Service // by the project's id
}

func newSource(ctx context.Context, o Options) *source {
	s := &source{ctx: ctx, open: o.Open, diff: o.Diff, now: o.Now, after: tick}
	s.follow = s.watch
	s.next = func(w *watch) tea.Cmd { return w.next }
	return s
}

// reach is the daemon, reached now if it has not been.
func (s *source) reach() (pawl.Projects, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.projects != nil {
		return s.projects, nil
	}
	p, here, err := s.open(s.ctx) // what is opened may last as long as the program
	if err == nil {
		s.projects, s.here, s.services = p, here, map[string]pawl.Service{}
	}
	return p, err
}

// lose forgets the daemon where an error says that it is not there.
func (s *source) lose(err error) {
	if c := pawl.CodeOf(err); err == nil || !away(err) && c != pawl.CodeInternal {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.projects = nil
}

// away reports whether an error says that the daemon is not there.
func away(err error) bool {
	c := pawl.CodeOf(err)
	return err != nil && (c == pawl.CodeUnavailable || c == pawl.CodeStopped)
}

func (s *source) service(ctx context.Context, project string) (pawl.Service, error) {
	p, err := s.reach()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	svc := s.services[project]
	s.mu.Unlock()
	if svc != nil {
		return svc, nil
	}
	if svc, err = p.Project(ctx, project); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.services[project] = svc
	return svc, nil
}

// project is a project with its runs, oldest first.
type project struct {
	pawl.ProjectInfo
	runs []pawl.RunInfo
	err  error // why its runs are not known
}

// listMsg are the runs there are, or why they are not known.
type listMsg struct {
	at       time.Time
	here     string // the project that the program was begun in
	projects []project
	load     *pawl.Load
	err      error
}

// list asks for all runs.
func (s *source) list() tea.Cmd {
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(s.ctx, patience)
		defer cancel()
		msg := s.listNow(ctx)
		s.lose(msg.err)
		msg.at = s.now()
		return msg
	}
}

func (s *source) listNow(ctx context.Context) listMsg {
	p, err := s.reach()
	if err != nil {
		return listMsg{err: err}
	}
	infos, err := p.Projects(ctx)
	if err != nil {
		return listMsg{err: err}
	}
	s.mu.Lock()
	msg := listMsg{here: s.here}
	s.mu.Unlock()
	for _, info := range infos {
		one := project{ProjectInfo: info}
		svc, err := s.service(ctx, info.ID)
		if err == nil {
			one.runs, err = svc.Runs(ctx)
		}
		if one.err = err; away(err) {
			return listMsg{err: err}
		}
		msg.projects = append(msg.projects, one)
	}
	if load, err := p.Load(ctx); err == nil { // what does not know it says nothing
		msg.load = &load
	}
	return msg
}

// tickMsg says that it is time to ask again.
type tickMsg struct{}

func tick(after time.Duration) tea.Cmd {
	return tea.Tick(after, func(time.Time) tea.Msg { return tickMsg{} })
}

// watch is a watcher of one run.
type watch struct {
	key    key
	ctx    context.Context
	cancel context.CancelFunc
	out    chan pawl.Update
	// blobs are what events need to be told, beside them.
	mu    sync.Mutex // guards blobs and err
	blobs map[pawl.Hash][]byte
	err   error
}

// watchMsg is what a watcher has seen since it was asked last.
type watchMsg struct {
	w      *watch
	events []pawl.Event
	live   []pawl.Live
	blobs  map[pawl.Hash][]byte
	done   bool  // it sees no more
	err    error // why, unless the run is at rest
}

func (s *source) newWatch(k key) *watch {
	w := &watch{key: k, out: make(chan pawl.Update, 256), blobs: map[pawl.Hash][]byte{}}
	w.ctx, w.cancel = context.WithCancel(s.ctx)
	return w
}

// watch begins to watch a run after an event. Events from full on are told in full.
func (s *source) watch(w *watch, after, full pawl.Seq) tea.Cmd {
	return func() tea.Msg {
		go s.pump(w, after, full)
		return w.next()
	}
}

// pump hands on what the service says, until the run is at rest or nobody looks any more.
func (s *source) pump(w *watch, after, full pawl.Seq) {
	defer close(w.out)
	svc, err := s.service(w.ctx, w.key.project)
	if err == nil {
		for u, werr := range svc.Watch(w.ctx, w.key.run, after) {
			if err = werr; err != nil {
				break
			}
			if u.Event != nil && u.Event.Seq >= full {
				w.fetch(svc, u.Event)
			}
			select {
			case w.out <- u:
			case <-w.ctx.Done():
				return
			}
		}
	}
	if err != nil && w.ctx.Err() == nil {
		s.lose(err)
		w.mu.Lock()
		w.err = err
		w.mu.Unlock()
	}
}

// fetch reads what an event needs to be told. What cannot be read is told without.
func (w *watch) fetch(svc pawl.Service, e *pawl.Event) {
	var want []pawl.Hash
	switch b := e.Body.(type) {
	case *pawl.EffectRequested:
		if do, ok := b.Effect.Do.(*pawl.CallTool); ok {
			want = append(want, do.Args)
		}
	case *pawl.ModelReplied:
		want = append(want, b.Text)
	case *pawl.ToolReturned:
		if b.IsError {
			want = append(want, b.Output)
		}
	case *pawl.QuestionAsked:
		want = append(want, b.About)
	}
	for _, h := range want {
		if h.IsZero() {
			continue
		}
		if data, err := svc.Blob(w.ctx, w.key.run, h); err == nil {
			w.mu.Lock()
			w.blobs[h] = data[:min(len(data), maxBlob)]
			w.mu.Unlock()
		}
	}
}

// next waits for something to happen, and a little for what happens with it.
func (w *watch) next() tea.Msg {
	msg := watchMsg{w: w}
	var soon <-chan time.Time
	for len(msg.events)+len(msg.live) < gathered && !msg.done {
		select {
		case u, ok := <-w.out:
			switch {
			case !ok:
				msg.done = true
			case u.Event != nil:
				msg.events = append(msg.events, *u.Event)
			case u.Live != nil:
				msg.live = append(msg.live, *u.Live)
			}
			if soon == nil {
				soon = time.After(gather)
			}
			continue
		case <-soon:
		}
		break
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	msg.blobs, w.blobs, msg.err = w.blobs, map[pawl.Hash][]byte{}, w.err
	return msg
}

// blobsMsg are blobs that were asked for; those that are not there cannot be read.
type blobsMsg struct {
	asked []pawl.Hash
	blobs map[pawl.Hash][]byte
	err   error // of the last that could not
}

// read reads blobs of a run.
func (s *source) read(k key, hashes []pawl.Hash) tea.Cmd {
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(s.ctx, patience)
		defer cancel()
		msg := blobsMsg{asked: hashes, blobs: map[pawl.Hash][]byte{}}
		svc, err := s.service(ctx, k.project)
		if err != nil {
			msg.err = err
			s.lose(err)
			return msg
		}
		for _, h := range hashes {
			data, err := svc.Blob(ctx, k.run, h)
			if err != nil {
				msg.err = err
				continue
			}
			msg.blobs[h] = data[:min(len(data), maxBlob)]
		}
		return msg
	}
}

// diffMsg is what differs between two commits.
type diffMsg struct {
	of   diffOf
	text string
	err  error
}

// diffOf names a difference.
type diffOf struct {
	root     string
	from, to pawl.CommitHash
}

func (s *source) compare(of diffOf) tea.Cmd {
	return func() tea.Msg {
		if s.diff == nil {
			return diffMsg{of: of, err: pawl.Errorf(pawl.CodeUnavailable, "differences cannot be shown here: pawl diff")}
		}
		ctx, cancel := context.WithTimeout(s.ctx, patience)
		defer cancel()
		data, err := s.diff(ctx, of.root, of.from, of.to)
		return diffMsg{of, string(data[:min(len(data), maxBlob)]), err}
	}
}

// steeredMsg says what became of a command.
type steeredMsg struct {
	key    key
	answer *pawl.Reply // when it was one
	said   string      // what is said when it was obeyed
	err    error
}

func (s *source) steer(k key, st pawl.Steering, said string) tea.Cmd {
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(s.ctx, patience)
		defer cancel()
		svc, err := s.service(ctx, k.project)
		if err == nil {
			err = svc.Steer(ctx, k.run, st)
		} else {
			s.lose(err)
		}
		return steeredMsg{k, st.Answer, said, err}
	}
}

// waiting is an open question of any run.
type waiting struct {
	key key
	view.OpenQuestion
	plan string // the plan it is about, one line; empty = it is about none
}

// planLine is the plan that a question is about, in one line.
func planLine(q view.OpenQuestion, read view.Blobs) string {
	if q.Kind != pawl.AskPlan {
		return ""
	}
	data, err := read(q.About)
	if err != nil {
		return ""
	}
	a, err := artifact.Read(artifact.KindPlan, data)
	p, ok := a.(*artifact.Plan)
	if err != nil || !ok {
		return ""
	}
	names := make([]string, len(p.Specs))
	for i, x := range p.Specs {
		names[i] = x.Name
	}
	return fmt.Sprintf("%s: %s, %s", p.Title, plural(len(names), "spec"), strings.Join(names, ", "))
}

// inboxMsg are the open questions, the one that has waited longest first.
type inboxMsg struct {
	at  time.Time
	all []waiting
	err error
}

// inbox reads the open questions of runs.
func (s *source) inbox(runs []key) tea.Cmd {
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(s.ctx, patience)
		defer cancel()
		msg := inboxMsg{at: s.now()}
		for _, k := range runs {
			svc, err := s.service(ctx, k.project)
			if err != nil {
				s.lose(err)
				msg.err = err
				break
			}
			r, err := view.Fold(svc.Events(ctx, k.run, 0))
			if err != nil && r.Seq == 0 {
				msg.err = err
				continue
			}
			read := func(h pawl.Hash) ([]byte, error) { return svc.Blob(ctx, k.run, h) }
			for _, q := range view.Questions(r, msg.at, read) {
				msg.all = append(msg.all, waiting{k, q, planLine(q, read)})
			}
		}
		slices.SortStableFunc(msg.all, func(a, b waiting) int { return a.Asked.Compare(b.Asked) })
		return msg
	}
}
