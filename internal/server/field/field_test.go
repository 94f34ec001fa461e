package field_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/server/field"
)

// embedding has the fields of another type as its own.
type embedding struct {
	pawl.Signaling
	Reason string `json:"reason"`
}

// What cannot be read is told by field, value and what would be right. F-51
func TestWrong(t *testing.T) {
	start, steer, signal := &pawl.StartRequest{}, &pawl.Steering{}, &embedding{}
	for _, row := range []struct {
		into              any
		in                string
		field, want, hint string
	}{
		{start, `{"goal":7}`, "goal", "goal: got 7, want a text", ""},
		{start, `{"goal":"x","flags":{"max_iterations":"three"}}`, "flags.max_iterations", `flags.max_iterations: got "three", want a whole number`, ""},
		{start, `{"flags":{"max_iterations":1.5}}`, "flags.max_iterations", "got 1.5, want a whole number", ""},
		{start, `{"flags":{"budget":{"usd":3}}}`, "flags.budget", `got {"usd":3}, want a number or a text`, ""},
		{start, `{"flags":{"gate":"tests=x"}}`, "flags.gate", `got "tests=x", want a list of texts`, ""},
		{start, `{"flags":{"gate":[1]}}`, "flags.gate", "got [1], want a list of texts", ""},
		{start, `{"flags":{"council":"yes"}}`, "flags.council", `got "yes", want true or false`, ""},
		{start, `{"flags":7}`, "flags", "got 7, want an object", ""},
		{start, `{"allow_prepare":"7"}`, "allow_prepare", `got "7", want a hash of 64 hexadecimal digits`, ""},
		{start, `{"settings":{}}`, "settings", "settings: there is no such field", "goal, recipe, flags, task"},
		{start, `{"flags":{"gates":[]}}`, "flags.gates", "flags.gates: there is no such field", "the fields of flags are: criteria, gate, model"},
		{steer, `{"verb":"limits","limits":{"money":"x"}}`, "limits.money", `got "x", want a whole number`, ""},
		{signal, `{"to":7}`, "to", "got 7, want a text", ""},
		{signal, `{"reason":"x","whom":"y"}`, "whom", "there is no such field", "signal, to, text, reason"},
		{start, `{"` + strings.Repeat("x", 200) + `":1}`, strings.Repeat("x", 80) + "…", "there is no such field", ""},
	} {
		err := field.Wrong(row.into, []byte(row.in))
		if err == nil || err.Code != pawl.CodeInvalid || err.Field != row.field || !strings.Contains(err.Message, row.want) {
			t.Errorf("%s: got %+v, want field %s, %q", row.in, err, row.field, row.want)
			continue
		}
		for name := range strings.SplitSeq(row.hint, ", ") {
			if !strings.Contains(err.Hint, name) {
				t.Errorf("%s: the hint %q does not say %q", row.in, err.Hint, name)
			}
		}
	}
	for _, in := range []string{`{"goal":"x","flags":{"budget":3,"max_time":"90m","complexity":0,"replan_every":null}}`, `[]`, `7`, `{`, `{} {}`} {
		if err := field.Wrong(start, []byte(in)); err != nil {
			t.Errorf("%s: %v", in, err)
		}
	}
}

// A quantity is a number or a text, as it was written.
func TestQuantity(t *testing.T) {
	var flags pawl.StartFlags
	if err := json.Unmarshal([]byte(`{"budget":2.50,"max_time":"90m","max_tokens":5000000,"max_memory":null}`), &flags); err != nil {
		t.Fatal(err)
	}
	if *flags.Budget != "2.50" || *flags.MaxTime != "90m" || *flags.MaxTokens != "5000000" || flags.MaxMemory != nil {
		t.Errorf("they are %s, %s, %s", *flags.Budget, *flags.MaxTime, *flags.MaxTokens)
	}
	if err := json.Unmarshal([]byte(`{"budget":true}`), &flags); err == nil {
		t.Error("true is no quantity")
	}
}
