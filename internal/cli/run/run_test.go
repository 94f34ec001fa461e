package run

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/start"
	"pawl/internal/view"
)

func TestIntroduction(t *testing.T) {
	one := pawl.ModelChoice{Provider: "script", Name: "script"}
	other := pawl.ModelChoice{Provider: "openai", Name: "gpt"}
	for want, choice := range map[string][3]pawl.ModelChoice{
		"script/script": {one, one, one},
		"fast script/script, medium openai/gpt, large openai/gpt": {one, other, other},
	} {
		if got := models(&view.Run{Settings: pawl.Settings{Models: choice}}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := limits(&view.Run{Settings: pawl.Settings{Limits: pawl.DefaultLimits}}, 10); got != "$10.00, 5,000,000 tokens, 8h, 10 iterations" {
		t.Errorf("got %q", got)
	}
	if got := limits(&view.Run{}, 0); got != "none: nothing ends it but you" {
		t.Errorf("got %q", got)
	}
}

func TestTasks(t *testing.T) { // P-26 P-30
	dir := t.TempDir()
	file := filepath.Join(dir, "tasks.json")
	const list = `{"_type":"PANDORA_LOOP","version":"1.0","created":"2026-01-23T10:00:00Z","original_query":"Log in","max_iterations":10,
		"tasks":[{"id":"TASK-001","title":"OAuth","description":"d","acceptance_criteria":["Tests pass"],"priority":1,"status":"pending","depends_on":[],"notes":""}],
		"progress":{"completed":0,"total":1,"current_iteration":0}}`
	if err := os.WriteFile(file, []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tasks.json", file, "-"} {
		o := options{tasks: name}
		if err := o.complete(&cli.App{Dir: dir, In: strings.NewReader(list)}); err != nil || string(o.req.Tasks) != list || o.req.Dir != dir {
			t.Errorf("%s: the request is %+v, %v", name, o.req, err)
		}
	}
	for name, in := range map[string]string{"-": `[{"id":"a","title":"A"}]`, "missing.json": "", "": `[{"id":"a","title":"A","depends_on":["b"]}]`} { // no goal; no file; a list that cannot be worked on
		o := options{tasks: cmp.Or(name, "-")}
		if err := o.complete(&cli.App{Dir: dir, In: strings.NewReader(in)}); pawl.CodeOf(err) != pawl.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	o := options{tasks: "-", req: pawl.StartRequest{Goal: "Another goal"}}
	if err := o.complete(&cli.App{Dir: dir, In: strings.NewReader(`[{"id":"a","title":"A"}]`)}); err != nil {
		t.Error(err)
	}
}

// Every flag of a run that an API can give is a flag of the command, with the same meaning, and one
// that is not given says nothing.
// F-51
func TestFlagsAreTheRequests(t *testing.T) {
	var flags pawl.StartFlags
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	addFlags(set, &flags)
	var args, want []string
	for _, f := range start.Flags(&pawl.StartFlags{}) {
		value := map[string]string{"*[]string": "a", "**int": "0", "**string": "", "**pawl.Quantity": "7"}[fmt.Sprintf("%T", f.Value())]
		arg := "--" + f.Name
		if _, boolean := f.Value().(*bool); !boolean && value != "" || fmt.Sprintf("%T", f.Value()) == "**string" {
			arg += "=" + value
		}
		args, want = append(args, arg), append(want, f.Field)
		if u := set.Lookup(f.Name); u == nil || u.Usage == "" || f.Word != "" && !strings.Contains(u.Usage, "`"+f.Word+"`") {
			t.Errorf("flag --%s is %+v", f.Name, u)
		}
	}
	if !gocmp.Equal(flags, pawl.StartFlags{}) {
		t.Errorf("without flags it says %+v", flags)
	}
	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range start.Flags(&flags) {
		if f.IsGiven() {
			got = append(got, f.Field)
		}
	}
	if d := gocmp.Diff(want, got); d != "" {
		t.Errorf("the flags that are given, -want +got:\n%s", d)
	}
	if *flags.Complexity != 0 || *flags.Announce != "" || *flags.Budget != "7" || !*flags.Council {
		t.Errorf("they say %+v", flags)
	}
	if err := set.Parse([]string{"--council=false"}); err != nil || *flags.Council {
		t.Errorf("%v: the council is %v", err, *flags.Council)
	}
	if err := set.Parse([]string{"--complexity=hard"}); err == nil {
		t.Error("a complexity that is no number is taken")
	}
}
