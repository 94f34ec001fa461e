package ecosystem

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/pattern"
)

// Client is what configures the package managers of whoever starts a run.
type Client struct {
	Environ []string // NAME=value
	Home    string
}

// Registries returns where the packages of a project come from, as the user's own clients are
// configured: egress rules for the hosts, such as "registry.npmjs.org:443", and variables that
// configure the clients in a room. Neither holds credentials. The notes say which credentials
// were left out, and which settings cannot be passed to clients in a room.
func Registries(p Project, user Client) (rules, variables, notes []string) {
	c := &client{home: user.Home, environ: map[string]string{}}
	for _, v := range user.Environ {
		if name, value, ok := strings.Cut(v, "="); ok {
			c.environ[name] = value
		}
	}
	var read []string
	for _, part := range p.Parts {
		e, found := find(part.Ecosystem)
		if !found || slices.Contains(read, e.name) {
			continue
		}
		read = append(read, e.name)
		if e.client == nil {
			c.allow(e.registries...)
			continue
		}
		c.defaults = e.registries
		e.client(c)
	}
	c.netrc()
	return c.rules, c.variables, c.notes
}

// IsClientVariable reports whether a variable of this name may configure where a package manager
// gets packages from, so that [Registries] reads it.
func IsClientVariable(name string) bool {
	for _, prefix := range []string{"npm_config_", "NPM_CONFIG_", "pnpm_config_", "PNPM_CONFIG_", "YARN_", "GO", "CARGO_", "PIP_", "UV_", "BUNDLE_", "COMPOSER_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// client reads one user's configuration.
type client struct {
	home     string
	environ  map[string]string
	defaults []string // the rules of the ecosystem that is read

	rules, variables, notes []string
}

func (c *client) allow(rules ...string)   { c.rules = addNew(c.rules, rules...) }
func (c *client) set(name, value string)  { c.variables = addNew(c.variables, name+"="+value) }
func (c *client) note(f string, a ...any) { c.notes = addNew(c.notes, fmt.Sprintf(f, a...)) }

func addNew(list []string, more ...string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// variable returns the first of the named variables that is set.
func (c *client) variable(names ...string) (name, value string) {
	for _, name := range names {
		if c.environ[name] != "" {
			return name, c.environ[name]
		}
	}
	return "", ""
}

// registry allows a registry that the user named in a place, and returns its
// address without credentials; empty when it is no address.
func (c *client) registry(place, address string) string {
	scheme := ""
	if s, rest, found := strings.Cut(address, "+"); found && s == "sparse" { // cargo's
		scheme, address = s+"+", rest
	}
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" {
		c.note("%s names a registry that is not an http address: rooms do not use it", place)
		return ""
	}
	if n, err := strconv.ParseUint(u.Port(), 10, 16); u.Port() != "" && (err != nil || n == 0) {
		c.note("%s names a registry at port %s, and there is no such port: rooms do not use it", place, u.Port())
		return ""
	}
	if u.User != nil {
		u.User = nil
		c.note("%s has credentials for %s: they are not passed to rooms", place, u.Hostname())
	}
	if u.RawQuery != "" || u.Fragment != "" { // some keep tokens there
		u.RawQuery, u.Fragment = "", ""
		c.note("%s has parameters in the address of %s: they are not passed to rooms", place, u.Hostname())
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		c.note("%s names %s on this machine: rooms cannot reach it; to let them, give it a name that the egress rule NAME:%s=127.0.0.1 maps to it", place, u.Host, port)
		return ""
	}
	c.allow(net.JoinHostPort(host, port))
	return scheme + u.String()
}

// text returns the beginning of a file below the user's home; empty when it cannot be read.
func (c *client) text(name string) string {
	if !filepath.IsAbs(name) {
		if c.home == "" {
			return ""
		}
		name = filepath.Join(c.home, filepath.FromSlash(name))
	}
	return folder{dir: os.DirFS(filepath.Dir(name))}.text(filepath.Base(name))
}

// display returns the name of a file as notes show it.
func display(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return "~/" + name
}

// setting is a line of a configuration file: "key = value" in a table.
type setting struct{ table, key, value string }

// settings reads the lines of INI, of npm's files and of what TOML and YAML these
// files have: tables, keys and texts. "key: value" is read too where yaml is true.
func settings(text string, yaml bool) []setting {
	var all []setting
	table, separator := "", "="
	if yaml {
		separator = ": "
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if !yaml && line[0] == '[' {
			table = strings.Trim(line, "[] \t")
			continue
		}
		// A key may have the separator in it: "BUNDLE_MIRROR__HTTPS://…: …", "@corp:registry=…".
		key, value, found := strings.Cut(line, separator)
		if !found {
			continue
		}
		all = append(all, setting{table, unquoted(key), unquoted(value)})
	}
	return all
}

var comment = pattern.Of(`\s+#.*$`)

func unquoted(s string) string {
	s = strings.TrimSpace(s)
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		if text, _, found := strings.Cut(s[1:], s[:1]); found {
			return text
		}
	}
	return comment.ReplaceAllString(s, "")
}

// expand replaces ${NAME} by the user's variable, as npm does.
func (c *client) expand(s string) string {
	return reference.ReplaceAllStringFunc(s, func(ref string) string {
		name := strings.TrimSuffix(strings.TrimPrefix(ref, "${"), "}")
		if value, ok := c.environ[name]; ok {
			return value
		}
		return ref
	})
}

var reference = pattern.Of(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`)

// npmRegistry returns the registry that npm and most of its relatives use; empty means the
// default one.
func (c *client) npmRegistry() string {
	file := ".npmrc"
	if _, name := c.variable("npm_config_userconfig", "NPM_CONFIG_USERCONFIG"); name != "" {
		file = name
	}
	place, address := c.variable("npm_config_registry", "NPM_CONFIG_REGISTRY", "pnpm_config_registry", "PNPM_CONFIG_REGISTRY")
	for _, s := range settings(c.text(file), false) {
		value := c.expand(s.value)
		switch scope, isScoped := strings.CutSuffix(s.key, ":registry"); {
		case s.key == "registry" && place == "":
			place, address = display(file), value
		case isScoped && strings.HasPrefix(scope, "@"):
			if c.registry(display(file), value) != "" {
				c.note("%s has a registry for %s: rooms may reach it, but the repository's .npmrc has to name it too", display(file), scope)
			}
		case strings.HasPrefix(s.key, "//") && isSecret(s.key):
			host, _, _ := strings.Cut(strings.TrimPrefix(s.key, "//"), "/")
			c.note("%s has a token for %s: credentials are not passed to rooms", display(file), host)
		}
	}
	if address == "" {
		return ""
	}
	return c.registry(place, address)
}

func isSecret(key string) bool {
	_, name, _ := strings.Cut(key, ":")
	return slices.Contains([]string{"_authToken", "_auth", "_password", "username", "certfile", "keyfile"}, name)
}

func (c *client) npm() {
	address := c.npmRegistry()
	if address == "" {
		c.allow(c.defaults...)
		return
	}
	c.set("npm_config_registry", address)
	c.set("pnpm_config_registry", address) // pnpm 11 and later
	c.set("BUN_CONFIG_REGISTRY", address)
}

func (c *client) yarn() {
	place, address := c.variable("YARN_NPM_REGISTRY_SERVER", "YARN_REGISTRY")
	for _, s := range settings(c.text(".yarnrc.yml"), true) {
		switch {
		case s.key == "npmRegistryServer" && place == "":
			place, address = "~/.yarnrc.yml", c.expand(s.value)
		case s.key == "npmAuthToken" || s.key == "npmAuthIdent":
			c.note("~/.yarnrc.yml has a token: credentials are not passed to rooms")
		}
	}
	if address != "" {
		address = c.registry(place, address)
	} else {
		address = c.npmRegistry()
	}
	if address == "" {
		c.allow(c.defaults...)
		return
	}
	c.set("YARN_NPM_REGISTRY_SERVER", address) // yarn 2 and later
	c.set("YARN_REGISTRY", address)            // yarn 1
	c.set("npm_config_registry", address)
}

func (c *client) golang() {
	place, list := c.variable("GOPROXY")
	sumPlace, sum := c.variable("GOSUMDB")
	file := filepath.Join(".config", "go", "env")
	if dir := c.environ["XDG_CONFIG_HOME"]; filepath.IsAbs(dir) {
		file = filepath.Join(dir, "go", "env")
	}
	if name := c.environ["GOENV"]; filepath.IsAbs(name) {
		file = name
	}
	for _, s := range settings(c.text(file), false) {
		switch {
		case s.key == "GOPROXY" && place == "":
			place, list = display(file), s.value
		case s.key == "GOSUMDB" && sumPlace == "":
			sumPlace, sum = display(file), s.value
		case slices.Contains([]string{"GOPRIVATE", "GONOPROXY", "GONOSUMDB"}, s.key) && c.environ[s.key] == "":
			c.set(s.key, s.value) // a room has those of the environment
		}
	}
	if list == "" {
		c.allow(c.defaults...)
	}
	// A list is tried in order: "," goes on when a module is not found, "|" after any error.
	clean, rest := "", list
	for rest != "" {
		entry, separator := rest, ""
		if i := strings.IndexAny(rest, ",|"); i >= 0 {
			entry, separator, rest = rest[:i], rest[i:i+1], rest[i+1:]
		} else {
			rest = ""
		}
		entry = strings.TrimSpace(entry)
		if entry != "direct" && entry != "off" {
			if entry = c.registry(place, entry); entry == "" {
				continue
			}
		}
		clean += entry + separator
	}
	if clean = strings.TrimRight(clean, ",|"); clean != "" {
		c.set("GOPROXY", clean)
	}
	switch name, address, _ := strings.Cut(sum, " "); {
	case sum == "off":
	case address != "":
		if sum = c.registry(sumPlace, address); sum != "" {
			sum = name + " " + sum
		}
	case name != "":
		c.allow(strings.Split(name, "+")[0] + ":443")
	default:
		c.allow("sum.golang.org:443")
	}
	if sum != "" && sumPlace != "GOSUMDB" {
		c.set("GOSUMDB", sum)
	}
}

func (c *client) cargo() {
	type source struct{ registry, replace, place string }
	sources := map[string]source{}
	var alternatives []setting // registries that are used by name
	file := ".cargo/config.toml"
	if home := c.environ["CARGO_HOME"]; filepath.IsAbs(home) {
		file = filepath.Join(home, "config.toml")
	}
	text := c.text(file)
	if text == "" {
		file = strings.TrimSuffix(file, ".toml") // its older name
		text = c.text(file)
	}
	for _, s := range settings(text, false) {
		kind, name, _ := strings.Cut(s.table, ".")
		name = strings.Trim(name, `"'`)
		switch {
		case kind == "source":
			at := sources[name]
			switch s.key {
			case "registry":
				at.registry, at.place = s.value, display(file)
			case "replace-with":
				at.replace = s.value
			}
			sources[name] = at
		case kind == "registries" && s.key == "index":
			alternatives = append(alternatives, setting{display(file), name, s.value})
		case s.key == "token":
			c.note("%s has a token: credentials are not passed to rooms", display(file))
		}
	}
	for name, value := range c.environ {
		if registry, ok := strings.CutPrefix(name, "CARGO_REGISTRIES_"); ok {
			if registry, isIndex := strings.CutSuffix(registry, "_INDEX"); isIndex {
				alternatives = append(alternatives, setting{name, registry, value})
			}
		}
	}
	slices.SortFunc(alternatives, func(a, b setting) int { return strings.Compare(a.key, b.key) })
	for _, s := range alternatives {
		if address := c.registry(s.table, s.value); address != "" {
			c.set("CARGO_REGISTRIES_"+strings.ToUpper(strings.ReplaceAll(s.key, "-", "_"))+"_INDEX", address)
		}
	}
	c.allow(c.defaults...)
	name := "crates-io"
	for range len(sources) { // a replacement may itself be replaced
		at := sources[name]
		if at.replace == "" {
			break
		}
		name = at.replace
	}
	if at := sources[name]; name != "crates-io" && at.registry != "" && c.registry(at.place, at.registry) != "" {
		c.note("%s replaces crates.io by %s: rooms may reach it, but the repository's .cargo/config.toml has to name it too", at.place, name)
	}
}

