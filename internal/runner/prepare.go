package runner

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/kernel/brief"
)

// preparation is how the commands of prepare came out for a commit: a layer, or the report of
// a command that failed.
type preparation struct {
	layer    pawl.PreparedLayer
	report   *pawl.GateReport // nil when no command ran
	failed   string           // empty = none did
	said     string           // what it printed of that
	contacts []pawl.Contact   // through the egress proxy
}

// met takes over with whom the commands were in contact, for the report too.
func (p *preparation) met(contacts []pawl.Contact) {
	p.contacts = contacts
	for _, c := range contacts {
		line := fmt.Sprintf("egress: %s: %d requests, %d bytes sent, %d received", c.Host, c.Requests, c.Sent, c.Received)
		if c.Refused != "" {
			line = fmt.Sprintf("egress: %s: %d requests refused: %s", c.Host, c.Requests, c.Refused)
		}
		p.report.Output += line + "\n"
	}
}

// tell counts them in an event.
func (p *preparation) tell(b *pawl.Prepared) {
	for _, c := range p.contacts {
		if c.Refused != "" {
			b.Refused += c.Requests
			b.RefusedHosts = withHost(b.RefusedHosts, c.Host)
			continue
		}
		b.Requests, b.Received = b.Requests+c.Requests, b.Received+c.Received
		b.Hosts = withHost(b.Hosts, c.Host)
	}
}

// Bounds of what an event tells.
const (
	maxFailed = 400 // bytes of why the commands failed
	maxSaid   = 160 // bytes of what they printed
	maxHosts  = 8
	maxHost   = 64 // bytes
)

func withHost(hosts []string, host string) []string {
	if host = brief.Cut(host, maxHost); len(hosts) == maxHosts || slices.Contains(hosts, host) {
		return hosts
	}
	return append(hosts, host)
}

