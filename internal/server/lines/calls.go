package lines

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/message"
	"pawl/internal/server/field"
	"pawl/internal/view"
)

// MaxListed is how many runs of a project loop.list looks at, the newest: those at
// work are always among them.
const MaxListed = 50

// call obeys a method.
func (s *session) call(ctx context.Context, r request) (any, error) {
	methods := map[string]func(context.Context, json.RawMessage) (any, error){
		"connect": s.connect, "disconnect": s.disconnect, "ping": s.ping, "metrics.get": s.metrics,
		"loop.list": s.list, "loop.get": s.get, "loop.create_plan": s.create,
		"loop.start": s.start, "loop.pause": s.pause, "loop.resume": s.resume, "loop.cancel": s.stop, "loop.delete": s.archive,
		"plan.approve": s.approve, "plan.reject": s.reject, "plan.iterate": s.iterate, "plan.get_preview": s.preview,
	}
	do := methods[r.Method]
	switch {
	case strings.HasPrefix(r.Method, "chat."):
		return nil, fail(codeMethod, "there is no chat here: a goal is given to loop.create_plan")
	case do == nil:
		return nil, fail(codeMethod, "there is no method %q", r.Method)
	case s.id == "" && !slices.Contains([]string{"connect", "ping"}, r.Method):
		return nil, fail(codeUnauthorized, "connect first")
	}
	return do(ctx, r.Params)
}