func (c *client) pip() { c.python("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL") }

// python reads pip's configuration and tells clients of an index by variables.
func (c *client) python(main, extra string) {
	place, index := c.variable("PIP_INDEX_URL")
	extraPlace, extras := c.variable("PIP_EXTRA_INDEX_URL")
	trustedPlace, trusted := c.variable("PIP_TRUSTED_HOST")
	files := []string{".config/pip/pip.conf", ".pip/pip.conf"} // the one that counts most first
	if dir := c.environ["XDG_CONFIG_HOME"]; filepath.IsAbs(dir) {
		files[0] = filepath.Join(dir, "pip", "pip.conf")
	}
	if name := c.environ["PIP_CONFIG_FILE"]; filepath.IsAbs(name) {
		files = append([]string{name}, files...)
	}
	for _, file := range files {
		for _, s := range settings(c.text(file), false) {
			switch {
			case s.table != "global" && s.table != "install":
			case s.key == "index-url" && place == "":
				place, index = display(file), s.value
			case s.key == "extra-index-url" && extraPlace == "":
				extraPlace, extras = display(file), s.value
			case s.key == "trusted-host" && trustedPlace == "":
				trustedPlace, trusted = display(file), s.value
			}
		}
	}
	c.indexes(place, index, main, extraPlace, extras, extra)
	if trusted != "" { // without it pip does not use an index without TLS
		c.set("PIP_TRUSTED_HOST", strings.Join(strings.Fields(trusted), " "))
	}
}

