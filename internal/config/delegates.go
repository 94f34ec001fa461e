package config

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"pawl"
	"pawl/internal/egress"
	"pawl/internal/pattern"
	"pawl/internal/strictyaml"
)

// Delegate is a coding agent that a user may have installed, and how it is run. As a provider, its
// models are written NAME/MODEL, such as claude-code/sonnet.
type Delegate struct {
	// Name is its name as a provider; Title is what people call it.
	Name  string `json:"name"`
	Title string `json:"title"`
	// Untested reports that the entry was never run.
	Untested bool             `json:"untested,omitempty"`
	Protocol DelegateProtocol `json:"protocol"`
	// Command is the program and arguments that precede all others. A program without a slash is
	// looked up on PATH; it may be a script.
	Command []string `json:"command"`
	// VersionArgs make the program print its version. Entries are known to work from MinVersion up
	// to, but not including, BelowVersion; empty means that there is no bound.
	VersionArgs  []string `json:"version_args"`
	MinVersion   string   `json:"min_version,omitempty"`
	BelowVersion string   `json:"below_version,omitempty"`
	// Provider is whose models its names mean, and whose key and address it uses unless Key says
	// otherwise; empty means that no provider is known.
	Provider string `json:"provider,omitempty"`
	// Aliases are names of models that the provider has under another name. They matter for prices.
	Aliases map[string]string `json:"aliases,omitempty"`
	// Tiers are the models of the three tiers when Pawl chooses the agent by itself; see [Load].
	// Without them it never does.
	Tiers [3]string `json:"tiers"`
	// MaxOutput is the most tokens that a reply of its models has; zero means the usual number.
	MaxOutput int `json:"max_output,omitempty"`
	// Setup holds whoever pays.
	Setup
	// Key says how the agent is given a key, and Login how it is given the user's login. At least one
	// is set.
	Key   *DelegateKey   `json:"key,omitempty"`
	Login *DelegateLogin `json:"login,omitempty"`
	// Pays is the user's choice between them.
	Pays PurseKind `json:"purse"`
	// Modes are the ids of the session modes to set, by access. Only for [ProtocolACP].
	Modes map[pawl.AgentAccess]string `json:"modes,omitempty"`
	// Meta is the _meta field of requests that open a session. Only for [ProtocolACP].
	Meta json.RawMessage `json:"meta,omitempty"`
	// Hides reports that the agent does not show all of its tool calls.
	Hides bool `json:"hides,omitempty"`
	// Hide are files and folders of the work tree that its room must not show, because it would run what
	// they say.
	Hide []string `json:"hide,omitempty"`
	// Hears reports that it can receive messages in the middle of a turn.
	Hears bool `json:"hears,omitempty"`

	server Provider // with its key; set by [Config.Delegate]
}

// DelegateProtocol is how an agent is driven.
type DelegateProtocol string

// The protocols of agents.
const (
	ProtocolClaude DelegateProtocol = "claude" // claude -p with stream-json
	ProtocolCodex  DelegateProtocol = "codex"  // codex exec --json
	ProtocolACP    DelegateProtocol = "acp"    // Agent Client Protocol
)

// Setup is what an agent is given. Its texts have placeholders until [Delegate.SetupFor] fills them in:
// {gateway}, {token}, {model}, {method} and {home}.
type Setup struct {
	// Args follow the command.
	Args []string `json:"args,omitempty"`
	// Settings are settings for the option -c of [ProtocolCodex].
	Settings []string `json:"settings,omitempty"`
	// Environ are variables, as NAME=value.
	Environ []string `json:"environ,omitempty"`
	// Files are written to the agent's home.
	Files []DelegateFile `json:"files,omitempty"`
	// Model is the agent's name of the model, for [pawl.AgentTurn]. Empty means that arguments, variables
	// or files name it.
	Model string `json:"model,omitempty"`
	// NeedsModel reports that the agent cannot choose a model itself.
	NeedsModel bool `json:"needs_model,omitempty"`
	// Method is the id of the authentication method to use if the agent asks for one.
	Method string `json:"method,omitempty"`
}

