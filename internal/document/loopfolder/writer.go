package loopfolder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/artifact"
	"pawl/internal/pattern"
	"pawl/internal/view"
)

// The sizes of what is written, in bytes. What is more is cut, and the file says so.
const (
	MaxText         = 64 << 10 // one text of a conversation or an aggregate
	MaxConversation = 8 << 20  // one conversation.jsonl
	MaxPrompt       = 2 << 20  // one prompt.md
	MaxValidation   = 256 << 10
	MaxAggregate    = 1 << 20 // one stdout.log or stderr.log: the last so much of it
)

// Writer writes the folders of one run's loops. It is for one goroutine.
type Writer struct {
	root    *os.Root
	run     pawl.RunID
	blobs   view.Blobs
	records view.Records
	folders map[pawl.LoopRef]*folder
	asked   map[pawl.Seq]*pawl.Effect
	seen    pawl.Seq // the last event that was folded
	written pawl.Seq // the last whose files are there
	live    bool     // what is folded now is not
}

// Open begins to write a run's loops below a state folder. Events are then given from
// the first on; those whose files are there already are folded and not written again.
func Open(dir string, run pawl.RunID, blobs view.Blobs) (*Writer, error) {
	if !run.Valid() {
		return nil, pawl.Errorf(pawl.CodeInvalid, "folders of loops: %q is not a run", run)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the folders of loops: %w", err)
	}
	w := &Writer{root: root, run: run, blobs: blobs, folders: map[pawl.LoopRef]*folder{}, asked: map[pawl.Seq]*pawl.Effect{}}
	w.written = w.position()
	return w, nil
}

// Rebuild writes all folders of a run anew, whatever is there.
func Rebuild(dir string, run pawl.RunID, events iter.Seq2[pawl.Event, error], blobs view.Blobs) error {
	w, err := Open(dir, run, blobs)
	if err != nil {
		return err
	}
	w.written = 0
	var first error // one loop's folder that cannot be written is no reason to leave out others
	for e, err := range events {
		if err != nil {
			return errors.Join(err, w.Close())
		}
		if err := w.Add(e); first == nil {
			first = err
		}
	}
	return errors.Join(first, w.Close())
}

// Add folds the next events, and writes at the boundaries of sessions, iterations and
// loops. Those it has had already change nothing. An error is of the files: the events
// are folded, and what could not be written is tried again with the next [Writer.Flush].
func (w *Writer) Add(events ...pawl.Event) error {
	boundary := false
	for _, e := range events {
		if e.Seq <= w.seen {
			continue
		}
		w.live = e.Seq > w.written
		w.take(e)
		w.seen = e.Seq
		boundary = boundary || w.live && bounds(e)
		w.forget(e.Loop)
	}
	if !boundary {
		return nil
	}
	return w.Flush()
}

// bounds reports an event that people look into the folder after.
func bounds(e pawl.Event) bool {
	switch e.Body.(type) {
	case *pawl.PromptAssembled, *pawl.SessionEnded, *pawl.IterationEnded, *pawl.IterationStarted, *pawl.LoopEnded, *pawl.LoopAdmitted,
		*pawl.PlanAccepted, *pawl.Invalidated, *pawl.Archived, *pawl.GenerationStarted, *pawl.QuestionAsked, *pawl.QuestionAnswered,
		*pawl.RunEnded, *pawl.RunPaused, *pawl.RunResumed:
		return true
	}
	return false
}

// Seen is the number of the last event that was folded.
func (w *Writer) Seen() pawl.Seq { return w.seen }

// Flush writes everything that has changed.
func (w *Writer) Flush() error {
	var all error
	for _, rec := range w.records.Loops {
		f := w.folders[rec.Ref]
		if f == nil || !f.changed || f.refused {
			continue
		}
		if err := w.write(rec, f); err != nil {
			all = errors.Join(all, fmt.Errorf("the folder of loop %s: %w", rec.ID, err))
			continue
		}
		f.changed = false
		w.forget(rec.Ref)
	}
	if all == nil && w.seen > w.written {
		if all = w.setPosition(); all == nil {
			w.written = w.seen
		}
	}
	return all
}

// Close writes what has changed and lets go of the folder.
func (w *Writer) Close() error { return errors.Join(w.Flush(), w.root.Close()) }

// forget drops what is known of iterations that are over and written.
func (w *Writer) forget(ref pawl.LoopRef) {
	f := w.folders[ref]
	if f == nil {
		return
	}
	for n, it := range f.iterations {
		if it.ended && !it.changed && n < f.newest {
			delete(f.iterations, n)
		}
	}
}