// indexes allows Python's indexes and sets the variables that name them.
func (c *client) indexes(place, index, variable, extraPlace, extras, extraVariable string) {
	if index == "" {
		c.allow(c.defaults...)
	} else if address := c.registry(place, index); address != "" {
		c.set(variable, address)
	}
	var more []string
	for _, extra := range strings.Fields(extras) {
		if _, address, named := strings.Cut(extra, "=http"); named { // uv's NAME=ADDRESS
			extra = "http" + address
		}
		if address := c.registry(extraPlace, extra); address != "" {
			more = append(more, address)
		}
	}
	if more != nil {
		c.set(extraVariable, strings.Join(more, " "))
	}
}

func (c *client) uv() {
	place, index := c.variable("UV_DEFAULT_INDEX", "UV_INDEX_URL")
	extraPlace, extras := c.variable("UV_INDEX", "UV_EXTRA_INDEX_URL")
	file := ".config/uv/uv.toml"
	if dir := c.environ["XDG_CONFIG_HOME"]; filepath.IsAbs(dir) {
		file = filepath.Join(dir, "uv", "uv.toml")
	}
	var entry struct {
		address   string
		isDefault bool
	}
	var found []string
	end := func() { // of an [[index]]
		switch {
		case entry.address == "":
		case entry.isDefault && place == "":
			place, index = display(file), entry.address
		case !entry.isDefault && extraPlace == "":
			found = append(found, entry.address)
		}
		entry.address, entry.isDefault = "", false
	}
	for line := range strings.Lines(c.text(file)) {
		if strings.HasPrefix(strings.TrimSpace(line), "[") {
			end()
		}
		for _, s := range settings(line, false) {
			switch s.key {
			case "index-url":
				if place == "" {
					place, index = display(file), s.value
				}
			case "url":
				entry.address = s.value
			case "default":
				entry.isDefault = s.value == "true"
			}
		}
	}
	end()
	if found != nil {
		extraPlace, extras = display(file), strings.Join(found, " ")
	}
	for name := range c.environ {
		if strings.HasPrefix(name, "UV_INDEX_") && (strings.HasSuffix(name, "_PASSWORD") || strings.HasSuffix(name, "_USERNAME")) {
			c.note("UV_INDEX_…_PASSWORD and _USERNAME are not passed to rooms")
		}
	}
	if _, name, named := strings.Cut(index, "=http"); named {
		index = "http" + name
	}
	c.indexes(place, index, "UV_DEFAULT_INDEX", extraPlace, extras, "UV_INDEX")
}