// prepare makes what the commands of prepare leave for a commit available to its gates, and
// puts it into the loop's worktree where that is asked for.
func (r *Runner) prepare(ctx context.Context, job driver.Job, do *pawl.Prepare, a *answer) (pawl.Answer, error) {
	key, err := r.prepareKey(ctx, job, do.Commit)
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %w", do.Commit, err)
	}
	if do.Fresh {
		key = keyOf([]string{"fresh", key, string(do.Commit)}, nil, nil)
	}
	made, err := r.prepared(ctx, job, do.Commit, key)
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %w", do.Commit, err)
	}
	out := &pawl.Prepared{Effect: job.Effect.ID, Key: key, Reused: made.report == nil, Bytes: made.layer.Size,
		Failed: brief.Cut(made.failed, maxFailed), Said: made.said}
	if made.report != nil {
		evidence, err := a.document(made.report)
		if err != nil {
			return nil, fmt.Errorf("keep what prepare printed: %w", err)
		}
		out.Evidence, out.Duration = evidence.Hash(), made.report.Duration
		made.tell(out)
	}
	if do.Furnish && made.failed == "" {
		if err := r.furnish(ctx, job, made.layer); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// furnish puts a layer into the loop's worktree. That is not broken off half way, as nobody
// would know what it left, and it is short.
func (r *Runner) furnish(ctx context.Context, job driver.Job, layer pawl.PreparedLayer) error {
	return r.Spaces.Furnish(context.WithoutCancel(ctx), job.Workspace, pawl.Furniture{
		PreparedFor: pawl.PreparedFor{Run: job.Run, Key: layer.Key}, Paths: layer.Paths,
	})
}

// prepared returns what was prepared for a commit under a key. The commands run unless what
// they left for an earlier one is still there.
func (r *Runner) prepared(ctx context.Context, job driver.Job, commit pawl.CommitHash, key string) (preparation, error) {
	trusted := isTrusted(job, commit)
	return r.preparing.once(ctx, fmt.Sprintf("%s %s %t", job.Run, key, trusted), func() (preparation, error) {
		layer, known, err := r.Rooms.Prepared(job.Run, key, trusted)
		if known || err != nil {
			return preparation{layer: layer}, err
		}
		return r.runPrepare(ctx, job, commit, key)
	})
}

// runPrepare runs the commands of prepare over a clean checkout, in a room of their own.
func (r *Runner) runPrepare(ctx context.Context, job driver.Job, commit pawl.CommitHash, key string) (made preparation, err error) {
	spec, err := r.prepareSpec(ctx, job, commit, key)
	if err != nil {
		return made, err
	}
	dir, release, err := r.Spaces.Checkout(ctx, commit)
	if err != nil {
		return made, err
	}
	defer release()
	spec.Tree = dir
	ctx, stop := r.untilBarred(ctx, job, &spec)
	defer stop()
	room, err := r.Rooms.Prepare(ctx, spec)
	if err != nil {
		return made, err
	}
	began := time.Now()
	made.report = &pawl.GateReport{Verdict: pawl.VerdictPass, Reason: "prepared"}
	defer func() { made.met(room.Contacts()) }()
	for _, line := range job.Settings.Prepare {
		left := job.Settings.PrepareTime() - time.Since(began)
		res, err := discreet{room, r.Redact}.Run(ctx, pawl.Command{
			Shell: line, Timeout: max(left, time.Second), Progress: written(job),
			Env: slices.Concat(job.Settings.PrepareEnviron, []string{"PAWL_TASK_ID=" + string(job.Run), "PAWL_PROJECT_ROOT=" + room.Dir()}),
		})
		barred := errors.Is(context.Cause(ctx), errBarred)
		if err != nil && !barred {
			return made, errors.Join(fmt.Errorf("prepare %q: %w", line, err), room.Close())
		}
		made.report.Output += "$ " + line + "\n" + strings.TrimRight(string(res.Output), "\n") + "\n"
		made.report.Duration, made.report.Met = time.Since(began), append(made.report.Met, res.Met...)
		if why := unprepared(job.Settings, line, &res, barred); why != "" {
			if refused := refusedBy(room.Contacts()); refused != "" {
				if why += refused; strings.Contains(refused, "egress rule") {
					why += ", for a new run" // this one keeps those it began with
				}
			} else {
				made.said = r.told(&res)
			}
			made.failed = why
			made.report.Verdict, made.report.Reason, made.report.Error = pawl.VerdictFail, why, why
			made.report.ExitCode, made.report.Partial = res.ExitCode, res.TimedOut
			return made, room.Close()
		}
	}
	made.layer, err = room.Keep()
	return made, err
}

// prepareSpec describes the room that prepares a commit. The caches of the commit that the run
// starts from are below those of every other one.
func (r *Runner) prepareSpec(ctx context.Context, job driver.Job, commit pawl.CommitHash, key string) (spec pawl.PrepareSpec, err error) {
	spec = pawl.PrepareSpec{Run: job.Run, Commit: commit, Key: key, Egress: job.Settings.Egress, Limits: job.Settings.Room}
	if !job.Started.BaseTrusted {
		return spec, nil
	}
	if spec.Trusted = isTrusted(job, commit); !spec.Trusted {
		spec.Below, err = r.prepareKey(ctx, job, job.Started.Base)
	}
	return spec, err
}

// told returns the lines that tell most of why a command failed; empty if there are none, or
// the reason says enough without.
func (r *Runner) told(res *pawl.CommandResult) string {
	if r.Gist == nil || res.TimedOut || res.Missing {
		return ""
	}
	return brief.Cut(strings.Join(r.Gist(string(res.Output), 2), " "), maxSaid)
}

// errBarred ends the commands of a room that asked for a host which is barred to it.
var errBarred = errors.New("a host that is named in egress is refused")

// untilBarred returns a context that ends with [errBarred] as soon as a host is refused to a
// room that its rules name: clients would ask for it again and again until their time is over.
// Every refusal is shown as it comes.
func (r *Runner) untilBarred(ctx context.Context, job driver.Job, spec *pawl.PrepareSpec) (context.Context, func()) {
	ctx, end := context.WithCancelCause(ctx)
	spec.Refused = func(c pawl.Contact) {
		job.Live("pawl: the egress proxy refused a request: " + c.Refused + "\n")
		if c.Barred {
			end(errBarred)
		}
	}
	return ctx, func() { end(nil) }
}

// isTrusted reports whether no model has written a commit: what is prepared for it serves all
// runs, and what was prepared for a candidate does not serve it.
func isTrusted(job driver.Job, commit pawl.CommitHash) bool {
	return job.Started.BaseTrusted && commit == job.Started.Base
}

// unprepared returns why a command of prepare failed; empty means that it succeeded.
func unprepared(s *pawl.Settings, line string, res *pawl.CommandResult, barred bool) string {
	line = brief.Cut(line, 160)
	switch {
	case barred:
		return fmt.Sprintf("prepare %q was ended", line)
	case res.TimedOut:
		return fmt.Sprintf("prepare %q timed out: all commands together have %s (prepare_timeout_ms)", line, pawl.Span(s.PrepareTime()))
	case res.Missing:
		return fmt.Sprintf("prepare %q: the program is not installed (exit %d)", line, res.ExitCode)
	case res.ExitCode != 0:
		return fmt.Sprintf("prepare %q failed (exit %d)", line, res.ExitCode)
	}
	return ""
}

// refusedBy returns a refusal of the egress proxy as an addition to a reason, if there are any
// that of a host which is barred; empty when there was none.
func refusedBy(contacts []pawl.Contact) string {
	refused := slices.DeleteFunc(slices.Clone(contacts), func(c pawl.Contact) bool { return c.Refused == "" })
	if len(refused) == 0 {
		return ""
	}
	i := max(slices.IndexFunc(refused, func(c pawl.Contact) bool { return c.Barred }), 0)
	return "; the egress proxy refused a request: " + refused[i].Refused
}

// prepareKey identifies what the commands of prepare leave for a commit, by a hash of
// the commands and what they reach, of the files of the commit that decide what they do, and
// of the toolchain.
func (r *Runner) prepareKey(ctx context.Context, job driver.Job, commit pawl.CommitHash) (string, error) {
	named := namedBy(job.Settings.Prepare)
	objects, err := r.Spaces.Objects(ctx, commit, func(name string) bool {
		return r.Inputs != nil && r.Inputs(name) || named(name)
	})
	if err != nil {
		return "", err
	}
	how := slices.Concat(job.Settings.Prepare, job.Settings.Egress, job.Settings.PrepareEnviron)
	if !r.Rooms.Confined() { // what was made there may be anything, and name the folder it was made in
		how = append(how, "unconfined")
	}
	return keyOf(how, objects, r.Rooms.Programs(ctx, slices.Concat(r.Toolchain, commandsIn(job.Settings.Prepare)))), nil
}

// keySize is how many bytes of the hash are the key.
const keySize = 16

// keyOf returns the key for commands, files with their object ids, and programs.
func keyOf(commands []string, objects map[string]string, programs []string) string {
	var files [][2]string
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		files = append(files, [2]string{name, objects[name]})
	}
	programs = slices.Compact(slices.Sorted(slices.Values(programs)))
	text, _ := json.Marshal([]any{1, commands, files, programs}) // strings can always be encoded
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:keySize])
}

