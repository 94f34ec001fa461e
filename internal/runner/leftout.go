package runner

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/driver"
)

// recorded answers a call of a tool that can write: with the tree that was recorded
// afterwards, and as an error where the tree lacks some of the worktree's files.
func recorded(job driver.Job, res pawl.ToolResult, r pawl.Recording, a *answer) *pawl.ToolReturned {
	if len(r.LeftOut) > 0 {
		rest := "Every other change is recorded."
		switch {
		case r.Stale:
			rest = "Until then no change is recorded."
		case slices.ContainsFunc(r.LeftOut, func(l pawl.LeftOut) bool { return l.Limit == pawl.LimitNewFiles }):
			rest = "Until then no new file is recorded."
		}
		res.IsError = true
		res.Text = "The call was made, but the worktree holds files that cannot be recorded:\n" + leftPaths(r.LeftOut) +
			"They are not part of the work and will not be committed. Remove or rename them, or name them in .gitignore. " +
			rest + "\n\nThe call's own result:\n" + res.Text
	}
	out := returned(job, res, a)
	out.Tree, out.LeftOut = r.Tree, met(r.LeftOut)
	return out
}

// met is what the log says of files that were left out.
func met(left []pawl.LeftOut) []pawl.LimitMet {
	var out []pawl.LimitMet
	for _, l := range left {
		out = append(out, l.LimitMet)
	}
	return out
}

// leftPaths lists files that were left out, each on a line with the reason.
func leftPaths(left []pawl.LeftOut) string {
	var b strings.Builder
	listed, files, more := 0, 0, false
	for _, l := range left {
		files += l.Files
		more = more || len(l.Paths) == pawl.MaxLeftPaths && l.Files > len(l.Paths)
		for _, p := range l.Paths {
			if listed++; listed <= pawl.MaxLeftPaths {
				fmt.Fprintf(&b, "- %s %s\n", onOneLine(p.Path), p.Why)
			}
		}
	}
	if more || listed > pawl.MaxLeftPaths {
		fmt.Fprintf(&b, "- and more: %d files in all\n", files)
	}
	return b.String()
}

// onOneLine is a path, quoted when it holds what could be mistaken for something else.
func onOneLine(path string) string {
	odd := func(r rune) bool { return !strconv.IsPrint(r) || r == '\uFFFD' }
	if strings.ContainsFunc(path, odd) || strings.TrimSpace(path) != path {
		return strconv.Quote(path)
	}
	return path
}

// lacking is the report on a commit that lacks files of the worktree.
func lacking(left []pawl.LeftOut) pawl.GateReport {
	return pawl.GateReport{
		Verdict: pawl.VerdictFail,
		Reason:  "the commit lacks files of the worktree that cannot be recorded",
		Output: leftPaths(left) + "Remove or rename them, or name them in .gitignore. " +
			"What the work needs must be in files that git can hold.\n",
	}
}
