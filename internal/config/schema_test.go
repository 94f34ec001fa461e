package config_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"pawl/internal/config"
)

var update = flag.Bool("update", false, "write the published schema and reference anew")

// schemaError is what the published schema objects to in a YAML text.
func schemaError(tb testing.TB, text string) error {
	tb.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(config.Schema()))
	if err != nil {
		tb.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("config.schema.json", doc); err != nil {
		tb.Fatal(err)
	}
	schema, err := c.Compile("config.schema.json")
	if err != nil {
		tb.Fatal(err)
	}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// The example in the documentation is a configuration.
func TestExample(t *testing.T) {
	text, err := os.ReadFile("../../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```yaml .config/pawl/config.yaml\n")
	example, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("there is no example")
	}
	if err := schemaError(t, example); err != nil {
		t.Error(err)
	}
	MustSettings(t, config.Sources{UserFile: MustWrite(t, example)})
}

// What is published is what the program says.
func TestPublished(t *testing.T) {
	published(t, "../../docs/schema/config.schema.json", func(string) string { return string(config.Schema()) })
	published(t, "../../docs/config.md", func(old string) string {
		const begin, end = "<!-- reference: begin -->\n", "<!-- reference: end -->\n"
		head, rest, ok1 := strings.Cut(old, begin)
		_, tail, ok2 := strings.Cut(rest, end)
		if !ok1 || !ok2 {
			t.Fatal("docs/config.md has no place for the reference")
		}
		return head + begin + config.Reference() + end + tail
	})
}

// The embedded table of coding agents is delegates.yaml.
func TestEmbeddedDelegates(t *testing.T) {
	text, err := os.ReadFile("delegates.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want, err := config.ReadDelegates("delegates.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for i := range want {
		d := &want[i]
		line, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
		if d.Meta != nil {
			var meta bytes.Buffer
			if err := json.Compact(&meta, d.Meta); err != nil {
				t.Fatal(err)
			}
			d.Meta = meta.Bytes() // white space means nothing
		}
	}
	published(t, "delegates.json", func(string) string { return "[\n" + strings.Join(lines, ",\n") + "\n]\n" })
	if *update {
		return // what is embedded may be what was there before
	}
	if diff := cmp.Diff(want, config.KnownDelegates(), cmpopts.EquateEmpty(), cmp.AllowUnexported(config.Delegate{}, config.Provider{})); diff != "" {
		t.Errorf("the embedded table (+) is another one than delegates.yaml (-):\n%s", diff)
	}
}

func published(t *testing.T, file string, content func(old string) string) {
	t.Helper()
	old, err := os.ReadFile(file)
	if err != nil && !*update {
		t.Fatal(err)
	}
	want := content(string(old))
	switch {
	case want == string(old):
	case *update:
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is not current; run: go test ./internal/config -update", filepath.Base(file))
	}
}

// No two keys share a variable.
func TestVariables(t *testing.T) {
	names := config.Variables()
	for name, path := range map[string]string{
		"PAWL_RECIPE":                         "recipe",
		"PAWL_LIMITS_MONEY_USD":               "limits.money_usd",
		"PAWL_MODELS_FAST":                    "models.fast",
		"PAWL_MODELS_FAST_MAX_OUTPUT":         "models.fast.max_output",
		"PAWL_PROVIDERS_OPENAI_CHAT_BASE_URL": "providers.openai-chat.base_url",
		"PAWL_TIMEOUTS_MS_*":                  "timeouts_ms.*",
		"PAWL_TASK_LOOP_MAX_ITERATIONS":       "task_loop.max_iterations",
	} {
		if names[name] != path {
			t.Errorf("%s sets %q, want %s", name, names[name], path)
		}
	}
	var paths []string
	for _, path := range names {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	if n := len(slices.Compact(paths)); n != len(names) {
		t.Errorf("%d variables set %d keys", len(names), n)
	}
	if _, ok := names["PAWL_GATES"]; ok {
		t.Error("gates cannot be written in a variable")
	}
}

// The names of variables are found once: who changes what was returned must not change what is read.
func TestVariablesAreNotShared(t *testing.T) {
	clear(config.Variables())
	if len(config.Variables()) == 0 {
		t.Error("there are no variables any more")
	}
	c, err := config.Load(config.Sources{Env: []string{"PAWL_RECIPE=loom"}})
	if err != nil || c.Recipe != "loom" {
		t.Errorf("the recipe is %q, %v", c.Recipe, err)
	}
}
