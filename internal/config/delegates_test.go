package config_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/egress"
)

// MustDelegate returns an agent of a configuration.
func MustDelegate(tb testing.TB, name string, src config.Sources) config.Delegate {
	tb.Helper()
	c := MustLoad(tb, src)
	d, ok := c.Delegate(name)
	if !ok {
		tb.Fatalf("there is no agent %s", name)
	}
	return d
}

// MustLogin makes a home with a file and returns the home.
func MustLogin(tb testing.TB, file, text string) string {
	tb.Helper()
	home := tb.TempDir()
	name := filepath.Join(home, filepath.FromSlash(file))
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return home
}

// lookUp returns a function that looks up variables.
func lookUp(environ ...string) func(string) string {
	return func(name string) string { return config.Variable(environ, name) }
}

const (
	claudeFile  = ".claude/.credentials.json"
	claudeLogin = `{"claudeAiOauth": {"accessToken": "a", "refreshToken": "b", "accountUuid": "u"}}`
)

// Every entry of the table has what its protocol and its purses need.
func TestDelegates(t *testing.T) {
	c := MustLoad(t, config.Sources{})
	var names []string
	for _, d := range c.Delegates() {
		names = append(names, d.Name)
		t.Run(d.Name, func(t *testing.T) {
			if d.Title == d.Name && d.Name != "opencode" || len(d.Command) == 0 || len(d.VersionArgs) == 0 || d.Pays != config.PurseAuto {
				t.Errorf("incomplete: %+v", d)
			}
			if !d.Untested && (d.MinVersion == "" || d.BelowVersion == "" || !d.Knows(d.MinVersion) || d.Knows(d.BelowVersion)) {
				t.Errorf("its range of versions is from %q to %q", d.MinVersion, d.BelowVersion)
			}
			if d.Key == nil && d.Login == nil {
				t.Error("nothing pays for it")
			}
			for _, kind := range []config.PurseKind{config.PurseKey, config.PurseLogin} {
				if kind == config.PurseKey && d.Key == nil || kind == config.PurseLogin && d.Login == nil {
					continue
				}
				checkSetup(t, kind, d.SetupFor(kind, config.Filling{Gateway: "http://gateway.example", Token: `to"ken`, Model: `model"`}))
			}
			if d.Login != nil {
				if _, err := egress.ParseAll(d.Login.Hosts); err != nil || len(d.Login.Hosts) == 0 {
					t.Errorf("its login reaches %q: %v", d.Login.Hosts, err)
				}
			}
		})
	}
	want := []string{"claude-code", "codex", "opencode", "gemini", "copilot", "qwen", "kimi", "goose", "cursor", "agy", "claude-code-acp", "codex-acp"}
	if d := cmp.Diff(want, names); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func checkSetup(t *testing.T, kind config.PurseKind, s config.Setup) {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, placeholder := range []string{"{gateway}", "{token}", "{model}", "{method}", "{home}"} {
		if strings.Contains(string(text), placeholder) {
			t.Errorf("with a %s %s is not filled in: %s", kind, placeholder, text)
		}
	}
	for _, secret := range []string{"gateway.example", "ken"} {
		if kind == config.PurseKey && !strings.Contains(string(text), secret) {
			t.Errorf("with a key it does not get %q: %s", secret, text)
		}
	}
	for _, f := range s.Files {
		if strings.HasSuffix(f.Path, ".json") && !json.Valid([]byte(f.Text)) {
			t.Errorf("%s is no JSON: %s", f.Path, f.Text)
		}
	}
}

// What names a model is left out if the agent chooses it.
func TestSetupWithoutAModel(t *testing.T) {
	gemini := MustDelegate(t, "gemini", config.Sources{})
	for model, want := range map[string][]string{
		"":                       {"--acp", "--skip-trust"},
		config.DefaultModel:      {"--acp", "--skip-trust"},
		"gemini-3-flash-preview": {"--acp", "--skip-trust", "-m", "gemini-3-flash-preview"},
	} {
		if d := cmp.Diff(want, gemini.SetupFor(config.PurseKey, config.Filling{Model: model}).Args); d != "" {
			t.Errorf("%q: (-want +got)\n%s", model, d)
		}
	}
	opencode := MustDelegate(t, "opencode", config.Sources{})
	if s := opencode.SetupFor(config.PurseKey, config.Filling{Model: "m1"}); s.Model != "pawl/m1" || !s.NeedsModel {
		t.Errorf("opencode with a key: %+v", s)
	}
	if s := opencode.SetupFor(config.PurseLogin, config.Filling{}); s.Model != "" || s.NeedsModel {
		t.Errorf("opencode with a login: %+v", s)
	}
}

func TestVersions(t *testing.T) {
	d := MustDelegate(t, "claude-code", config.Sources{})
	for output, want := range map[string]string{
		"2.1.330 (Claude Code)\n":                              "2.1.330",
		"codex-cli 0.169.0":                                    "0.169.0",
		"WARNING: no aliases in /tmp/1.2\ncodex-cli 0.169.0\n": "0.169.0",
		"no idea": "",
	} {
		if got := d.Version(output); got != want {
			t.Errorf("%q has version %q, want %q", output, got, want)
		}
	}
	for version, want := range map[string]bool{"2.1.329": true, "2.1.1000": true, "2.1.328": false, "2.1": false, "2.2.0": false, "10.0.0": false, "": false} {
		if got := d.Knows(version); got != want {
			t.Errorf("version %q is known: %v", version, got)
		}
	}
}

// A user's entry replaces single keys of the built-in one, and a list as a whole.
func TestOwnDelegates(t *testing.T) {
	text := `delegates:
  claude-code: {purse: key, command: [/opt/claude], key: {key_env: WORK_KEY}, login: {hosts: ["proxy.example:443"]}}
  mine: {protocol: acp, command: [mine, serve], provider: openrouter, aliases: [big=gpt-6.2-sol], key: {environ: ["BASE={gateway}", "KEY={token}"]}}
models: {large: mine/big}
machine: {accounts: {mine: 2}}
`
	src := config.Sources{UserFile: MustWrite(t, text)}
	claude := MustDelegate(t, "claude-code", src)
	if !slices.Equal(claude.Command, []string{"/opt/claude"}) || claude.Title != "Claude Code" || claude.Pays != config.PurseKey || claude.Login.File != claudeFile ||
		!slices.Equal(claude.Login.Hosts, []string{"proxy.example:443"}) || len(claude.Key.Environ) != 2 {
		t.Errorf("got %+v", claude)
	}
	if p, err := claude.Purse("", lookUp("WORK_KEY=w")); err != nil || p.Key.Env != "WORK_KEY" || p.Address != "https://api.anthropic.com" {
		t.Errorf("its purse is %+v, %v", p, err)
	}
	if mine := MustDelegate(t, "mine", src); mine.Title != "mine" || !slices.Equal(mine.VersionArgs, []string{"--version"}) || mine.Server().Name != "openrouter" {
		t.Errorf("got %+v", mine)
	}
	c := MustLoad(t, src)
	if all := c.Delegates(); all[len(all)-1].Name != "mine" {
		t.Error("the user's own entry is not the last one")
	}
	if c.Machine().Accounts["mine"] != 2 {
		t.Error("its account has no places of its own")
	}
	s := MustSettings(t, src)
	if m := s.Models[2]; m.Provider != "mine" || m.Name != "big" || !m.Agent || m.Plan {
		t.Errorf("got %+v", m)
	}
	// The built-in table stays as it is, and flags and variables know the user's names.
	if again := MustDelegate(t, "claude-code", config.Sources{}); again.Command[0] != "claude" || again.Login.Hosts[0] != "api.anthropic.com:443" || again.Key.KeyEnv != "" {
		t.Errorf("the table was changed: %+v", again)
	}
	s = MustSettings(t, config.Sources{UserFile: src.UserFile, Env: []string{"PAWL_MODEL=mine/x"}, Flags: []config.Flag{{Name: "--model", Key: "model", Value: "fast=mine/y"}}})
	if s.Models[0].Name != "y" || s.Models[1].Name != "x" || s.Models[2].Name != "x" {
		t.Errorf("got %+v", s.Models)
	}
	for name := range config.Variables() {
		if strings.HasPrefix(name, "PAWL_DELEGATES") {
			t.Errorf("the variable %s cannot be set", name)
		}
	}
}

// The models of agents have the prices of what they stand for.
func TestPricesOfAgents(t *testing.T) {
	for model, want := range map[string]struct {
		output pawl.Micros
		guess  bool
		max    int
	}{
		"claude-code/sonnet":                  {10 * pawl.Dollars, false, 32000},
		"claude-code/claude-haiku-5-5":        {2500 * pawl.Dollars / 1000, false, 32000},
		"claude-code/default":                 {20 * pawl.Dollars, false, 32000},
		"codex/gpt-6.1-sol":                   {10 * pawl.Dollars, false, 32000},
		"codex/default":                       {180 * pawl.Dollars, true, 32000},
		"opencode/gpt-6.1-sol":                {10 * pawl.Dollars, false, 32000},
		"opencode/anthropic/claude-haiku-5-5": {2500 * pawl.Dollars / 1000, false, 32000},
		"kimi/k3":                             {180 * pawl.Dollars, true, 8192},
	} {
		s := MustSettings(t, config.Sources{Env: []string{"PAWL_MODEL=" + model}})
		if m := s.Models[1]; m.Price.Output != want.output || m.PriceGuess != want.guess || m.MaxOutput != want.max || !m.Agent || m.Provider+"/"+m.Name != model {
			t.Errorf("%s: got %+v, want %+v", model, m, want)
		}
	}
	s := MustSettings(t, config.Sources{Env: []string{"PAWL_MODEL=anthropic/claude-haiku-5-5"}})
	if s.Models[0].Agent {
		t.Error("a provider is an agent")
	}
}

func TestPurse(t *testing.T) {
	home := MustLogin(t, claudeFile, claudeLogin)
	moved := MustLogin(t, ".credentials.json", claudeLogin)
	auto := MustDelegate(t, "claude-code", config.Sources{})
	byKey := MustDelegate(t, "claude-code", config.Sources{UserFile: MustWrite(t, "delegates: {claude-code: {purse: key}}\n")})
	byLogin := MustDelegate(t, "claude-code", config.Sources{UserFile: MustWrite(t, "delegates: {claude-code: {purse: login}}\n")})
	stored := MustDelegate(t, "claude-code", config.Sources{UserFile: MustWrite(t, "providers: {anthropic: {key_file: /key}}\n")})
	const key = "ANTHROPIC_API_KEY=k"
	for _, c := range []struct {
		name  string
		agent config.Delegate
		home  string
		env   []string
		want  string // the purse, or the error
	}{
		{"LoginFirst", auto, home, []string{key}, "login"},
		{"Moved", auto, "", []string{"CLAUDE_CONFIG_DIR=" + moved}, "login"},
		{"NoLogin", auto, t.TempDir(), []string{key}, "key in $ANTHROPIC_API_KEY"},
		{"StoredKey", stored, "", nil, "key from the file /key"},
		{"Neither", auto, t.TempDir(), nil, "nothing pays for Claude Code: ~/.claude/.credentials.json does not exist, and ANTHROPIC_API_KEY is not set"},
		{"NoHome", auto, "", nil, "nothing pays for Claude Code: there is no home with a login, and ANTHROPIC_API_KEY is not set"},
		{"LoggedOut", auto, MustLogin(t, claudeFile, `{"claudeAiOauth": {}}`), nil, "nothing pays for Claude Code: ~/.claude/.credentials.json holds no login, and ANTHROPIC_API_KEY is not set"},
		{"Malformed", auto, MustLogin(t, claudeFile, `{`), nil, "nothing pays for Claude Code: ~/.claude/.credentials.json holds no login, and ANTHROPIC_API_KEY is not set"},
		{"Folder", auto, MustLogin(t, claudeFile+"/x", ""), []string{key}, "key in $ANTHROPIC_API_KEY"},
		{"KeyChosen", byKey, home, []string{key}, "key in $ANTHROPIC_API_KEY"},
		{"KeyChosenAndMissing", byKey, home, nil, "nothing pays for Claude Code: ANTHROPIC_API_KEY is not set"},
		{"LoginChosenAndMissing", byLogin, t.TempDir(), []string{key}, "nothing pays for Claude Code: ~/.claude/.credentials.json does not exist"},
		{"LocalServer", MustDelegate(t, "qwen", config.Sources{Env: []string{"OPENAI_BASE_URL=http://localhost:1/v1"}}), "", nil, "no key needed"},
		{"OwnKey", MustDelegate(t, "gemini", config.Sources{}), "", []string{"GEMINI_API_KEY=g"}, "key in $GEMINI_API_KEY"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := c.agent.Purse(c.home, lookUp(c.env...))
			got := p.String()
			if err != nil {
				got = err.Error()
				if pawl.CodeOf(err) != pawl.CodeKey {
					t.Errorf("code %s", pawl.CodeOf(err))
				}
			}
			if got != c.want || err == nil && p.Plan != (p.Kind == config.PurseLogin) {
				t.Errorf("got %q (%+v), want %q", got, p, c.want)
			}
		})
	}
}