// safe is what a folder or a file of ours may be called.
var safe = pattern.Of(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// write brings one loop's files to where they are to be and writes what has changed.
func (w *Writer) write(rec *view.Record, f *folder) error {
	if !safe.MatchString(rec.ID) {
		f.refused = true
		return fmt.Errorf("its id cannot be a folder's name")
	}
	if err := w.place(rec, f); err != nil {
		return err
	}
	for _, n := range slices.Sorted(maps.Keys(f.iterations)) {
		it := f.iterations[n]
		if !it.changed {
			continue
		}
		if err := w.iteration(f, it); err != nil {
			return err
		}
		it.changed = false
	}
	if err := w.artifacts(rec, f); err != nil {
		return err
	}
	for name, t := range map[string]*tail{"stdout.log": &f.out, "stderr.log": &f.err} {
		if err := w.file(path.Join(f.at, name), w.aggregate(t)); err != nil {
			return err
		}
	}
	if f.newest > 0 {
		if err := w.current(f); err != nil {
			return err
		}
	}
	var doc bytes.Buffer
	enc := json.NewEncoder(&doc)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(w.records.Full(rec, w.blobs)); err != nil {
		return err
	}
	return w.file(path.Join(f.at, "loop.json"), doc.Bytes())
}

// place makes the folder, or moves it to or from the archive.
func (w *Writer) place(rec *view.Record, f *folder) error {
	want := rec.Folder()
	if f.at == want {
		return nil
	}
	other := map[bool]string{true: "loops/" + rec.ID, false: "archive/" + rec.ID}[strings.HasPrefix(want, "archive/")]
	for _, dir := range []string{want, other} {
		if owner, ok := w.owner(dir); ok && owner != w.run {
			f.refused = true
			return fmt.Errorf("%s is of run %s", dir, owner)
		}
	}
	_, err := w.root.Lstat(want)
	if errors.Is(err, fs.ErrNotExist) {
		if err := w.root.MkdirAll(path.Dir(want), 0o700); err != nil {
			return err
		}
		if err = w.root.Rename(other, want); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		err = w.root.MkdirAll(want, 0o700)
		if err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	f.at = want
	return nil
}

// owner is the run whose loop a folder is of, if it says so.
func (w *Writer) owner(dir string) (pawl.RunID, bool) {
	data, err := w.root.ReadFile(path.Join(dir, "loop.json"))
	var doc struct {
		Run pawl.RunID `json:"run"`
	}
	if err != nil || json.Unmarshal(data, &doc) != nil || doc.Run == "" {
		return "", false
	}
	return doc.Run, true
}

// iteration writes the files of one iteration.
func (w *Writer) iteration(f *folder, it *iteration) error {
	dir := path.Join(f.at, fmt.Sprintf("iterations/%03d", it.n))
	if err := w.root.MkdirAll(path.Join(dir, "artifacts"), 0o700); err != nil {
		return err
	}
	conversation, err := w.conversation(it)
	if err != nil {
		return err
	}
	return errors.Join(w.file(path.Join(dir, "prompt.md"), w.prompts(it)), w.file(path.Join(dir, "conversation.jsonl"), conversation),
		w.file(path.Join(dir, "validation.log"), w.validation(it)))
}

// prompts are what was sent, session by session.
func (w *Writer) prompts(it *iteration) []byte {
	var b bytes.Buffer
	for _, s := range it.sessions {
		if s.prompt.IsZero() {
			continue
		}
		try := ""
		if s.try > 1 {
			try = fmt.Sprintf(", try %d", s.try)
		}
		fmt.Fprintf(&b, "<!-- session %d: %s%s -->\n\n", s.n, s.place, try)
		if system := w.blobs.Text(s.system); system != "" {
			fmt.Fprintf(&b, "%s\n\n<!-- prompt -->\n\n", strings.TrimSpace(system))
		}
		fmt.Fprintf(&b, "%s\n\n", strings.TrimSpace(w.blobs.Text(s.prompt)))
		if b.Len() > MaxPrompt {
			break
		}
	}
	return []byte(cut(b.String(), MaxPrompt))
}

// conversation is what models and tools said, a JSON document a line.
func (w *Writer) conversation(it *iteration) ([]byte, error) {
	var b bytes.Buffer
	for i := range it.entries {
		line, err := it.entries[i].line(w.blobs)
		if err != nil {
			return nil, err
		}
		if b.Len()+len(line) > MaxConversation {
			fmt.Fprintf(&b, `{"role":"harness","text":"%d more lines are left out"}`+"\n", len(it.entries)-i)
			break
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.Bytes(), nil
}

// validation is what the gates found, and what followed.
func (w *Writer) validation(it *iteration) []byte {
	var b strings.Builder
	for _, g := range it.gates {
		counts := ""
		if g.Total > 0 {
			counts = fmt.Sprintf(" (%d/%d)", g.Passed, g.Total)
		}
		fmt.Fprintf(&b, "%s: %s%s: %s\n", g.Gate, strings.ToUpper(string(g.Verdict)), counts, g.Reason)
		if g.Verdict == pawl.VerdictPass || g.Verdict == pawl.VerdictSkip {
			continue
		}
		for line := range strings.Lines(cut(w.blobs.Evidence(g.Evidence), MaxText)) {
			b.WriteString("    " + strings.TrimRight(line, "\n") + "\n")
		}
	}
	for _, n := range it.notes {
		b.WriteString(n + "\n")
	}
	return []byte(cut(b.String(), MaxValidation))
}

// artifacts writes what the loop's iterations handed in.
func (w *Writer) artifacts(rec *view.Record, f *folder) error {
	name := rec.ArtifactFile()
	if name == "" {
		return nil
	}
	if !safe.MatchString(name) {
		return fmt.Errorf("its artifact's name %q cannot be a file's name", name)
	}
	for _, a := range rec.Artifacts {
		if f.iterations[a.Iteration] == nil { // it was written when it was over
			continue
		}
		dir := path.Join(f.at, fmt.Sprintf("iterations/%03d/artifacts", a.Iteration))
		if err := w.root.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		data := w.blobs.Bytes(a.Blob)
		kind, markdown := strings.CutSuffix(name, ".md")
		if err := w.file(path.Join(dir, strings.TrimSuffix(name, path.Ext(name))+".json"), data); err != nil {
			return err
		}
		if !markdown {
			continue
		}
		if made, err := artifact.Read(artifact.Kind(kind), data); err == nil { // one that does not fit is JSON alone
			if err := w.file(path.Join(dir, name), []byte(made.Markdown())); err != nil {
				return err
			}
		}
	}
	return nil
}

// aggregate is the last of what a loop's tools printed.
func (w *Writer) aggregate(t *tail) []byte {
	var b strings.Builder
	if t.cut {
		b.WriteString("[what was before is left out; the iterations' conversations have it]\n")
	}
	for _, p := range t.pieces {
		b.WriteString(p.head)
		if args := strings.TrimSpace(w.blobs.Text(p.args)); args != "" {
			b.WriteString(" " + cut(strings.ReplaceAll(args, "\n", " "), 300))
		}
		b.WriteString("\n" + p.said)
		if text := cut(w.blobs.Text(p.text), MaxText); text != "" {
			b.WriteString(strings.TrimRight(text, "\n"))
		}
		b.WriteByte('\n')
	}
	return []byte(b.String())
}

// current points at the newest iteration.
func (w *Writer) current(f *folder) error {
	to, name := fmt.Sprintf("iterations/%03d", f.newest), path.Join(f.at, "current")
	if at, err := w.root.Readlink(name); err == nil && at == to {
		return nil
	}
	if err := w.root.Remove(name + unfinished); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := w.root.Symlink(to, name+unfinished); err != nil {
		return err
	}
	return w.root.Rename(name+unfinished, name)
}

// file replaces a file as a whole, when it is to be another one. What it says is on
// the disk before it gets its name.
func (w *Writer) file(name string, data []byte) error {
	if was, err := w.root.Stat(name); err == nil && was.Size() == int64(len(data)) {
		if old, err := w.root.ReadFile(name); err == nil && bytes.Equal(old, data) {
			return nil
		}
	}
	out, err := w.root.OpenFile(name+unfinished, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(data)
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		return err
	}
	return w.root.Rename(name+unfinished, name)
}

// unfinished ends the name of what is being written. A crash may leave one behind; the
// next write of the same file takes its place.
const unfinished = ".unfinished"

// position is the last event of the run whose files are there.
func (w *Writer) position() pawl.Seq {
	var doc struct {
		Seq pawl.Seq `json:"seq"`
	}
	data, err := w.root.ReadFile(w.positionFile())
	if err != nil || json.Unmarshal(data, &doc) != nil {
		return 0
	}
	return doc.Seq
}

func (w *Writer) setPosition() error {
	if err := w.root.MkdirAll("loops/.written", 0o700); err != nil {
		return err
	}
	return w.file(w.positionFile(), fmt.Appendf(nil, "{\"seq\":%d}\n", w.seen))
}

func (w *Writer) positionFile() string { return "loops/.written/" + string(w.run) + ".json" }

// cut is a text of at most so many bytes, and says so where it was longer.
func cut(s string, most int) string {
	const more = "\n[the rest is left out]\n"
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:max(0, most-len(more))], "") + more
}
