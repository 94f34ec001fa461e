package run

import (
	"testing"

	"pawl"
)

func TestParseGate(t *testing.T) {
	for text, want := range map[string]pawl.GateSpec{
		"tests=go test -json ./...":    {Name: "tests", Kind: pawl.GateTests, Command: "go test -json ./..."},
		"unit : tests = make A=1 unit": {Name: "unit", Kind: pawl.GateTests, Command: "make A=1 unit"},
		"lint=x=y":                     {Name: "lint", Kind: pawl.GateLint, Command: "x=y"},
	} {
		if got, err := parseGate(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "tests", "tests=", "=make", "speed=make", "a:speed=make", ":tests=make", "tests: =make"} {
		if _, err := parseGate(text); pawl.CodeOf(err) != pawl.CodeInvalid {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestIntroduction(t *testing.T) {
	one := pawl.ModelChoice{Provider: "script", Name: "script"}
	other := pawl.ModelChoice{Provider: "openai", Name: "gpt"}
	for want, choice := range map[string][3]pawl.ModelChoice{
		"script/script": {one, one, one},
		"fast script/script, medium openai/gpt, large openai/gpt": {one, other, other},
	} {
		if got := models(pawl.StartRequest{Settings: pawl.Settings{Models: choice}}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := limits(pawl.DefaultLimits, 10); got != "$10.00, 5000000 tokens, 480 minutes, 10 iterations" {
		t.Errorf("got %q", got)
	}
	if got := limits(pawl.Limits{}, 0); got != "none: nothing ends it but you" {
		t.Errorf("got %q", got)
	}
}
