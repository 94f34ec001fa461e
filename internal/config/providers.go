package config

import (
	"fmt"
	"iter"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"pawl"
)

// Protocol is what a provider's server speaks.
type Protocol string

// The protocols. The scripted model speaks none.
const (
	Anthropic Protocol = "anthropic" // Anthropic's Messages
	Responses Protocol = "responses" // OpenAI's Responses
	Chat      Protocol = "chat"      // OpenAI's Chat Completions
)

// Provider is who answers model calls and how it is reached. The settings say
// BaseURL, where the key is, and File; the rest is a matter of the provider.
type Provider struct {
	Name     string
	Protocol Protocol
	// BaseURL is the server's address; empty means Home.
	BaseURL string
	KeyEnv  string // the variable that holds the key; empty: no key
	// KeyFile, KeyCommand and Keyring say where the key is if it is not in a variable; see
	// [KeySource]. At most one of them is set.
	KeyFile, KeyCommand, Keyring string
	File                         string // of the scripted model
	// Home is the provider's own address.
	Home string
	// KeyPath is a path below the address that only a valid key can get, where
	// everyone can get the list of models.
	KeyPath string
	// Local reports a server that its user runs and that takes no money.
	Local bool
	// Start is the command that starts the server and Fetch the one that gives it a
	// model; NAME in them stands for the model. Both may be empty.
	Start, Fetch string

	addressEnv string                    // the variable in which the provider's own programs look for the address
	address    func(value string) string // what its value stands for; nil = itself
}

// providers returns all providers, in the order in which they are listed.
func providers() []Provider {
	return []Provider{
		{Name: "anthropic", Protocol: Anthropic, Home: "https://api.anthropic.com", KeyEnv: "ANTHROPIC_API_KEY", addressEnv: "ANTHROPIC_BASE_URL"},
		{Name: "openai", Protocol: Responses, Home: "https://api.openai.com/v1", KeyEnv: "OPENAI_API_KEY", addressEnv: "OPENAI_BASE_URL"},
		{Name: "openai-chat", Protocol: Chat, Home: "https://api.openai.com/v1", KeyEnv: "OPENAI_API_KEY", addressEnv: "OPENAI_BASE_URL"},
		{Name: "openrouter", Protocol: Chat, Home: "https://openrouter.ai/api/v1", KeyEnv: "OPENROUTER_API_KEY", KeyPath: "key"},
		{Name: "ollama", Protocol: Chat, Home: "http://127.0.0.1:11434/v1", Local: true,
			Start: "ollama serve", Fetch: "ollama pull NAME", addressEnv: "OLLAMA_HOST", address: ollamaAddress},
		{Name: "lmstudio", Protocol: Chat, Home: "http://127.0.0.1:1234/v1", Local: true, Start: "lms server start", Fetch: "lms get NAME"},
		{Name: "vllm", Protocol: Chat, Home: "http://127.0.0.1:8000/v1", Local: true, Start: "vllm serve NAME", Fetch: "vllm serve NAME"},
		{Name: "script"},
	}
}

// providerNames are the names of providers in a configuration.
var providerNames = func() []string {
	var names []string
	for _, p := range providers() {
		names = append(names, p.Name)
	}
	return names
}()

// Address returns the address of the server.
func (p Provider) Address() string {
	if p.BaseURL != "" {
		return p.BaseURL
	}
	return p.Home
}

// addressIn returns the address that the provider's own variable has in an environment; it is
// empty when the variable is not set.
func (p Provider) addressIn(env []string) string {
	for _, v := range slices.Backward(env) {
		if name, value, _ := strings.Cut(v, "="); name == p.addressEnv && name != "" && strings.TrimSpace(value) != "" {
			if p.address != nil {
				return p.address(value)
			}
			return value
		}
	}
	return ""
}

// Near reports whether the server is on this machine or in a private network.
func (p Provider) Near() bool {
	u, err := url.Parse(p.Address())
	return err == nil && u.Host != "" && near(u.Hostname())
}

// NeedsKey reports whether the server certainly wants a key. One that is only
// compatible with OpenAI's may want none.
func (p Provider) NeedsKey() bool {
	return p.Key() != (KeySource{}) && (p.Address() == p.Home || p.Protocol == Anthropic)
}

// Key returns where the provider's key is.
func (p Provider) Key() KeySource {
	return KeySource{Env: p.KeyEnv, File: p.KeyFile, Command: p.KeyCommand, Keyring: p.Keyring}
}

// free reports whether a call takes no money unless the user gives a price: the
// server is the user's own. Someone else may charge for what speaks its protocol.
func (p Provider) free() bool { return p.Name == "script" || p.Local && p.Near() }

