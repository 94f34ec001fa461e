package message_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// F-63: the names of messages are those of Loopr's protocol, which external programs use.
// A new message must be added to this list.
func TestNamesOfMessages(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "message.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for _, v := range spec.Values {
			name, err := strconv.Unquote(v.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, name)
		}
		return false
	})
	slices.Sort(got)
	want := []string{
		"error", "loop.artifact", "loop.complete", "loop.created", "loop.failed", "loop.invalidated", "loop.iteration",
		"loop.iteration_complete", "loop.recovered", "loop.started", "loop.status_change", "loop.updated",
		"merge.completed", "merge.conflict", "merge.started", "metrics.update",
		"plan.approved", "plan.awaiting_approval", "plan.rejected", "run.updated", "signal.acknowledged", "signal.sent",
		"tool.completed", "tool.started", "validation.completed", "validation.started",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the names of messages (-want +got):\n%s", d)
	}
}
