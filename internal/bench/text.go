package bench

import (
	"fmt"
	"strings"
	"time"
)

// String is the report as a table.
func (r Report) String() string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("%s, %s", r.Machine, r.At.Format(time.DateOnly))
	r.alone(p)
	r.daemon(p)
	if r.Evidence != nil {
		p("\n%s", r.Evidence)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

type printer func(format string, args ...any)

// alone is what a process does by itself.
func (r Report) alone(p printer) {
	if t := r.Steps; t != nil {
		disk := (t.Raw.PerSecond + t.RawAgain.PerSecond) / 2
		p("\ndurable steps per second (request and answer, two new blobs of 2 KiB each)")
		p("  %-28s %10.0f   %d bytes each; %.0f after the steps", "append + fdatasync alone", t.Raw.PerSecond, t.Raw.Bytes, t.RawAgain.PerSecond)
		for _, s := range t.Steps {
			what := fmt.Sprintf("%d runs at once", s.Runs)
			if s.Runs == 1 {
				what = fmt.Sprintf("1 run with %d loops", s.Loops)
			}
			p("  %-28s %10.0f   %.2f of the disk alone, %.0f MiB/s of blobs", what, s.PerSecond, s.PerSecond/disk, s.MiBs)
		}
	}
	if f := r.Fold; f != nil {
		p("\nfold of %d events: %.2f s, decoding included; %.2f s without", f.Events, f.Decoded, f.Seconds)
	}
	for _, d := range r.Decide {
		p("\na decision in a %s with %d loops at work: %.1f µs at the median, %.1f on average, p99 %.1f",
			d.Shape, d.Loops, us(d.P50), us(d.Mean), us(d.P99))
	}
	for _, i := range r.Iterations {
		p("\niteration on %d files: %s of the harness's own (median of %d, p10 %s, p90 %s, %s to %s); its worktree %s, once",
			i.Files, ms(i.Overhead), i.Runs, ms(i.P10), ms(i.P90), ms(i.Min), ms(i.Max), ms(i.Open))
		byGit := 0
		for _, n := range i.Recordings.ByGit {
			byGit += n
		}
		p("  its worktrees were recorded %d times in the program's own process, and %d times by git", i.Recordings.Here, byGit)
	}
	if o := r.Rooms; o != nil {
		o.print(p)
	}
	if d := r.Delegates; d != nil {
		d.print(p)
	}
	if s := r.Start; s != nil {
		p("\nfrom when it is executed")
		p("  %-38s %s", "pawl --help", s.Help)
		p("  %-38s %s", "pawl version", s.Version)
		p("  %-38s %s", "a daemon's first answer, no state", s.Cold)
		p("  %-38s %s", "its first list of runs, state made", s.ColdList)
		p("  %-38s %s", "a daemon's first answer, with state", s.Warm)
		p("  %-38s %s", "its first list of runs", s.WarmList)
	}
}

func (r *Rooms) print(p printer) {
	if r.Skipped != "" {
		p("\nrooms: not measured: %s", r.Skipped)
		return
	}
	p("\n/bin/sh -c %s, %d times in each way, in turn, with %s", benchLine, r.Times, r.Helper)
	p("  %-38s %s", "alone", r.Shell)
	p("  %-38s %s", "in a plain bwrap --unshare-all", r.Bubblewrap)
	p("  %-38s %s; %.2f times plain bwrap", "in an agent's room that is open", r.Command, r.Ratio)
	p("  %-38s %s", "a gate's room, opened and closed", r.Gate)
	t := &r.Trees
	p("\na worktree of %d files, %d times in turn", t.Files, t.Times)
	p("  %-38s %s; %.1f MiB on disk", "git worktree add", t.Git, mib(t.GitDisk))
	p("  %-38s %s; %.1f MiB on disk", "a loop's, all in all", t.Open, mib(t.OpenDisk))
	p("  %-38s %s", "  the worktree", t.Worktree)
	p("  %-38s %s", "  its room, and a command in it", t.Room)
	p("  %-38s %s; %.1f MiB on disk", "the first of the commit", ms(t.First), mib(t.FirstDisk))
	p("  git's takes %.1f times as long as a further one, %.1f times as long as its room, and %.1f times the disk", t.TimeRatio, t.RoomRatio, t.DiskRatio)
}

// daemon is what a daemon does for many.
func (r Report) daemon(p printer) {
	if i := r.Idle; i != nil {
		p("\nat rest with %d projects open: %.2f %% of a processor over %.0f s, %.1f MiB, of which %.1f of its own",
			i.Projects, i.CPU, i.Seconds, mib(i.RSS), mib(i.Private))
	}
	if x := r.Run; x != nil {
		x.print(p)
	}
	if l := r.List; l != nil {
		p("\n%d stored runs: the newest %d in %s (p95 %s, %d bytes), all in %s (p95 %s, %d bytes)",
			l.Runs, l.Page.Runs, ms(l.Page.P50), ms(l.Page.P95), l.Page.Bytes, ms(l.All.P50), ms(l.All.P95), l.All.Bytes)
	}
	if w := r.Watchers; w != nil {
		p("\n%d watchers of a run, %d of which do not read; %.0f events a second of %d bytes", w.Watchers, w.Stalled, w.PerSecond, w.Bytes)
		p("  from decided to read: p50 %s, p99 %s, at most %s; %d lost, %d duplicated", ms(w.P50), ms(w.P99), ms(w.Max), w.Lost, w.Duplicated)
	}
	if v := r.Recovery; v != nil {
		p("\nkill -9 of a daemon with %d runs of %d events; from when the next one is executed, %d rounds", v.Runs, v.Events, v.Rounds)
		p("  %-38s %s", "the last run requests a new effect", v.Effect)
		p("  %-38s %s", "the last run calls its model", v.Call)
		p("  %-38s %s", "the same, killed in commands", v.Commands)
		p("  %-38s %s; %d left over", "its commands have ended", v.Gone, v.Orphans)
	}
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond)) }

func us(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }
