package runner_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
)

// What git cannot hold is told to the model at the call and after the commit, recovery
// finds the worktree as it was recorded, and a reset works. F-10
func TestLeftOut(t *testing.T) {
	w := MustWorld(t, nil)
	base := w.MustOpen(t)
	limits := []pawl.LimitMet{{Limit: pawl.LimitGitName, Files: 2}}
	run := must[*pawl.ToolReturned](t, w, w.call(t, "run", map[string]any{"command": "echo a >a.txt; mkdir git~1; echo x >git~1/x; echo x >'.git '; echo said"}))
	if !run.IsError || run.Tree == "" || run.Tree == base || !cmp.Equal(run.LeftOut, limits) {
		t.Errorf("the call gave %+v", run)
	}
	const want = `The call was made, but the worktree holds files that cannot be recorded:
- ".git " has a name that git refuses, as other systems take it for .git
- git~1 has a name that git refuses, as other systems take it for .git
They are not part of the work and will not be committed. Remove or rename them, or name them in .gitignore. Every other change is recorded.

The call's own result:
`
	if text := w.MustBlob(t, run.Output); !strings.HasPrefix(text, want) || !strings.Contains(text[len(want):], "said") {
		t.Errorf("the model is told\n%s", text)
	}
	if found := must[*pawl.WorkspaceInspected](t, w, &pawl.InspectWorkspace{}); found.Tree != run.Tree {
		t.Errorf("recovery finds tree %s, recorded was %s", found.Tree, run.Tree)
	}

	commit := must[*pawl.Committed](t, w, &pawl.Commit{Branch: branch, Parent: w.base, Base: w.base, Message: "Work", Time: time.Unix(1, 0)})
	if commit.Tree != run.Tree || commit.Files != 1 || !cmp.Equal(commit.LeftOut, limits) {
		t.Errorf("the commit is %+v", commit)
	}
	if text := w.MustBlob(t, commit.Report); !strings.Contains(text, `"verdict":"fail"`) || !strings.Contains(text, "- git~1 has a name that git refuses") {
		t.Errorf("the report is %s", text)
	}

	mended := must[*pawl.ToolReturned](t, w, w.call(t, "run", map[string]any{"command": "rm -r git~1 '.git '"}))
	if mended.IsError || mended.LeftOut != nil || mended.Tree != run.Tree {
		t.Errorf("without the files, the call gave %+v", mended)
	}
	after := must[*pawl.Committed](t, w, &pawl.Commit{Branch: branch, Parent: commit.Commit, Base: w.base, Message: "Work", Time: time.Unix(1, 0)})
	if after.LeftOut != nil || !after.Report.IsZero() {
		t.Errorf("without the files, the commit is %+v", after)
	}

	must[*pawl.ToolReturned](t, w, w.call(t, "run", map[string]any{"command": "echo x >git~1"}))
	reset := must[*pawl.WorkspaceReset](t, w, &pawl.ResetWorkspace{Commit: w.base, Salvage: "refs/pawl/salvage/x/1"})
	if reset.Tree != base {
		t.Errorf("after the reset the tree is %s, want %s", reset.Tree, base)
	}
}

// The model is told how much is recorded, and of so many files only some by name.
func TestLeftOutInWords(t *testing.T) {
	w := MustWorld(t, nil)
	w.MustOpen(t)
	tree := must[*pawl.WorkspaceInspected](t, w, &pawl.InspectWorkspace{}).Tree
	many := pawl.LeftOut{LimitMet: pawl.LimitMet{Limit: pawl.LimitFile, Max: 10, Files: 500}}
	for i := range pawl.MaxLeftPaths {
		many.Paths = append(many.Paths, pawl.LeftPath{Path: fmt.Sprintf("large/%02d\n", i), Why: "is large"})
	}
	fresh := pawl.LeftOut{LimitMet: pawl.LimitMet{Limit: pawl.LimitNewFiles, Max: 10, Files: 11}, Paths: []pawl.LeftPath{{Path: "many", Why: "has 11 new files"}}}
	for name, test := range map[string]struct {
		recording pawl.Recording
		want      []string
	}{
		"many":  {pawl.Recording{Tree: tree, LeftOut: []pawl.LeftOut{many}}, []string{`- "large/00\n" is large`, `- "large/19\n" is large`, "- and more: 500 files in all", "Every other change is recorded."}},
		"new":   {pawl.Recording{Tree: tree, LeftOut: []pawl.LeftOut{fresh}}, []string{"- many has 11 new files", "Until then no new file is recorded."}},
		"both":  {pawl.Recording{Tree: tree, LeftOut: []pawl.LeftOut{many, fresh}}, []string{"- and more: 511 files in all"}},
		"stale": {pawl.Recording{Tree: tree, LeftOut: []pawl.LeftOut{many}, Stale: true}, []string{"Until then no change is recorded."}},
	} {
		t.Run(name, func(t *testing.T) {
			own := w.r.Spaces
			defer func() { w.r.Spaces = own }()
			w.r.Spaces = &spaces{Workspaces: own, tree: func() (pawl.Recording, error) { return test.recording, nil }}
			got := must[*pawl.ToolReturned](t, w, w.call(t, "write", map[string]any{"path": "x", "content": "y"}))
			lines := strings.FieldsFunc(w.MustBlob(t, got.Output), func(r rune) bool { return r == '\n' })
			for _, want := range test.want {
				if !slices.ContainsFunc(lines, func(line string) bool { return line == want || strings.HasSuffix(line, " "+want) }) {
					t.Errorf("the model is not told %q, but\n%s", want, strings.Join(lines, "\n"))
				}
			}
		})
	}
}
