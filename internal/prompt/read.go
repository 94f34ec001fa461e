package prompt

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/recipe"
)

// reader reads blobs and remembers the first error and what was cut.
type reader struct {
	ctx context.Context
	job driver.Job
	err error
	cut []string
	// left is how many entries of the memory are left out.
	left int
	// instructions are the repository's, which no template names.
	instructions []recipe.Instruction
	// answered is what people answered, which no template names either.
	answered []string
}

// cuts are the names of what was cut, each once.
func (r *reader) cuts() []string {
	if r.left > 0 {
		r.was(fmt.Sprintf("memory: %d entries", r.left))
	}
	return r.cut
}

func (r *reader) was(cut string) {
	if !slices.Contains(r.cut, cut) {
		r.cut = append(r.cut, cut)
	}
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// text is a blob's; the empty text after an error, and when there is no blob.
func (r *reader) text(what string, h pawl.Hash) string {
	if r.err != nil || h.IsZero() {
		return ""
	}
	data, err := r.job.Blob(r.ctx, h)
	if pawl.CodeOf(err) == pawl.CodeNotFound {
		err = pawl.Errorf(pawl.CodeDamaged, "%w", err) // it is not there, and will not be
	}
	if err != nil {
		r.fail(fmt.Errorf("read %s: %w", what, err))
	}
	return valid(data)
}

// json reads a blob that we wrote into v; no blob changes nothing.
func (r *reader) json(what string, h pawl.Hash, v any) {
	if text := r.text(what, h); r.err == nil && !h.IsZero() {
		if err := json.Unmarshal([]byte(text), v); err != nil {
			r.fail(pawl.Errorf(pawl.CodeDamaged, "read %s: %w", what, err))
		}
	}
}

// template is the recipe's template as it was frozen with the run.
func (r *reader) template(name string) (string, error) {
	recipe := r.job.Recipe.Name
	for _, p := range r.job.Started.Prompts {
		if p.Name == name {
			text := r.text(fmt.Sprintf("the template %s of recipe %s", name, recipe), p.Blob)
			return text, r.err
		}
	}
	return "", pawl.Errorf(pawl.CodeInvalid, "recipe %s: the run was started without the prompt template %s", recipe, name)
}

func valid[T ~string | ~[]byte](text T) string { return strings.ToValidUTF8(string(text), "\uFFFD") }

// fit cuts the middle out of a text that is too long.
func (r *reader) fit(name, text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	r.was(name)
	head := strings.ToValidUTF8(text[:limit/2], "")
	tail := strings.ToValidUTF8(text[len(text)-limit/2:], "")
	return head + fmt.Sprintf("\n[… %d bytes left out …]\n", len(text)-len(head)-len(tail)) + tail
}

// head keeps the first lines of a list.
func (r *reader) head(name, text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	r.was(name)
	kept := strings.ToValidUTF8(text[:limit], "")
	if i := strings.LastIndexByte(kept, '\n'); i > 0 {
		kept = kept[:i]
	}
	return fmt.Sprintf("%s\n[… and %d more]", kept, max(1, strings.Count(strings.TrimRight(text[len(kept):], "\n"), "\n")))
}