// MissingKey returns the first of the models that needs a key which the environment does not
// have, and the variable that should hold it. Both are empty when no key is missing. A key that
// is stored elsewhere is taken to be there.
func (c *Config) MissingKey(models []pawl.ModelChoice, getenv func(string) string) (m pawl.ModelChoice, keyEnv string) {
	for _, m := range models {
		if p := c.Provider(m.Provider); p.NeedsKey() && !p.Key().Stored() && getenv(p.KeyEnv) == "" {
			return m, p.KeyEnv
		}
	}
	return pawl.ModelChoice{}, ""
}

// ByProvider goes through the providers of models, each with the names of its models.
func ByProvider(models []pawl.ModelChoice) iter.Seq2[string, []string] {
	return func(yield func(string, []string) bool) {
		var done []string
		for _, m := range models {
			if slices.Contains(done, m.Provider) {
				continue
			}
			done = append(done, m.Provider)
			var names []string
			for _, n := range models {
				if n.Provider == m.Provider && !slices.Contains(names, n.Name) {
					names = append(names, n.Name)
				}
			}
			if !yield(m.Provider, names) {
				return
			}
		}
	}
}

// Local returns the providers whose servers the user runs.
func (c *Config) Local() []Provider {
	var out []Provider
	for _, name := range providerNames {
		if p := c.Provider(name); p.Local {
			out = append(out, p)
		}
	}
	return out
}

// AddressVariables returns the variables in which other programs keep the addresses of
// providers.
func AddressVariables() []string { return slices.Clone(addressVariables()) }

var addressVariables = sync.OnceValue(func() []string {
	var out []string
	for _, p := range providers() {
		if p.addressEnv != "" && !slices.Contains(out, p.addressEnv) {
			out = append(out, p.addressEnv)
		}
	}
	return out
})

// Lend returns the variables of environ that set how providers are reached, for those providers
// whose keys are in variables and of which borrower sets nothing. A provider is lent whole, so
// that the borrower never sends a borrowed key to an address of its own, nor its own key to a
// borrowed address. Providers that share a variable are lent together or not at all.
func (c *Config) Lend(environ, borrower []string) []string {
	uses := c.variables()
	kept := map[string]bool{} // by variable: it is not lent
	for name, variables := range uses {
		own := slices.ContainsFunc(variables, func(v string) bool { return Variable(borrower, v) != "" })
		p := c.Provider(name)
		if d, ok := c.Delegate(name); ok {
			p = d.server
		}
		if own || p.Key().Stored() {
			for _, v := range variables {
				kept[v] = true
			}
		}
	}
	for spreads := true; spreads; {
		spreads = false
		for _, variables := range uses {
			isKept := func(v string) bool { return kept[v] }
			if !slices.ContainsFunc(variables, isKept) {
				continue
			}
			for _, v := range variables {
				spreads = spreads || !kept[v]
				kept[v] = true
			}
		}
	}
	var out []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		used := func(variables []string) bool { return slices.Contains(variables, name) }
		if !kept[name] && slices.ContainsFunc(slices.Collect(maps.Values(uses)), used) {
			out = append(out, kv)
		}
	}
	return out
}

// variables returns, by provider, the variables that say how it is reached: its settings', its
// key's, and the one in which its own programs look for the address. Of coding agents with keys of
// their own it returns those of the keys.
func (c *Config) variables() map[string][]string {
	out := map[string][]string{}
	for variable, path := range settingVariables() {
		if rest, ok := strings.CutPrefix(path, "providers."); ok {
			name, _, _ := strings.Cut(rest, ".")
			out[name] = append(out[name], variable)
		}
	}
	for name := range out {
		p := c.Provider(name)
		for _, v := range []string{p.KeyEnv, p.addressEnv} {
			if v != "" {
				out[name] = append(out[name], v)
			}
		}
	}
	for i := range c.values.delegates {
		if d := &c.values.delegates[i]; d.Key != nil && d.Key.KeyEnv != "" {
			out[d.Name] = []string{d.Key.KeyEnv}
		}
	}
	return out
}

// ollamaAddress returns the address that a value of OLLAMA_HOST means. Ollama takes HOST,
// HOST:PORT and a URL, whose port then defaults to that of its scheme. A server that listens
// at every address of the machine is reached at loopback.
func ollamaAddress(value string) string {
	scheme, rest, found := strings.Cut(strings.Trim(strings.TrimSpace(value), `"' `), "://")
	usual := map[string]string{"http": "80", "https": "443"}[scheme]
	if !found {
		scheme, rest, usual = "http", scheme, "11434"
	}
	rest = strings.TrimRight(rest, "/")
	hostPort, path, _ := strings.Cut(rest, "/")
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		host, port = strings.Trim(hostPort, "[]"), usual
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		port = usual
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip.Is6() {
			host = "::1"
		}
	}
	if path != "" {
		path += "/"
	}
	return fmt.Sprintf("%s://%s/%sv1", scheme, net.JoinHostPort(host, port), path)
}
