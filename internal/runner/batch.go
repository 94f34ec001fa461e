package runner

import (
	"bytes"
	"context"
	"fmt"

	"pawl"
	"pawl/internal/document/taskfolder"
	"pawl/internal/driver"
	"pawl/internal/tried"
)

// restore goes back to a checkpoint's tree, and says what must not be tried again.
func (r *Runner) restore(ctx context.Context, job driver.Job, do *pawl.Restore, a *answer) (pawl.Answer, error) {
	info, err := r.Spaces.Restore(ctx, pawl.RestoreSpec{
		Branch: do.Branch, From: do.From, To: do.To, Message: do.Message, ID: commitID(job), Time: do.Time,
	})
	if err != nil {
		return nil, fmt.Errorf("go back to %s: %w", do.Label, err)
	}
	var story tried.Story
	for e, err := range job.Events(ctx) {
		if err != nil {
			return nil, err
		}
		story.Take(e)
	}
	text, _ := a.text(taskfolder.AntiPattern(taskfolder.Undone{Loop: job.Effect.Loop, Label: do.Label, Reason: do.Reason, Tasks: do.Tasks, Story: &story, Read: blobsOf(ctx, job)}))
	return &pawl.Restored{Effect: job.Effect.ID, Commit: info.Commit, Tree: info.Tree, Text: text}, nil
}

// blobsOf reads blobs of the run, as far as they are there: a text about what happened is worth having
// without one of them.
func blobsOf(ctx context.Context, job driver.Job) tried.Blobs {
	return func(h pawl.Hash) []byte {
		if h.IsZero() {
			return nil
		}
		data, _ := job.Blob(ctx, h)
		return data
	}
}

// writeRecords commits the task's folder as the run's events up to the request
// make it. What the folder holds besides, such as what earlier runs of the task
// have learned, stays.
func (r *Runner) writeRecords(ctx context.Context, job driver.Job, do *pawl.WriteRecords, a *answer) (pawl.Answer, error) {
	folder := taskfolder.Path(job.Run)
	there, err := r.Spaces.Files(ctx, do.From, folder)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", folder, err)
	}
	files, err := taskfolder.Render(taskfolder.Source{
		Run: job.Run, Loop: job.Effect.Loop, Events: job.Events(ctx), There: there,
		Blob: func(h pawl.Hash) ([]byte, error) { return read(ctx, job, "what was handed in", h) },
	})
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", folder, err)
	}
	for name, data := range files {
		if !bytes.Equal(data, there[name]) {
			files[name] = []byte(a.clean(string(data)))
		}
	}
	commit, err := r.Spaces.WriteFiles(ctx, pawl.FilesSpec{
		Branch: do.Branch, From: do.From, Folder: folder, Files: files, Message: do.Message, ID: commitID(job), Time: do.Time,
	})
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", folder, err)
	}
	return &pawl.Recorded{Effect: job.Effect.ID, Commit: commit}, nil
}