// A run keeps to the kind of purse that it began with.
func TestPurseFor(t *testing.T) {
	home := MustLogin(t, claudeFile, claudeLogin)
	d := MustDelegate(t, "claude-code", config.Sources{})
	if p, err := d.PurseFor(false, home, lookUp("ANTHROPIC_API_KEY=k")); err != nil || p.Kind != config.PurseKey {
		t.Errorf("got %+v, %v", p, err)
	}
	if p, err := d.PurseFor(true, home, lookUp("ANTHROPIC_API_KEY=k")); err != nil || p.Kind != config.PurseLogin {
		t.Errorf("got %+v, %v", p, err)
	}
	if _, err := d.PurseFor(true, "", lookUp("ANTHROPIC_API_KEY=k")); err == nil || err.Error() != "the run began with a login of Claude Code, and now there is only a key" {
		t.Errorf("got %v", err)
	}
	if _, err := d.PurseFor(false, home, lookUp()); err == nil || err.Error() != "the run began with a key of Claude Code, and now there is only a login" {
		t.Errorf("got %v", err)
	}
	opencode := MustDelegate(t, "opencode", config.Sources{})
	if p, err := opencode.Purse(MustLogin(t, ".local/share/opencode/auth.json", `{"openai": {"type": "api"}}`), lookUp()); err != nil || p.Kind != config.PurseLogin || p.Plan {
		t.Errorf("a login with keys in it: %+v, %v", p, err)
	}
}

