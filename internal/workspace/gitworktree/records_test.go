package gitworktree_test

import (
	"time"

	"pawl"
)

const runFolder = ".pawl/tasks/" + runName

// recording is a commit of the run's records: paths and contents in turn.
func recording(from pawl.CommitHash, pairs ...string) pawl.FilesSpec {
	files := map[string][]byte{}
	for i := 0; i < len(pairs); i += 2 {
		files[pairs[i]] = []byte(pairs[i+1])
	}
	return pawl.FilesSpec{
		Branch: runBranch, From: from, Folder: runFolder, Files: files, Message: "Records", ID: "22", Time: time.Unix(1_780_000_300, 0),
	}
}