// params reads the parameters of a method, which has no others.
func params(raw json.RawMessage, into any) error {
	if len(raw) == 0 || string(raw) == "null" {
		raw = json.RawMessage("{}")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		if wrong := field.Wrong(into, raw); wrong != nil {
			return wrong
		}
		return fail(codeParams, "the params: %v", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fail(codeParams, "something follows the params")
	}
	return nil
}

type state struct {
	Loops []view.Record  `json:"loops"`
	Plans []message.Plan `json:"plans"` // those that wait for a person
}

// connect begins the session: what there is now, then events as they come.
func (s *session) connect(ctx context.Context, raw json.RawMessage) (any, error) {
	var in struct {
		Version string `json:"version"`
		Dir     string `json:"dir"` // a folder of the repository it is about; empty = all that are open
		// Environ are variables, "NAME=value", for the runs that the client starts and resumes.
		Environ []string `json:"environ"`
	}
	if err := params(raw, &in); err != nil {
		return nil, err
	}
	if err := checkEnviron(in.Environ); err != nil {
		return nil, err
	}
	if s.id != "" {
		return nil, fail(codeInvalidState, "this connection is connected already, as %s", s.id)
	}
	if !slices.Contains(versions, in.Version) {
		f := fail(codeVersion, "version %q of the protocol is not known: want %s", in.Version, strings.Join(versions, " or "))
		f.Data = more{Field: "version", Versions: versions}
		return nil, f
	}
	if in.Dir != "" {
		if !filepath.IsAbs(in.Dir) {
			f := fail(codeFolder, "dir %q: want the absolute path of a folder", in.Dir)
			f.Data = more{Field: "dir"}
			return nil, f
		}
		p, err := s.c.Projects.Open(s.equipped(ctx, in.Environ), in.Dir)
		if err != nil {
			return nil, err
		}
		s.dir, s.project = in.Dir, p.ID
	}
	s.environ = in.Environ
	begun := make(chan struct{})
	s.wg.Go(func() { s.push(ctx, func() { close(begun) }) })
	<-begun // or what happens in between would be told by nobody
	loops, plans, err := s.state(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range plans {
		s.show(p.ID, p.About)
	}
	s.id = "s-" + strings.ToLower(rand.Text()[:12])
	return struct {
		SessionID string `json:"session_id"`
		Version   string `json:"version"`
		State     state  `json:"state"`
	}{s.id, s.c.Version, state{loops, plans}}, nil
}

// maxEnviron is how many bytes of variables a client may hand over.
const maxEnviron = 48 << 10

// checkEnviron refuses variables that are none. It quotes nothing of them: they are secrets.
func checkEnviron(environ []string) error {
	size := 0
	for i, kv := range environ {
		if name, _, ok := strings.Cut(kv, "="); !ok || name == "" || strings.ContainsRune(kv, 0) {
			f := fail(codeParams, "environ[%d]: want NAME=value", i)
			f.Data = more{Field: "environ"}
			return f
		}
		size += len(kv)
	}
	if size > maxEnviron {
		f := fail(codeParams, "environ has %d bytes: want at most %d", size, maxEnviron)
		f.Data = more{Field: "environ", Hint: "a shorter PATH helps most"}
		return f
	}
	return nil
}

// equipped returns a context for a request that starts or resumes a run, with what was handed over with it or else
// with the connection.
func (s *session) equipped(ctx context.Context, environ []string) context.Context {
	if environ == nil {
		environ = s.environ
	}
	if environ == nil || s.c.Equip == nil {
		return ctx
	}
	return s.c.Equip(ctx, environ)
}

// push sends the messages that are about the session's project.
func (s *session) push(ctx context.Context, begun func()) {
	seen := message.Cursor{}
	for ; ctx.Err() == nil; begun = nil {
		for m, err := range s.c.Feed.Subscribe(ctx, seen, begun) {
			if errors.Is(err, message.ErrBehind) {
				break // and go on from where it is
			}
			if err != nil || ctx.Err() != nil { // unsent messages do not delay closing
				return
			}
			if seen.See(m); s.project != "" && s.project != m.Project {
				continue
			}
			if p, ok := m.Data.(message.Plan); ok {
				s.show(p.ID, p.About)
			}
			s.send(struct {
				Event string `json:"event"`
				Data  any    `json:"data"`
			}{m.Event, m.Data})
		}
	}
}

func (s *session) disconnect(context.Context, json.RawMessage) (any, error) { return struct{}{}, nil }

func (s *session) ping(context.Context, json.RawMessage) (any, error) {
	return map[string]bool{"pong": true}, nil
}

// found is a loop with what is needed to do something with it.
type found struct {
	run     *view.Records
	loop    *view.Record
	service pawl.Service
	blobs   view.Blobs
	info    pawl.RunInfo
}

// runs folds the runs of the session's projects, the newest first, until look says
// that it has seen enough.
func (s *session) runs(ctx context.Context, look func(found) bool) error {
	all, err := s.c.Projects.Projects(ctx)
	if err != nil {
		return err
	}
	for _, p := range all {
		if s.project != "" && s.project != p.ID {
			continue
		}
		service, err := s.c.Projects.Project(ctx, p.ID)
		if err != nil {
			continue // it was closed in the meantime
		}
		if more, err := s.runsOf(ctx, service, look); !more || err != nil {
			return err
		}
	}
	return nil
}

func (s *session) runsOf(ctx context.Context, service pawl.Service, look func(found) bool) (more bool, err error) {
	infos, err := service.Runs(ctx)
	if err != nil {
		return true, nil // it cannot be read: the commands of its own say so
	}
	listed := 0
	for _, info := range slices.Backward(infos) {
		if info.Archived || info.Status == pawl.StatusQuarantined {
			continue
		}
		if listed++; listed > MaxListed && info.Status == pawl.StatusEnded {
			continue
		}
		rs, err := fold(ctx, service, info.ID)
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case err != nil:
			continue // it is damaged: its own commands say so, and the others are told of
		}
		blobs := func(h pawl.Hash) ([]byte, error) { return service.Blob(ctx, info.ID, h) }
		if !look(found{run: rs, service: service, blobs: blobs, info: info}) {
			return false, nil
		}
	}
	return true, nil
}

func fold(ctx context.Context, service pawl.Service, run pawl.RunID) (*view.Records, error) {
	rs := &view.Records{}
	for e, err := range service.Events(ctx, run, 0) {
		if err != nil {
			return nil, err
		}
		rs.Add(e)
	}
	return rs, nil
}

// loop finds the loop that a method is about.
func (s *session) loop(ctx context.Context, id string) (at found, err error) {
	if id == "" {
		return at, fail(codeParams, `want the "id" of a loop`)
	}
	err = s.runs(ctx, func(f found) bool {
		if f.loop = f.run.ByID(id); f.loop != nil {
			at = f
		}
		return f.loop == nil
	})
	if err == nil && at.loop == nil {
		err = fail(codeNotFound, "there is no loop %s", id)
	}
	return at, err
}

// state is what a client that connects sees: the loops that are not archived, and the
// plans that nobody has decided about yet.
func (s *session) state(ctx context.Context) (loops []view.Record, plans []message.Plan, err error) {
	loops, plans = []view.Record{}, []message.Plan{}
	err = s.runs(ctx, func(f found) bool {
		for _, r := range f.run.Loops {
			if !r.Archived {
				loops = append(loops, f.run.Full(r, f.blobs))
			}
		}
		for _, r := range f.run.Awaiting() {
			if p, err := message.PreviewOf(r, f.blobs); err == nil {
				plans = append(plans, message.Plan{ID: r.ID, Run: r.Run, Preview: p})
			}
		}
		return true
	})
	return loops, plans, err
}

// show remembers what the client was shown of a plan.
func (s *session) show(id string, about pawl.Hash) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown[id] = about
}