// DelegateFile is a file in an agent's home.
type DelegateFile struct {
	Path string `json:"path"` // relative to the home, with slashes
	Text string `json:"text"`
}

// DelegateKey is how an agent is given a key: it is given a token, and the gateway replaces it by the
// key.
type DelegateKey struct {
	// Address is where the gateway forwards requests; empty means the provider's address.
	Address string `json:"address,omitempty"`
	// KeyEnv, KeyFile, KeyCommand and Keyring say where the key is if it is not the provider's.
	KeyEnv     string `json:"key_env,omitempty"`
	KeyFile    string `json:"key_file,omitempty"`
	KeyCommand string `json:"key_command,omitempty"`
	Keyring    string `json:"keyring,omitempty"`
	Setup
}

// DelegateLogin is how an agent is given the login of its user: as a file in its home.
type DelegateLogin struct {
	// File is the file that holds the login, relative to the home, with slashes.
	File string `json:"file"`
	// Moved is the path of the file if a variable moves the agent's folder, as VARIABLE/PATH.
	// In the agent's home it is at File even then.
	Moved string `json:"moved,omitempty"`
	// Needs are paths in the file's JSON, with dots between keys. A file that has none of them holds no
	// login. Without paths, every JSON object that is not empty does.
	Needs []string `json:"needs,omitempty"`
	// Account are paths of values that identify the account and stay the same when the login is
	// refreshed.
	Account []string `json:"account,omitempty"`
	// Hosts are the hosts that the agent must reach, as rules of the egress proxy.
	Hosts []string `json:"hosts"`
	// Metered reports that no plan pays: turns cost money.
	Metered bool `json:"metered,omitempty"`
	Setup
}

// DefaultModel is the name of the model that an agent chooses itself.
const DefaultModel = "default"

// delegatesJSON is made of delegates.yaml by go test ./internal/config -update: it is read in a tenth of the
// time, and every command that asks a daemon needs it.
//
//go:embed delegates.json
var delegatesJSON []byte

// knownDelegates are the entries of the embedded table. They must not be changed; see [Delegate.clone].
var knownDelegates = sync.OnceValue(func() []Delegate {
	var out []Delegate
	if err := json.Unmarshal(delegatesJSON, &out); err != nil {
		panic(err) // the table is part of the program
	}
	return out
})

// ReadTables reads the tables that the first [Load] of a process reads otherwise. It may be
// called concurrently with anything.
func ReadTables() {
	knownDelegates()
	settingVariables()
}

// builtinDelegates returns the entries of the embedded table.
func builtinDelegates() []Delegate {
	var out []Delegate
	for _, d := range knownDelegates() {
		out = append(out, d.clone())
	}
	return out
}

// clone returns a copy for a configuration to read over. Lists are shared: they are only ever replaced.
func (d *Delegate) clone() Delegate {
	c := *d
	if d.Key != nil {
		key := *d.Key
		c.Key = &key
	}
	if d.Login != nil {
		login := *d.Login
		c.Login = &login
	}
	c.Modes = map[pawl.AgentAccess]string{}
	for access, mode := range d.Modes {
		c.Modes[access] = mode
	}
	return c
}

// delegateNames returns the names of all agents; before any table was read, those of the built-in ones.
func (v *values) delegateNames() []string {
	list := v.delegates
	if list == nil && v.providers == nil { // the keys are being described
		list = knownDelegates()
	}
	var names []string
	for i := range list {
		names = append(names, list[i].Name)
	}
	return names
}

// modelProviders returns the names that may stand before the name of a model.
func (v *values) modelProviders() []string { return slices.Concat(providerNames, v.delegateNames()) }

// delegate returns the agent of that name, or nil.
func (v *values) delegate(name string) *Delegate {
	for i := range v.delegates {
		if v.delegates[i].Name == name {
			return &v.delegates[i]
		}
	}
	return nil
}

func (v *values) delegateFields(m *strictyaml.Map) {
	strictyaml.Named(m.Key("delegates", "Coding agents, by name. An entry replaces single keys of the built-in entry of its name. Only in your own file."),
		"delegate", &v.delegates, func(d *Delegate) *string { return &d.Name }, readDelegate)
	for i := range v.delegates {
		v.delegates[i].check(m)
	}
}