func (c *client) bundler() {
	c.allow(c.defaults...)
	names := make([]setting, 0, len(c.environ))
	for name, value := range c.environ {
		names = append(names, setting{name, name, value})
	}
	slices.SortFunc(names, func(a, b setting) int { return strings.Compare(a.key, b.key) })
	for _, s := range settings(c.text(".bundle/config"), true) {
		names = append(names, setting{"~/.bundle/config", s.key, s.value})
	}
	for _, s := range names {
		mirror, isMirror := strings.CutPrefix(s.key, "BUNDLE_MIRROR__")
		if !isMirror || strings.Contains(mirror, "FALLBACK_TIMEOUT") {
			continue
		}
		address := c.registry(s.table, s.value)
		switch {
		case address == "":
		case mirror == "ALL":
			c.set("BUNDLE_MIRROR__ALL", address)
		default:
			c.note("%s has a mirror of %s: rooms may reach it, but the repository's .bundle/config has to name it too",
				s.table, strings.ToLower(strings.ReplaceAll(mirror, "__", ".")))
		}
	}
}

func (c *client) composer() {
	c.allow(c.defaults...)
	files := []string{".config/composer/config.json", ".composer/config.json"}
	if home := c.environ["COMPOSER_HOME"]; filepath.IsAbs(home) {
		files = []string{filepath.Join(home, "config.json")}
	}
	for _, file := range files {
		var config struct {
			Repositories json.RawMessage `json:"repositories"`
		}
		if json.Unmarshal([]byte(c.text(file)), &config) != nil {
			continue
		}
		type repository struct {
			Type string `json:"type"`
			URL  string `json:"url"`
		}
		// They are a list, or an object by name that may have false for "not this one".
		var list []json.RawMessage
		if json.Unmarshal(config.Repositories, &list) != nil {
			var named map[string]json.RawMessage
			if json.Unmarshal(config.Repositories, &named) != nil {
				continue
			}
			for _, name := range slices.Sorted(maps.Keys(named)) {
				list = append(list, named[name])
			}
		}
		for _, raw := range list {
			var r repository
			if json.Unmarshal(raw, &r) == nil && r.Type == "composer" && c.registry(display(file), r.URL) != "" {
				c.note("%s names a repository: rooms may reach it, but the project's composer.json has to name it too", display(file))
			}
		}
	}
}

