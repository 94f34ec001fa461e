package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/config"
)

// Servers that are compatible with OpenAI's are providers of their own, with an address,
// a key and a price. Names keep their slashes and colons. F-28
func TestCompatibleServers(t *testing.T) {
	c := MustLoad(t, config.Sources{
		UserFile: MustWrite(t, "models: {large: {provider: vllm, name: Qwen/Qwen3-8B, price: {input: 1, output: 2}}}\n"),
		Env:      []string{"PAWL_MODEL=fast=ollama/qwen3:8b,medium=openrouter/anthropic/claude-x:beta"},
	})
	s, err := c.Settings()
	if err != nil {
		t.Fatal(err)
	}
	if m := s.Models[0]; m != (pawl.ModelChoice{Provider: "ollama", Name: "qwen3:8b", MaxOutput: 8192}) {
		t.Errorf("a local server's model: %+v", m)
	}
	if m := s.Models[1]; m.Provider != "openrouter" || m.Name != "anthropic/claude-x:beta" || !m.PriceGuess || m.Price == (pawl.Price{}) {
		t.Errorf("a model of a broker: %+v", m)
	}
	if m := s.Models[2]; m.Provider != "vllm" || m.Name != "Qwen/Qwen3-8B" || m.PriceGuess || m.Price.Output != 2*pawl.Dollars {
		t.Errorf("a local server's model with a price: %+v", m)
	}
	if m, env := c.MissingKey(s.AllModels(), func(string) string { return "" }); m.Provider != "openrouter" || env != "OPENROUTER_API_KEY" {
		t.Errorf("%+v needs a key in %q", m, env)
	}
	if m, env := c.MissingKey(s.AllModels(), func(string) string { return "key" }); env != "" {
		t.Errorf("%+v needs a key in %q", m, env)
	}
	got := map[string]string{}
	for _, v := range c.Explain() {
		if name, ok := strings.CutPrefix(v.Key, "providers."); ok {
			got[name] = v.Value
		}
	}
	want := map[string]string{
		"anthropic":   "https://api.anthropic.com, key in $ANTHROPIC_API_KEY",
		"openai":      "https://api.openai.com/v1, key in $OPENAI_API_KEY",
		"openai-chat": "https://api.openai.com/v1, key in $OPENAI_API_KEY",
		"openrouter":  "https://openrouter.ai/api/v1, key in $OPENROUTER_API_KEY",
		"ollama":      "http://127.0.0.1:11434/v1, no key",
		"lmstudio":    "http://127.0.0.1:1234/v1, no key",
		"vllm":        "http://127.0.0.1:8000/v1, no key",
		"script":      "none",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// A server that speaks a local one's protocol elsewhere may charge for it.
func TestPriceOfAServerElsewhere(t *testing.T) {
	for address, guess := range map[string]bool{
		"http://127.0.0.1:9/v1": false, "http://192.168.1.5:11434/v1": false, "http://gpu:11434/v1": false, "https://ollama.com/v1": true,
	} {
		c := MustLoad(t, config.Sources{Env: []string{"PAWL_MODEL=ollama/x", "PAWL_PROVIDERS_OLLAMA_BASE_URL=" + address}})
		s, err := c.Settings()
		if err != nil {
			t.Fatal(err)
		}
		if m := s.Models[0]; m.PriceGuess != guess || (m.Price != pawl.Price{}) != guess {
			t.Errorf("at %s: %+v", address, m)
		}
	}
}

// A key is certainly needed where the provider itself is asked, not by what is compatible.
func TestMissingKey(t *testing.T) {
	for _, c := range []struct {
		name, want string
		env        []string
	}{
		{"Default", "ANTHROPIC_API_KEY", nil},
		{"ProxyOfAnthropic", "ANTHROPIC_API_KEY", []string{"ANTHROPIC_BASE_URL=http://localhost:1"}},
		{"OpenAI", "OPENAI_API_KEY", []string{"PAWL_MODEL=openai/gpt-x"}},
		{"Compatible", "", []string{"PAWL_MODEL=openai-chat/x", "OPENAI_BASE_URL=http://localhost:1/v1"}},
		{"Local", "", []string{"PAWL_MODEL=ollama/x"}},
		{"LocalWithAKey", "VLLM_KEY", []string{"PAWL_MODEL=vllm/x", "PAWL_PROVIDERS_VLLM_KEY_ENV=VLLM_KEY"}},
		{"Script", "", []string{"PAWL_MODEL=script:a.yaml"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := MustLoad(t, config.Sources{Env: c.env})
			s, err := cfg.Settings()
			if err != nil {
				t.Fatal(err)
			}
			if _, got := cfg.MissingKey(s.AllModels(), func(string) string { return "" }); got != c.want {
				t.Errorf("%q is missing, want %q", got, c.want)
			}
		})
	}
}

func TestOllamaHost(t *testing.T) {
	for value, want := range map[string]string{
		"":                          "http://127.0.0.1:11434/v1",
		"127.0.0.1":                 "http://127.0.0.1:11434/v1",
		"localhost:8080":            "http://localhost:8080/v1",
		":8080":                     "http://127.0.0.1:8080/v1",
		"0.0.0.0":                   "http://127.0.0.1:11434/v1",
		"0.0.0.0:4000":              "http://127.0.0.1:4000/v1",
		"[::]:4000":                 "http://[::1]:4000/v1",
		"::1":                       "http://[::1]:11434/v1",
		"gpu":                       "http://gpu:11434/v1",
		"gpu:many":                  "http://gpu:11434/v1",
		"http://gpu":                "http://gpu/v1",
		"https://gpu.example":       "https://gpu.example/v1",
		"https://gpu.example:8443/": "https://gpu.example:8443/v1",
		"https://example.com/llm/":  "https://example.com/llm/v1",
		`"192.168.1.5:11434"`:       "http://192.168.1.5:11434/v1",
	} {
		c, err := config.Load(config.Sources{Env: []string{"OLLAMA_HOST=" + value, "PAWL_MODEL=ollama/x"}})
		if err != nil {
			t.Errorf("%q: %v", value, err)
			continue
		}
		if got := c.Provider("ollama").Address(); got != want {
			t.Errorf("%q stands for %s, want %s", value, got, want)
		}
	}
	const clear = "OLLAMA_HOST=gpu.example.com"
	_, err := config.Load(config.Sources{Env: []string{clear, "PAWL_MODEL=large=ollama/x"}})
	if err == nil || pawl.CodeOf(err) != pawl.CodeInvalid || !strings.Contains(err.Error(), "$OLLAMA_HOST") ||
		!strings.Contains(err.Error(), "http://gpu.example.com:11434/v1 is for models.large: http sends the key and your code in the clear") {
		t.Errorf("an address that cannot be used: %v", err)
	}
	MustLoad(t, config.Sources{Env: []string{clear}}) // which nobody needs
	c := MustLoad(t, config.Sources{Env: []string{clear, "PAWL_MODEL=ollama/x", "PAWL_PROVIDERS_OLLAMA_BASE_URL=https://gpu.example.com/v1"}})
	if got := c.Provider("ollama").Address(); got != "https://gpu.example.com/v1" {
		t.Errorf("the setting gives way to the variable: %s", got)
	}
}

// Local servers have accounts of their own at the machine's places. F-28
func TestAccountOfALocalServer(t *testing.T) {
	c := MustLoad(t, config.Sources{Env: []string{"PAWL_MACHINE_ACCOUNTS_OLLAMA=1"}})
	if got := c.Machine().Accounts["ollama"]; got != 1 {
		t.Errorf("%d calls at once", got)
	}
}

// The variables of a provider are lent whole or not at all. F-14
func TestLend(t *testing.T) {
	lender := []string{"OPENAI_API_KEY=key-a", "OPENAI_BASE_URL=https://a.example/v1", "ANTHROPIC_API_KEY=key-b",
		"PAWL_PROVIDERS_OPENAI_CHAT_BASE_URL=https://chat.example/v1", "PAWL_PROVIDERS_VLLM_KEY_ENV=VLLM_KEY", "HOME=/home/a"}
	anthropic, vllm := "ANTHROPIC_API_KEY=key-b", "PAWL_PROVIDERS_VLLM_KEY_ENV=VLLM_KEY"
	for name, c := range map[string]struct {
		borrower []string
		file     string
		want     []string
	}{
		"NothingIsKnown":   {nil, "", lender[:5]},
		"ForeignAddress":   {[]string{"OPENAI_BASE_URL=https://b.example/v1"}, "", []string{anthropic, vllm}},
		"AddressByPawl":    {[]string{"PAWL_PROVIDERS_OPENAI_BASE_URL=https://b.example/v1"}, "", []string{anthropic, vllm}},
		"ForeignKey":       {[]string{"OPENAI_API_KEY=key-b"}, "", []string{anthropic, vllm}},
		"EmptyIsNothing":   {[]string{"OPENAI_API_KEY=", "OPENAI_BASE_URL="}, "", lender[:5]},
		"KeyInAFile":       {nil, "providers: {openai: {key_file: /key}}\n", []string{anthropic, vllm}}, // openai-chat has the same variables
		"AnotherVariable":  {[]string{"WORK_KEY=key-c"}, "providers: {anthropic: {key_env: WORK_KEY}}\n", slices.Concat(lender[:2], lender[3:5])},
		"KeyOfAnAgent":     {nil, "delegates: {gemini: {key: {key_env: OPENAI_API_KEY}}}\n", lender[:5]},
		"OwnKeyOfAnAgent":  {[]string{"GEMINI_API_KEY=key-c"}, "", lender[:5]},
		"AddressInTheFile": {nil, "providers: {anthropic: {base_url: https://b.example}}\n", lender[:5]}, // a setting of the user, whichever the shell
	} {
		t.Run(name, func(t *testing.T) {
			cfg := MustLoad(t, config.Sources{UserFile: MustWrite(t, c.file), Env: c.borrower})
			if d := cmp.Diff(c.want, cfg.Lend(lender, c.borrower)); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

// An address has one spelling, so that runs that use it share an account. F-15
func TestSpellingsOfAnAddress(t *testing.T) {
	for written, want := range map[string]string{
		"https://Proxy.Example/v1/":    "https://proxy.example/v1",
		"HTTPS://proxy.example:443/v1": "https://proxy.example/v1",
		"http://LOCALHOST:80":          "http://localhost",
		"http://localhost:8080/":       "http://localhost:8080",
		"https://proxy.example/V1//":   "https://proxy.example/V1",
		"https://api.openai.com/v1/":   "https://api.openai.com/v1",
	} {
		c := MustLoad(t, config.Sources{Env: []string{"OPENAI_BASE_URL=" + written}})
		if got := c.Provider("openai").Address(); got != want {
			t.Errorf("%s is %s, want %s", written, got, want)
		}
	}
}