func readDelegate(m *strictyaml.Map, d *Delegate) {
	m.Key("title", "What people call it; by default its name.").Text(&d.Title)
	m.Key("untested", "Whether the entry was never run.").Bool(&d.Untested)
	m.Key("protocol", "How it is driven: as Claude Code, as Codex, or by the Agent Client Protocol.").
		Word((*string)(&d.Protocol), string(ProtocolClaude), string(ProtocolCodex), string(ProtocolACP))
	m.Key("command", "The program, which is looked up on PATH, and arguments that precede all others.").Texts(&d.Command)
	m.Key("purse", "What pays for its turns: its login, a key, or the login if there is one (`auto`).").
		Word((*string)(&d.Pays), string(PurseAuto), string(PurseLogin), string(PurseKey))
	m.Key("version", "The versions that are known to work. Others get a warning.").Map(func(m *strictyaml.Map) {
		m.Key("args", "The arguments with which the program prints its version.").Texts(&d.VersionArgs)
		m.Key("min", "The first version that works.").Match(&d.MinVersion, versionPattern, aVersion)
		m.Key("below", "The first version that is not known to work.").Match(&d.BelowVersion, versionPattern, aVersion)
	})
	m.Key("provider", "The provider whose models it calls, and whose key and address it uses.").Word(&d.Provider, providerNames...)
	aliases := pairs(d.Aliases)
	m.Key("aliases", "Its names for models that have another name at the provider, for prices: ALIAS=MODEL.").Texts(&aliases)
	d.Aliases = readPairs(m, "aliases", aliases)
	m.Key("tiers", "Its models for the three tiers if Pawl chooses it because there is no key and no chosen model; without them it is never chosen.").Map(func(m *strictyaml.Map) {
		for i, name := range tierNames {
			m.Key(name, "The model of tier "+strconv.Itoa(i+1)+".").Text(&d.Tiers[i])
		}
	})
	m.Key("max_output", "The most tokens in one reply of its models.").Int(&d.MaxOutput, 1024, 1_000_000)
	m.Key("modes", "Session modes of the Agent Client Protocol to set.").Map(func(m *strictyaml.Map) {
		for _, access := range []pawl.AgentAccess{pawl.AgentReads, pawl.AgentWrites} {
			mode := d.Modes[access]
			m.Key(string(access), "If the agent may "+string(access)+".").Text(&mode)
			if mode != "" {
				if d.Modes == nil {
					d.Modes = map[pawl.AgentAccess]string{}
				}
				d.Modes[access] = mode
			}
		}
	})
	meta := string(d.Meta)
	m.Key("meta", "The _meta field of requests that open a session, as JSON.").Text(&meta)
	switch {
	case json.Valid([]byte(meta)):
		d.Meta = json.RawMessage(meta)
	case meta != "":
		m.Problem("meta", "want JSON, such as {\"key\": true}")
	}
	m.Key("hides", "Whether it does not show all of its tool calls.").Bool(&d.Hides)
	m.Key("hide", "Files and folders of the repository that it must not see, because it would run what they say.").Texts(&d.Hide)
	for _, name := range d.Hide {
		checkInside(m, "hide", name)
	}
	m.Key("hears", "Whether it can receive messages in the middle of a turn.").Bool(&d.Hears)
	readSetup(m, &d.Setup)
	strictyaml.Sub(m.Key("key", "How it is given a key: through a gateway, with a token in place of the key."), "delegate_key", &d.Key, readDelegateKey)
	strictyaml.Sub(m.Key("login", "How it is given your login."), "delegate_login", &d.Login, readDelegateLogin)
}

const (
	versionPattern = `^[0-9]{1,9}(\.[0-9]{1,9}){1,3}$`
	aVersion       = "a version such as 1.2.3"
)