// The account of a login stays the same when the login is refreshed.
func TestAccountOfALogin(t *testing.T) {
	d := MustDelegate(t, "claude-code", config.Sources{})
	account := func(text string) pawl.Account {
		p, err := d.Purse(MustLogin(t, claudeFile, text), lookUp())
		if err != nil {
			t.Fatal(err)
		}
		return p.Account
	}
	first := account(claudeLogin)
	if first.Provider != "claude-code" || first.Address != "" || len(first.Key) != 12 {
		t.Errorf("got %+v", first)
	}
	if again := account(strings.ReplaceAll(claudeLogin, `"a"`, `"new"`)); again != first {
		t.Errorf("refreshed: %+v, was %+v", again, first)
	}
	if other := account(strings.ReplaceAll(claudeLogin, `"u"`, `"v"`)); other == first {
		t.Error("two accounts are one")
	}
	if _, ok := d.Login.Identify([]byte(`["claudeAiOauth"]`)); ok {
		t.Error("a list is a login")
	}
}

// Without a key and a chosen model, the models are those of an agent that is installed.
func TestInstalledAgent(t *testing.T) {
	programs := func(names ...string) func(string) string {
		return func(name string) string {
			if slices.Contains(names, name) {
				return "/usr/bin/" + name
			}
			return ""
		}
	}
	loggedIn := "HOME=" + MustLogin(t, claudeFile, claudeLogin)
	codexHome := "HOME=" + MustLogin(t, ".codex/auth.json", `{"tokens": {"refresh_token": "r", "account_id": "a"}}`)
	nobody := "HOME=" + t.TempDir()
	for _, c := range []struct {
		name     string
		programs func(string) string
		env      []string
		want     string // the models
		origin   string
	}{
		{"Claude", programs("claude", "codex"), []string{loggedIn}, "claude-code/haiku claude-code/sonnet claude-code/opus", "installed: claude"},
		{"FirstThatIsPaid", programs("claude", "codex"), []string{codexHome}, "codex/default codex/default codex/default", "installed: codex"},
		{"NothingPays", programs("codex", "opencode"), []string{nobody}, "codex/default codex/default codex/default", "installed: codex"},
		{"TableOnly", programs("goose", "codex-acp"), []string{nobody}, "anthropic/claude-haiku-5-5 anthropic/claude-sonnet-5-5 anthropic/claude-opus-5-5", "default"},
		{"Key", programs("claude"), []string{loggedIn, "OPENAI_API_KEY=k"}, "anthropic/claude-haiku-5-5 anthropic/claude-sonnet-5-5 anthropic/claude-opus-5-5", "default"},
		{"ChosenModel", programs("claude"), []string{loggedIn, "PAWL_MODEL=ollama/x"}, "ollama/x ollama/x ollama/x", "$PAWL_MODEL"},
		{"NotAsked", nil, []string{loggedIn}, "anthropic/claude-haiku-5-5 anthropic/claude-sonnet-5-5 anthropic/claude-opus-5-5", "default"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := MustLoad(t, config.Sources{Env: c.env, Program: c.programs})
			s, err := cfg.Settings()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range s.Models {
				got = append(got, m.Provider+"/"+m.Name)
				if want := m.Agent && c.env[0] != nobody; m.Plan != want {
					t.Errorf("a plan pays for %s: %v", m.Name, m.Plan)
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			for _, v := range cfg.Explain() {
				if v.Key == "models.fast" && v.Origin != c.origin {
					t.Errorf("they come from %q, want %q", v.Origin, c.origin)
				}
			}
		})
	}
}
