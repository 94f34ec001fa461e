package recipe_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"pawl/internal/recipe"
)

var update = flag.Bool("update", false, "write the published schema and reference anew")

// schemaError is what the published schema objects to in a YAML text.
func schemaError(tb testing.TB, text string) error {
	tb.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(recipe.Schema()))
	if err != nil {
		tb.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("recipe.schema.json", doc); err != nil {
		tb.Fatal(err)
	}
	schema, err := c.Compile("recipe.schema.json")
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

func TestSchemaAcceptsBuiltins(t *testing.T) {
	for _, name := range recipe.Builtin() {
		text, err := os.ReadFile(filepath.Join("builtin", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if err := schemaError(t, string(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is published is what the program says.
func TestPublished(t *testing.T) {
	published(t, "../../docs/schema/recipe.schema.json", func(string) string { return string(recipe.Schema()) })
	published(t, "../../docs/recipes.md", func(old string) string {
		const begin, end = "<!-- reference: begin -->\n", "<!-- reference: end -->\n"
		head, rest, ok1 := strings.Cut(old, begin)
		_, tail, ok2 := strings.Cut(rest, end)
		if !ok1 || !ok2 {
			t.Fatal("docs/recipes.md has no place for the reference")
		}
		return head + begin + recipe.Reference() + end + tail
	})
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
		t.Errorf("%s is not current; run: go test ./internal/recipe -update", filepath.Base(file))
	}
}