func readSetup(m *strictyaml.Map, s *Setup) {
	m.Key("args", "Arguments that follow the command.").Texts(&s.Args)
	m.Key("settings", "Settings for Codex's option -c.").Texts(&s.Settings)
	m.Key("environ", "Variables, as NAME=VALUE.").Texts(&s.Environ)
	for _, kv := range s.Environ {
		if !environPattern.MatchString(kv) {
			name, _, _ := strings.Cut(kv, "=")
			m.Problem("environ", "want NAME=VALUE, and %q is not the name of a variable", name)
		}
	}
	strictyaml.List(m.Key("files", "Files in its home."), "delegate_file", &s.Files, func(m *strictyaml.Map, f *DelegateFile) {
		m.Need("path", "The path, relative to the home.").Text(&f.Path)
		m.Need("text", "The content.").Text(&f.Text)
		checkInside(m, "path", f.Path)
	})
	m.Key("model", "Its name of the model in the protocol; by default it is not named there.").Text(&s.Model)
	m.Key("needs_model", "Whether it cannot choose a model itself.").Bool(&s.NeedsModel)
	m.Key("method", "The id of the authentication method.").Text(&s.Method)
}

var environPattern = pattern.Of(`^[A-Za-z_][A-Za-z0-9_]*=`)

func readDelegateKey(m *strictyaml.Map, k *DelegateKey) {
	m.Key("address", "Where the gateway forwards requests; by default the provider's address.").Text(&k.Address)
	if err := checkURL(k.Address); err != nil {
		m.Problem("address", "%s", err)
	}
	k.Address = canonicalURL(k.Address)
	readKey(m, keyPlaces{&k.KeyEnv, &k.KeyFile, &k.KeyCommand, &k.Keyring}, "the provider's")
	readSetup(m, &k.Setup)
}

func readDelegateLogin(m *strictyaml.Map, l *DelegateLogin) {
	m.Key("file", "The file that holds the login, relative to your home.").Text(&l.File)
	checkInside(m, "file", l.File)
	m.Key("moved", "Where the file is if a variable is set that moves the agent's folder: VARIABLE/PATH.").Match(&l.Moved, `^[A-Z_][A-Z0-9_]*/.+$`, "VARIABLE/PATH")
	m.Key("needs", "Paths in the file's JSON, such as `tokens.access_token`: a file that has none of them holds no login.").Texts(&l.Needs)
	m.Key("account", "Paths of values that identify the account.").Texts(&l.Account)
	m.Key("hosts", "Hosts that the agent must reach, as HOST:PORT.").Texts(&l.Hosts)
	if _, err := egress.ParseAll(l.Hosts); err != nil {
		m.Problem("hosts", "%s", err)
	}
	m.Key("metered", "Whether turns cost money although there is a login.").Bool(&l.Metered)
	readSetup(m, &l.Setup)
}

// checkInside reports a path that leaves the folder that it is relative to.
func checkInside(m *strictyaml.Map, key, name string) {
	if name != "" && (path.IsAbs(name) || path.Clean(name) != name || name == ".." || strings.HasPrefix(name, "../")) {
		m.Problem(key, "want a path that stays inside, such as .agent/settings.json")
	}
}

// pairs returns a map as texts NAME=VALUE.
func pairs(of map[string]string) []string {
	var out []string
	for _, k := range sorted(of) {
		out = append(out, k+"="+of[k])
	}
	return out
}

// readPairs returns texts NAME=VALUE as a map.
func readPairs(m *strictyaml.Map, key string, list []string) map[string]string {
	if len(list) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, text := range list {
		name, value, _ := strings.Cut(text, "=")
		if name == "" || value == "" {
			m.Problem(key, "want NAME=VALUE, got %q", text)
			continue
		}
		out[name] = value
	}
	return out
}

