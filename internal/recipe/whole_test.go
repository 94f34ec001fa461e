package recipe_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"testing/fstest"

	"pawl"
	"pawl/internal/recipe"
)

// A built-in recipe is read once where nothing can replace it, and is the same as when it is read anew, as it
// is beside a folder that has no file of it. Changing what was returned changes a copy only.
func TestLoadWholeBuiltin(t *testing.T) {
	gone := os.DirFS(filepath.Join(t.TempDir(), "recipes"))
	beside := fstest.MapFS{"other.yaml": {Data: []byte("extends: pawl\n")}}
	for _, name := range recipe.Builtin() {
		want, err := recipe.LoadWhole(name, "p/", beside)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			got, err := recipe.LoadWhole(name, "p/", gone)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %v, and it is\n%+v, want\n%+v", name, err, got, want)
			}
			got.Recipe.Kinds[0].Iterations++
			got.Recipe.Kinds[0].Name = "changed"
			clear(got.Prompts)
			got.Origin.Name = "changed"
		}
	}
}

// A file that appears in the repository's folder is used from the next time on, and one that is removed
// no more.
func TestLoadWholeOwn(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "recipes")
	own, err := fs.Sub(os.DirFS(root), "recipes")
	if err != nil {
		t.Fatal(err)
	}
	builtin, err := recipe.LoadWhole("pawl", "p/", own)
	if err != nil {
		t.Fatal(err)
	}
	template := builtin.Recipe.Kinds[0].Steps[0].Prompt
	for file, text := range map[string]string{"pawl.yaml": "extends: pawl\n", "pawl/" + template: prompt} {
		path := filepath.Join(dir, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := recipe.LoadWhole("pawl", "p/", own)
		if err != nil || len(got.Origin.Files) != 1 || got.Origin.Files[0] != "p/"+file {
			t.Errorf("with %s: %v, and its files are %q", file, err, got.Origin.Files)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if got, err := recipe.LoadWhole("pawl", "p/", own); err != nil || !reflect.DeepEqual(got, builtin) {
			t.Errorf("without %s: %v, and its files are %q", file, err, got.Origin.Files)
		}
	}
}

// If it cannot be found out whether the repository has recipes, the built-in one is not used.
func TestLoadWholeUncertain(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, ".pawl"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	own, err := fs.Sub(os.DirFS(root), ".pawl/recipes")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := recipe.LoadWhole("pawl", "p/", own); pawl.CodeOf(err) != pawl.CodeInvalid {
		t.Errorf("the recipe is %q, and the error is %v", got.Recipe.Name, err)
	}
}