func (s *session) list(ctx context.Context, raw json.RawMessage) (any, error) {
	var in struct {
		Status pawl.LoopStatus `json:"status"`
		Type   string          `json:"loop_type"`
		Parent string          `json:"parent_id"`
	}
	if err := params(raw, &in); err != nil {
		return nil, err
	}
	if all := pawl.LoopStatuses(); in.Status != "" && !slices.Contains(all, in.Status) {
		words := make([]string, len(all))
		for i, status := range all {
			words[i] = string(status)
		}
		return nil, noSuch("status", string(in.Status), words)
	}
	loops, types, parent := []view.Record{}, slices.Clone(s.c.Types), in.Parent == ""
	err := s.runs(ctx, func(f found) bool {
		types = append(types, f.run.Kinds()...)
		parent = parent || f.run.ByID(in.Parent) != nil
		for _, r := range f.run.Loops {
			if !r.Archived && (in.Status == "" || r.Status == in.Status) && (in.Type == "" || r.LoopType == in.Type) && (in.Parent == "" || r.ParentID == in.Parent) {
				loops = append(loops, f.run.Full(r, f.blobs))
			}
		}
		return true
	})
	switch {
	case err != nil:
		return nil, err
	case in.Type != "" && !slices.Contains(types, in.Type):
		slices.Sort(types)
		return nil, noSuch("loop_type", in.Type, slices.Compact(types))
	case !parent:
		f := fail(codeNotFound, "there is no loop %.40s", in.Parent)
		f.Data = more{Field: "parent_id"}
		return nil, f
	}
	return map[string][]view.Record{"loops": loops}, nil
}

// noSuch refuses a word that no loop has.
func noSuch(param, word string, known []string) error {
	f := fail(codeParams, "no loop has the %s %.40q: it is one of %s", param, word, strings.Join(known, ", "))
	f.Data = more{Field: param}
	return f
}

// one is the parameter of methods that are about one loop.
type one struct {
	ID string `json:"id"`
}

func (s *session) one(ctx context.Context, raw json.RawMessage) (found, error) {
	var in one
	if err := params(raw, &in); err != nil {
		return found{}, err
	}
	return s.loop(ctx, in.ID)
}

func (s *session) get(ctx context.Context, raw json.RawMessage) (any, error) {
	at, err := s.one(ctx, raw)
	if err != nil {
		return nil, err
	}
	return map[string]view.Record{"loop": at.run.Full(at.loop, at.blobs)}, nil
}

func (s *session) create(ctx context.Context, raw json.RawMessage) (any, error) {
	var in struct {
		Description string          `json:"description"`
		Recipe      string          `json:"recipe"` // empty = the one for plans
		Flags       pawl.StartFlags `json:"flags"`
		Allow       pawl.Hash       `json:"allow_prepare"`
		Environ     []string        `json:"environ"` // instead of the connection's
	}
	if err := params(raw, &in); err != nil {
		return nil, err
	}
	if err := checkEnviron(in.Environ); err != nil {
		return nil, err
	}
	switch {
	case strings.TrimSpace(in.Description) == "":
		return nil, fail(codeParams, `want a "description" of what should be there when it is done`)
	case s.dir == "":
		return nil, fail(codeParams, `name the repository when you connect: {"version":"1","dir":"/path"}`)
	}
	service, err := s.c.Projects.Project(ctx, s.project)
	if err != nil {
		return nil, err
	}
	info, err := service.Start(s.equipped(ctx, in.Environ), pawl.StartRequest{Goal: in.Description, Recipe: cmp.Or(in.Recipe, s.c.PlanRecipe), Flags: in.Flags,
		Dir: s.dir, Unattended: true, AllowPrepare: in.Allow})
	if err != nil {
		return nil, err
	}
	s.c.Feed.Notify(s.project, info.ID)
	rs, err := fold(ctx, service, info.ID)
	if err != nil {
		return nil, err
	}
	return struct {
		LoopID string     `json:"loop_id"`
		Run    pawl.RunID `json:"run"`
	}{rs.Loops[0].ID, info.ID}, nil
}

// steer gives the run of a loop a command, or the loop a signal: the root stands for
// its run.
func (s *session) steer(ctx context.Context, at found, root pawl.SteerVerb, signal pawl.SignalKind) (any, error) {
	in := pawl.Steering{Verb: root, By: s.id}
	if at.loop.Parent != 0 {
		in = pawl.Steering{Verb: pawl.SteerSignal, Signal: &pawl.Signaling{Signal: signal, To: at.loop.ID}, By: s.id}
	}
	if err := at.service.Steer(ctx, at.info.ID, in); err != nil {
		return nil, err
	}
	return s.now(ctx, at)
}