// check completes an entry and reports what it lacks or has no use for.
func (d *Delegate) check(m *strictyaml.Map) {
	if d.Title == "" {
		d.Title = d.Name
	}
	if d.Pays == "" {
		d.Pays = PurseAuto
	}
	if d.VersionArgs == nil {
		d.VersionArgs = []string{"--version"}
	}
	problem := func(key, format string, args ...any) {
		at := "delegates." + d.Name
		if key != "" {
			at += "." + key
		}
		m.Problem(at, format, args...)
	}
	acp := d.Protocol == ProtocolACP
	codex := d.Protocol == ProtocolCodex
	settings := len(d.Settings) > 0 || d.Key != nil && len(d.Key.Settings) > 0 || d.Login != nil && len(d.Login.Settings) > 0
	switch {
	case slices.Contains(providerNames, d.Name):
		problem("", "there is a provider of this name; choose another one")
	case d.Protocol == "":
		problem("protocol", "is missing: claude, codex or acp")
	case len(d.Command) == 0:
		problem("command", "is missing")
	case d.Key == nil && d.Login == nil:
		problem("", "has neither key nor login, so nothing could pay for it")
	case d.Key != nil && d.Provider == "" && d.Key.Address == "":
		problem("key", "needs an address, or a provider whose address it uses")
	case d.Provider == "script":
		problem("provider", "an agent cannot call the scripted model")
	case d.Login != nil && d.Login.File == "":
		problem("login", "file is missing")
	case d.Login != nil && len(d.Login.Hosts) == 0:
		problem("login", "hosts is missing: without them the agent reaches nobody")
	case d.Pays == PurseKey && d.Key == nil:
		problem("purse", "%s cannot be given a key", d.Title)
	case d.Pays == PurseLogin && d.Login == nil:
		problem("purse", "%s cannot be given a login", d.Title)
	case !acp && len(d.Meta) > 0:
		problem("meta", "is for the protocol acp only")
	case !acp && len(d.Modes) > 0:
		problem("modes", "are for the protocol acp only")
	case !codex && settings:
		problem("settings", "are for the protocol codex only")
	}
}

// Delegate returns the agent of that name.
func (c *Config) Delegate(name string) (Delegate, bool) {
	d := c.values.delegate(name)
	if d == nil {
		return Delegate{}, false
	}
	out := d.clone()
	out.server = c.values.providers[d.Provider]
	if k := d.Key; k != nil {
		if k.Address != "" {
			out.server.BaseURL = k.Address
		}
		if (KeySource{Env: k.KeyEnv, File: k.KeyFile, Command: k.KeyCommand, Keyring: k.Keyring}) != (KeySource{}) {
			out.server.KeyEnv, out.server.KeyFile, out.server.KeyCommand, out.server.Keyring = k.KeyEnv, k.KeyFile, k.KeyCommand, k.Keyring
		}
	}
	return out, true
}

// Server returns the server that calls go to if a key pays, and where its key is. It may have no name.
func (d *Delegate) Server() Provider { return d.server }

// Delegates returns all agents: the built-in ones in the order of the table, then the user's.
func (c *Config) Delegates() []Delegate {
	var out []Delegate
	for _, name := range c.values.delegateNames() {
		d, _ := c.Delegate(name)
		out = append(out, d)
	}
	return out
}

// Filling is what placeholders of a [Setup] stand for. Model may be empty or [DefaultModel].
type Filling struct{ Gateway, Token, Model, Home string }

// SetupFor returns what the agent is given if this purse pays, with placeholders filled in. What holds
// {model} is left out of lists if the agent chooses its model itself; an option before such an argument
// is left out with it.
func (d *Delegate) SetupFor(kind PurseKind, with Filling) Setup {
	own := Setup{}
	switch {
	case kind == PurseKey && d.Key != nil:
		own = d.Key.Setup
	case kind == PurseLogin && d.Login != nil:
		own = d.Login.Setup
	}
	if with.Model == DefaultModel {
		with.Model = ""
	}
	out := Setup{Model: d.Model, Method: d.Method, NeedsModel: d.NeedsModel || own.NeedsModel}
	if own.Model != "" {
		out.Model = own.Model
	}
	if own.Method != "" {
		out.Method = own.Method
	}
	stands := []string{"{gateway}", with.Gateway, "{token}", with.Token, "{model}", with.Model, "{method}", out.Method, "{home}", with.Home}
	plain := strings.NewReplacer(stands...)
	for i := 1; i < len(stands); i += 2 {
		stands[i] = quoted(stands[i])
	}
	escaped := strings.NewReplacer(stands...)
	fill := func(list []string, r *strings.Replacer) (out []string) {
		for i, text := range list {
			switch {
			case with.Model != "" || !strings.Contains(text, "{model}"):
				out = append(out, r.Replace(text))
			case i > 0 && strings.HasPrefix(list[i-1], "-") && len(out) > 0:
				out = out[:len(out)-1]
			}
		}
		return out
	}
	out.Args = fill(slices.Concat(d.Args, own.Args), plain)
	out.Settings = fill(slices.Concat(d.Settings, own.Settings), escaped)
	out.Environ = fill(slices.Concat(d.Environ, own.Environ), plain)
	for _, f := range slices.Concat(d.Files, own.Files) {
		out.Files = append(out.Files, DelegateFile{f.Path, escaped.Replace(f.Text)})
	}
	if with.Model == "" && strings.Contains(out.Model, "{model}") {
		out.Model = ""
	}
	out.Model = plain.Replace(out.Model)
	return out
}

