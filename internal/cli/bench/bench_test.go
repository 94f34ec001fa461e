package bench_test

import (
	"bytes"
	"context"
	"reflect"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/cli/bench"
)

// What is asked for reaches the benchmark, and flags that cannot be used together are refused.
func TestRequest(t *testing.T) {
	for _, c := range []struct {
		args string
		want bench.Request
		no   string // why it is refused; empty = it is not
	}{
		{args: "", want: bench.Request{Times: 200, Rounds: 5}},
		{args: "start idle -n 3", want: bench.Request{Sections: []string{"start", "idle"}, Times: 3, Rounds: 5}},
		{args: "--program ./old start", want: bench.Request{Sections: []string{"start"}, Times: 200, Rounds: 5, Program: "./old"}},
		{args: "--against v1 start", want: bench.Request{Sections: []string{"start"}, Rounds: 5, Against: "v1"}},
		{args: "--against v1 --rounds 9 -n 200", want: bench.Request{Times: 200, Rounds: 9, Against: "v1"}},
		{args: "-n 0", no: "--times 0"},
		{args: "--against v1 --rounds 0", no: "--rounds 0"},
		{args: "--against= start", no: "the revision is empty"},
		{args: "--program= start", no: "the path is empty"},
		{args: "--rounds 3", no: "only works with --against"},
		{args: "--against v1 --program x", no: "exclude each other"},
	} {
		t.Run(strings.ReplaceAll(c.args, " ", "_"), func(t *testing.T) {
			var got bench.Request
			app := &cli.App{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, Dir: "here"}
			cmd := bench.New(app, bench.World{Sections: []string{"start", "idle"}, Times: 200, Rounds: 5, Run: func(_ context.Context, r bench.Request, _ func(string)) (any, error) {
				got = r
				return struct{}{}, nil
			}})
			cmd.SetArgs(strings.Fields(c.args))
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			err := cmd.ExecuteContext(t.Context())
			if c.no != "" {
				if pawl.CodeOf(err) != pawl.CodeInvalid || !strings.Contains(err.Error(), c.no) {
					t.Errorf("got %v, want an error with %q", err, c.no)
				}
				return
			}
			c.want.Dir = "here"
			if len(got.Sections) == 0 {
				got.Sections = nil
			}
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}