// now is the loop after a command.
func (s *session) now(ctx context.Context, at found) (any, error) {
	rs, err := fold(ctx, at.service, at.info.ID)
	if err != nil {
		return nil, err
	}
	return map[string]view.Record{"loop": rs.Full(rs.ByID(at.loop.ID), at.blobs)}, nil
}

// resumed is the parameter of methods that let one loop continue: which, and what its run is handed instead of what
// the connection was.
func (s *session) resumed(ctx context.Context, raw json.RawMessage) (at found, environ []string, err error) {
	var in struct {
		one
		Environ []string `json:"environ"`
	}
	if err := params(raw, &in); err != nil {
		return found{}, nil, err
	}
	if err := checkEnviron(in.Environ); err != nil {
		return found{}, nil, err
	}
	at, err = s.loop(ctx, in.ID)
	return at, in.Environ, err
}

// start lets a loop run. One that waits for its turn is not let in before the others.
func (s *session) start(ctx context.Context, raw json.RawMessage) (any, error) {
	at, environ, err := s.resumed(ctx, raw)
	if err != nil {
		return nil, err
	}
	switch at.loop.Status {
	case pawl.LoopPaused, pawl.LoopFailed:
		return s.goOn(ctx, at, environ)
	case pawl.LoopPending:
		return s.now(ctx, at)
	}
	return nil, fail(codeInvalidState, "loop %s is %s: it cannot be started", at.loop.ID, at.loop.Status)
}

func (s *session) pause(ctx context.Context, raw json.RawMessage) (any, error) {
	at, err := s.one(ctx, raw)
	if err != nil {
		return nil, err
	}
	return s.steer(ctx, at, pawl.SteerPause, pawl.SignalPause)
}

func (s *session) resume(ctx context.Context, raw json.RawMessage) (any, error) {
	at, environ, err := s.resumed(ctx, raw)
	if err != nil {
		return nil, err
	}
	return s.goOn(ctx, at, environ)
}

// goOn resumes a loop. One that failed gets a new iteration when its run, which has
// ended by it, goes on.
func (s *session) goOn(ctx context.Context, at found, environ []string) (any, error) {
	if at.loop.Parent == 0 || at.info.Status == pawl.StatusEnded || at.info.Status == pawl.StatusPaused {
		if err := at.service.Steer(s.equipped(ctx, environ), at.info.ID, pawl.Steering{Verb: pawl.SteerResume, By: s.id}); err != nil {
			return nil, err
		}
		return s.now(ctx, at)
	}
	return s.steer(ctx, at, pawl.SteerResume, pawl.SignalResume)
}

func (s *session) stop(ctx context.Context, raw json.RawMessage) (any, error) {
	at, err := s.one(ctx, raw)
	if err != nil {
		return nil, err
	}
	return s.steer(ctx, at, pawl.SteerCancel, pawl.SignalStop)
}

// archive is loop.delete: nothing is removed.
func (s *session) archive(ctx context.Context, raw json.RawMessage) (any, error) {
	at, err := s.one(ctx, raw)
	if err != nil {
		return nil, err
	}
	in := pawl.Steering{Verb: pawl.SteerArchive, Loop: at.loop.ID, By: s.id}
	if at.loop.Parent == 0 {
		in.Loop = ""
	}
	if err := at.service.Steer(ctx, at.info.ID, in); err != nil {
		return nil, err
	}
	return s.now(ctx, at)
}

func (s *session) metrics(ctx context.Context, raw json.RawMessage) (any, error) {
	if err := params(raw, &struct{}{}); err != nil {
		return nil, err
	}
	load, err := s.c.Projects.Load(ctx)
	if err != nil {
		return nil, err
	}
	out := struct {
		Loops map[pawl.LoopStatus]int `json:"loops"`
		Cost  pawl.Micros             `json:"cost"`
		Money pawl.Money              `json:"money"`
		Load  pawl.Load               `json:"load"`
	}{map[pawl.LoopStatus]int{}, 0, pawl.Money{}, load}
	err = s.runs(ctx, func(f found) bool {
		for _, r := range f.run.Loops {
			out.Loops[r.Status]++
		}
		out.Cost += f.info.Cost
		out.Money.Add(f.info.Figures())
		return true
	})
	return out, err
}