// quoted returns text as it stands within a string of JSON or TOML.
func quoted(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // strings can always be encoded
	return strings.TrimSuffix(b.String(), "\"\n")[1:]
}

var versionIn = pattern.Of(`[0-9]+(\.[0-9]+){1,3}`)

// Version finds the version in what the program prints; empty means that there is none.
func (d *Delegate) Version(output string) string {
	for line := range strings.Lines(output) { // warnings may precede it
		if v := versionIn.FindString(line); v != "" && !strings.Contains(line, "WARN") {
			return v
		}
	}
	return ""
}

// Knows reports whether a version is within the range that is known to work.
func (d *Delegate) Knows(version string) bool {
	return version != "" && !d.Untested && (d.MinVersion == "" || compareVersions(version, d.MinVersion) >= 0) &&
		(d.BelowVersion == "" || compareVersions(version, d.BelowVersion) < 0)
}

// compareVersions compares versions number by number; what one lacks is zero.
func compareVersions(a, b string) int {
	left, right := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(left), len(right)) {
		var x, y int
		if i < len(left) {
			x, _ = strconv.Atoi(left[i])
		}
		if i < len(right) {
			y, _ = strconv.Atoi(right[i])
		}
		if x != y {
			return x - y
		}
	}
	return 0
}

// chooseInstalled chooses the models of a coding agent if nobody chose others and no key is there.
func (c *Config) chooseInstalled(src Sources) {
	v := &c.values
	if src.Program == nil {
		return
	}
	for path := range c.origins {
		if strings.HasPrefix(path, "models.") {
			return
		}
	}
	getenv := func(name string) string { return Variable(src.Env, name) }
	for _, p := range v.providers {
		if p.Key().Stored() || strings.TrimSpace(getenv(p.KeyEnv)) != "" {
			return
		}
	}
	var first *Delegate
	for i := range v.delegates {
		d, _ := c.Delegate(v.delegates[i].Name)
		if slices.Contains(d.Tiers[:], "") || src.Program(d.Command[0]) == "" {
			continue
		}
		purse, err := d.Purse(getenv("HOME"), getenv)
		works := err == nil && !slices.ContainsFunc(d.Tiers[:], func(model string) bool {
			return model == DefaultModel && d.SetupFor(purse.Kind, Filling{}).NeedsModel
		})
		if works || first == nil {
			first = &d
		}
		if works {
			break
		}
	}
	if first == nil {
		return
	}
	for i, tier := range tierNames {
		v.models[i] = model{provider: first.Name, name: first.Tiers[i]}
		c.origins["models."+tier] = strictyaml.Pos{Origin: "installed: " + path.Base(first.Command[0])}
	}
}

// plans finds out which of the models a plan pays for. What pays for nothing is reported by whoever
// starts a run.
func (c *Config) plans(environ []string) {
	getenv := func(name string) string { return Variable(environ, name) }
	for _, mo := range c.values.allModels() {
		if d, ok := c.Delegate(mo.provider); ok {
			purse, err := d.Purse(getenv("HOME"), getenv)
			mo.plan = err == nil && purse.Plan
		}
	}
}