// namedBy reports whether commands name a file, or read it because they run make.
func namedBy(commands []string) func(name string) bool {
	words := wordsIn(commands)
	makes := slices.ContainsFunc(words, func(w string) bool { return path.Base(w) == "make" || path.Base(w) == "gmake" })
	return func(name string) bool {
		if base := path.Base(name); makes && (strings.EqualFold(base, "makefile") || base == "GNUmakefile" || path.Ext(base) == ".mk") {
			return true
		}
		return slices.ContainsFunc(words, func(w string) bool { return name == w || strings.HasSuffix(name, "/"+w) })
	}
}

// wordsIn splits shell commands into words, as far as that can be done without a shell.
func wordsIn(commands []string) []string {
	words := strings.FieldsFunc(strings.Join(commands, "\n"), func(c rune) bool { return strings.ContainsRune(" \t\n;&|()<>\"'`=", c) })
	for i, w := range words {
		if strings.HasPrefix(w, "$") { // such as $PAWL_PROJECT_ROOT/
			_, w, _ = strings.Cut(w, "/")
		}
		w = path.Clean("/" + w) // which has no .. in front
		words[i] = cmp.Or(strings.TrimPrefix(w, "/"), ".")
	}
	return words
}

// commandsIn returns the words of shell commands that may be names of programs.
func commandsIn(commands []string) []string {
	return slices.DeleteFunc(wordsIn(commands), func(w string) bool { return strings.ContainsAny(w, "/.$") })
}

// preparations lets what is to be prepared under one key be prepared once at a time.
type preparations struct {
	mu   sync.Mutex // guards keys
	keys map[string]*preparing
}

type preparing struct {
	done chan struct{} // closed when made and err are set
	made preparation
	err  error
}

// once runs a preparation, or waits for the one that is under way. One that did not come to an
// end is begun anew by whoever still waits.
func (p *preparations) once(ctx context.Context, key string, run func() (preparation, error)) (preparation, error) {
	for {
		p.mu.Lock()
		x := p.keys[key]
		if x == nil {
			x = &preparing{done: make(chan struct{})}
			if p.keys == nil {
				p.keys = make(map[string]*preparing)
			}
			p.keys[key] = x
			p.mu.Unlock()
			p.end(key, x, run)
			return x.made, x.err
		}
		p.mu.Unlock()
		select {
		case <-x.done:
		case <-ctx.Done():
			return preparation{}, ctx.Err()
		}
		if x.err == nil {
			return x.made, nil
		}
	}
}

// end runs the preparation; also when that panics, nobody waits for it any more.
func (p *preparations) end(key string, x *preparing, run func() (preparation, error)) {
	defer func() {
		p.mu.Lock()
		delete(p.keys, key)
		p.mu.Unlock()
		close(x.done)
	}()
	x.err = errors.New("the preparation broke off")
	x.made, x.err = run()
}

// forGate makes sure that what was prepared for a gate's commit is there, and returns its key.
// A report is returned when that fails.
func (r *Runner) forGate(ctx context.Context, job driver.Job, do *pawl.RunGate) (key string, report *pawl.GateReport, err error) {
	if len(job.Settings.Prepare) == 0 {
		return "", nil, nil
	}
	if key = do.Prepared; key == "" { // the request is of an earlier version
		if key, err = r.prepareKey(ctx, job, do.Commit); err != nil {
			return "", nil, err
		}
	}
	made, err := r.prepared(ctx, job, do.Commit, key)
	if err != nil || made.failed == "" {
		return key, nil, err
	}
	return key, made.report, nil
}
