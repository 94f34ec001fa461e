//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"pawl"
)

// With manual approval every task waits for a person, who answers from another
// process; an answer that comes too late is told who was first, and of what. L-32
func TestTasksWaitForAPerson(t *testing.T) {
	t.Parallel()
	v := newVictim(t, pawlProgram(t), shopScript(resolves), shop, "List a cart and a till", "--recipe", "loom", "--unsandboxed", "--gate", "tests="+fine,
		"--approval", "manual", "--json")
	cmd := v.command()
	cmd.Stdout = nil
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	v.started = true
	asked := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var e struct {
			Kind string
			Body struct{ N int }
		}
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Kind != "question_asked" {
			continue
		}
		asked++
		n := strconv.Itoa(e.Body.N)
		if said, err := v.pawl("answer", "1", n, "approve"); err != nil {
			t.Fatalf("answer %s: %v\n%s", n, err, said)
		}
		said, err := v.pawl("answer", "1", n, "reject")
		if err == nil || !strings.Contains(said, "approve") {
			t.Errorf("a late answer to %s: %v\n%s", n, err, said)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, v.out.String())
	}
	if s := v.state(t); s.Outcome != pawl.OutcomeComplete || asked != 3 {
		t.Errorf("%s: %s, after %d questions", s.Outcome, s.Reason, asked)
	}
	v.sound(t)
}
