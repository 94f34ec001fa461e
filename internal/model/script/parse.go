package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"pawl"
)

// Limits of a file.
const (
	MaxBytes  = 1 << 20
	maxTokens = 50_000           // words, marks and whole texts; the parser's work grows faster than they do
	maxDepth  = 50               // mappings and lists inside each other, as far as one line or brackets make them
	maxDelay  = 10 * time.Minute // of one answer
)

const keysHint = "An answer has when, say, calls, stop, usage, delay_ms and error; " +
	"when has role, step, loop, task, lens, iteration, attempt, round, tier, turn and last."

// Load reads a script from a file.
func Load(path string) (*Script, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, pawl.Errorf(codeOf(err), "read the script: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, pawl.Errorf(pawl.CodeInvalid, "read the script: %w", err)
	}
	return Parse(filepath.Base(path), data)
}

func codeOf(err error) pawl.Code {
	if errors.Is(err, os.ErrNotExist) {
		return pawl.CodeNotFound
	}
	return pawl.CodeInvalid
}

// Parse reads a script. name is what messages call it.
func Parse(name string, data []byte) (*Script, error) {
	if len(data) > MaxBytes {
		return nil, pawl.Errorf(pawl.CodeInvalid, "%s: a script may have %d bytes at most", name, MaxBytes)
	}
	p := &fileParser{name: name}
	nodes, err := p.answers(data)
	if err != nil {
		return nil, err
	}
	s := &Script{name: name, failed: make(map[dispatch]int)}
	for _, node := range nodes {
		a, err := p.answer(node)
		if err != nil {
			return nil, err
		}
		s.answers = append(s.answers, a)
	}
	if len(s.answers) == 0 {
		return nil, p.errorf(1, "the script has no answers").WithHint(keysHint)
	}
	return s, nil
}

type fileParser struct{ name string }

func (p *fileParser) errorf(line int, format string, args ...any) *pawl.Error {
	return pawl.Errorf(pawl.CodeInvalid, "%s:%d: %s", p.name, line, fmt.Sprintf(format, args...))
}

// yaml makes an error of the YAML library ours.
func (p *fileParser) yaml(err error) error {
	if wrong, ok := errors.AsType[*yaml.TypeError](err); ok {
		return p.errorf(wrong.Token.Position.Line, "want %s, got %s", kindOf(wrong.DstType), kindOf(wrong.SrcType)).WithHint(keysHint)
	}
	if at, ok := errors.AsType[yaml.Error](err); ok && at.GetToken() != nil {
		return p.errorf(at.GetToken().Position.Line, "%s", at.GetMessage()).WithHint(keysHint)
	}
	return pawl.Errorf(pawl.CodeInvalid, "%s: %w", p.name, err).WithHint(keysHint)
}

// kindOf is a type in the words of YAML.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "a mapping"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a fraction"
	}
	return "a number"
}

// answers finds the nodes of the answers.
func (p *fileParser) answers(data []byte) ([]ast.Node, error) {
	tokens := lexer.Tokenize(string(data))
	if err := p.checkTokens(tokens); err != nil {
		return nil, err
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, p.yaml(err)
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return nil, nil
	}
	body := file.Docs[0].Body
	var outer struct {
		Answers []any `yaml:"answers"`
	}
	if err := yaml.NodeToValue(body, &outer, yaml.Strict()); err != nil {
		return nil, p.yaml(err)
	}
	path, err := yaml.PathString("$.answers")
	if err != nil {
		return nil, fmt.Errorf("find the answers of %s: %w", p.name, err)
	}
	found, err := path.FilterNode(body)
	if err != nil {
		return nil, p.yaml(err)
	}
	list, ok := found.(*ast.SequenceNode)
	if !ok {
		return nil, nil
	}
	return list.Values, nil
}

// checkTokens refuses what a script has no use for and what would make parsing
// it dear: references, and nesting without end.
func (p *fileParser) checkTokens(tokens token.Tokens) error {
	if len(tokens) > maxTokens {
		return p.errorf(tokens[maxTokens].Position.Line, "the script is too long")
	}
	brackets, line, entries, content := 0, 0, 0, false
	for _, t := range tokens {
		if t.Type == token.DocumentEndType || t.Type == token.DocumentHeaderType && content {
			return p.errorf(t.Position.Line, "a script is one YAML document")
		}
		content = content || t.Type != token.CommentType && t.Type != token.DirectiveType
		if t.Position.Line != line {
			line, entries = t.Position.Line, 0
		}
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType, token.TagType, token.DirectiveType:
			return p.errorf(line, "anchors, aliases, merge keys, tags and directives are not part of a script: %s", t.Value)
		case token.MappingStartType, token.SequenceStartType:
			brackets++
		case token.MappingEndType, token.SequenceEndType:
			brackets--
		case token.SequenceEntryType, token.MappingKeyType:
			entries++
		}
		if brackets > maxDepth || entries > maxDepth {
			return p.errorf(line, "more than %d mappings and lists inside each other", maxDepth)
		}
	}
	return nil
}