func (c *client) maven() {
	c.allow(c.defaults...)
	const file = ".m2/settings.xml"
	var config struct {
		Mirrors []struct {
			URL string `xml:"url"`
		} `xml:"mirrors>mirror"`
		Servers []struct{} `xml:"servers>server"`
	}
	if xml.Unmarshal([]byte(c.text(file)), &config) != nil {
		return
	}
	for _, m := range config.Mirrors {
		if c.registry(display(file), c.expandMaven(m.URL)) != "" {
			c.note("%s has a mirror: rooms may reach it, but a settings file of the repository has to name it too (.mvn/maven.config: --settings FILE)", display(file))
		}
	}
	if len(config.Servers) > 0 {
		c.note("%s has credentials of servers: they are not passed to rooms", display(file))
	}
}

// expandMaven replaces ${env.NAME}.
func (c *client) expandMaven(s string) string {
	return c.expand(strings.ReplaceAll(strings.TrimSpace(s), "${env.", "${"))
}

func (c *client) nuget() {
	c.allow(c.defaults...)
	for _, file := range []string{".nuget/NuGet/NuGet.Config", ".config/NuGet/NuGet.Config"} {
		var config struct {
			Sources []struct {
				Value string `xml:"value,attr"`
			} `xml:"packageSources>add"`
			Credentials *struct{} `xml:"packageSourceCredentials"`
		}
		if xml.Unmarshal([]byte(c.text(file)), &config) != nil {
			continue
		}
		for _, s := range config.Sources {
			if !strings.HasPrefix(s.Value, "http") {
				continue // a folder
			}
			before := len(c.rules)
			if c.registry(display(file), s.Value) != "" && len(c.rules) > before {
				c.note("%s names a source: rooms may reach it, but the repository's NuGet.Config has to name it too", display(file))
			}
		}
		if config.Credentials != nil {
			c.note("%s has credentials of sources: they are not passed to rooms", display(file))
		}
	}
}

// netrc notes whose credentials in ~/.netrc would be used outside rooms.
func (c *client) netrc() {
	words := strings.Fields(c.text(".netrc"))
	for i := 0; i+1 < len(words); i++ {
		if words[i] != "machine" {
			continue
		}
		if slices.ContainsFunc(c.rules, func(rule string) bool { return strings.HasPrefix(rule, words[i+1]+":") }) {
			c.note("~/.netrc has credentials for %s: they are not passed to rooms", words[i+1])
		}
	}
}