// spec is an answer as it stands in the file.
type spec struct {
	When  when             `yaml:"when"`
	Say   string           `yaml:"say"`
	Calls []map[string]any `yaml:"calls"`
	Stop  pawl.StopReason  `yaml:"stop"`
	Usage *struct {
		Input      uint32 `yaml:"input"`
		Output     uint32 `yaml:"output"`
		CacheRead  uint32 `yaml:"cache_read"`
		CacheWrite uint32 `yaml:"cache_write"`
	} `yaml:"usage"`
	DelayMS uint32 `yaml:"delay_ms"`
	Error   *struct {
		Kind    pawl.ModelErrorKind `yaml:"kind"`
		WaitMS  uint32              `yaml:"wait_ms"`
		Status  uint16              `yaml:"status"`
		Message string              `yaml:"message"`
		Times   uint32              `yaml:"times"`
	} `yaml:"error"`
}

// answer reads and checks one answer.
func (p *fileParser) answer(node ast.Node) (answer, error) {
	line := node.GetToken().Position.Line
	var in spec
	if err := yaml.NodeToValue(node, &in, yaml.Strict()); err != nil {
		return answer{}, p.yaml(err)
	}
	a := answer{line: line, when: in.When, say: in.Say, stop: in.Stop, delay: time.Duration(in.DelayMS) * time.Millisecond}
	for i, c := range in.Calls {
		call, err := newCall(c)
		if err != nil {
			return a, p.errorf(line, "call %d of this answer: %v", i+1, err)
		}
		a.calls = append(a.calls, call)
	}
	if u := in.Usage; u != nil {
		a.usage = &pawl.Usage{Input: int64(u.Input), Output: int64(u.Output), CacheRead: int64(u.CacheRead), CacheWrite: int64(u.CacheWrite)}
	}
	if e := in.Error; e != nil {
		a.times = int(e.Times)
		a.failure = &pawl.ModelError{Kind: e.Kind, Status: int(e.Status), Message: e.Message, Wait: time.Duration(e.WaitMS) * time.Millisecond}
	}
	if problem := a.check(); problem != "" {
		return a, p.errorf(line, "%s", problem)
	}
	return a, nil
}

// kinds are the failures a script can name.
var kinds = []pawl.ModelErrorKind{
	pawl.ModelRateLimit, pawl.ModelOverloaded, pawl.ModelNetwork, pawl.ModelTimeout, pawl.ModelAuth,
	pawl.ModelBadRequest, pawl.ModelContextLong, pawl.ModelRefused, pawl.ModelQuota, pawl.ModelUnknown,
}

// check says what is wrong with an answer; empty when nothing is.
func (a *answer) check() string {
	speaks := a.say != "" || len(a.calls) > 0
	for _, last := range a.when.Last {
		if last != lastOK && last != lastError && last != lastInterrupted {
			return fmt.Sprintf("last is ok, error or interrupted, not %q", last)
		}
	}
	switch {
	case !speaks && a.failure == nil:
		return "the answer needs say, calls or error"
	case a.stop != "" && a.stop != pawl.StopEnd && a.stop != pawl.StopToolUse && a.stop != pawl.StopMaxOutput:
		return fmt.Sprintf("stop is end, tool_use or max_output, not %q", a.stop)
	case a.delay > maxDelay:
		return fmt.Sprintf("delay_ms is %d at most", maxDelay.Milliseconds())
	case a.failure == nil:
		return ""
	case !slices.Contains(kinds, a.failure.Kind):
		return fmt.Sprintf("error.kind is one of %v, not %q", kinds, a.failure.Kind)
	case speaks && a.times == 0:
		return "what it says is never heard: an error without times never ends"
	}
	return ""
}

// newCall is one entry of calls: a tool's name and its arguments.
func newCall(entry map[string]any) (toolCall, error) {
	if len(entry) != 1 {
		return toolCall{}, fmt.Errorf("want one tool with its arguments, got %d", len(entry))
	}
	for tool, args := range entry {
		if tool == "" {
			return toolCall{}, errors.New("the tool has no name")
		}
		switch args.(type) {
		case nil:
			args = map[string]any{}
		case map[string]any, string:
		default:
			return toolCall{}, fmt.Errorf("the arguments of %s are not a mapping", tool)
		}
		raw, err := json.Marshal(args)
		if err != nil {
			return toolCall{}, fmt.Errorf("the arguments of %s: %w", tool, err)
		}
		return toolCall{tool: tool, args: raw}, nil
	}
	return toolCall{}, nil // not reached: there is one entry
}
