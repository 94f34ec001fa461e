package room

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// passed names the variables of the Pawl process that commands see. Nothing
// else is inherited: a variable that is not here cannot leak, whatever its name.
var passed = [...]string{
	"LANG", "LANGUAGE", "TZ",
	"LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME",
	"LC_ADDRESS", "LC_IDENTIFICATION", "LC_MEASUREMENT", "LC_NAME", "LC_PAPER", "LC_TELEPHONE",
	"GOEXPERIMENT", "GOPRIVATE", "GONOPROXY", "GONOSUMDB", "GOSUMDB",
}

// Variables are those of the Pawl process that commands see, or that decide what they see.
func Variables() []string {
	out := append(passed[:], "PATH", "HOME", "GOFLAGS", "GOPROXY", "GOTOOLCHAIN", "GOMODCACHE", "GOPATH")
	for _, t := range homeToolchains {
		if t.variable != "" {
			out = append(out, t.variable)
		}
	}
	return out
}

// Host is what rooms take of the machine: the variables of whoever started a run,
// and where the user's home is, which commands never see.
type Host struct {
	environ map[string]string
	home    string
}

// NewHost is the host with these variables; nil means those of this process. An
// empty home means HOME among them.
func NewHost(environ []string, home string) Host {
	list := environ
	if list == nil {
		list = os.Environ()
	}
	h := Host{environ: make(map[string]string, len(list)), home: home}
	for _, v := range list {
		if name, value, ok := strings.Cut(v, "="); ok {
			h.environ[name] = value
		}
	}
	if h.home == "" {
		h.home = h.environ["HOME"]
	}
	h.home = filepath.Clean("/" + h.home)
	if real, err := filepath.EvalSymlinks(h.home); err == nil {
		h.home = real
	}
	return h
}

// offline keeps clients from trying again and again where nothing can be reached.
var offline = []string{
	"npm_config_fetch_retries=0", "pnpm_config_fetch_retries=0", "CARGO_NET_OFFLINE=true", "PIP_RETRIES=0", "UV_OFFLINE=1", "COMPOSER_DISABLE_NETWORK=1",
}

// places are where commands see their folders.
type places struct{ dir, home, temp, cache string }

// variables builds the environment of a room from nothing: the allow-list, then what
// keeps tools quiet and their files in the room's own folders.
//
// Python's compiled files are not in the cache: they are found by the time and size
// of a source file, which two commits can share.
func (h Host) variables(p places, network, prepared bool) []string {
	env := []string{
		"PATH=" + strings.Join(h.path(), ":"),
		"HOME=" + p.home,
		"TMPDIR=" + p.temp,
		"USER=pawl",
		"LOGNAME=pawl",
		"SHELL=/bin/sh",
		"TERM=dumb",
		"CI=true",
		"LANG=C.UTF-8",
		"PWD=" + p.dir,
		"XDG_CACHE_HOME=" + filepath.Join(p.cache, "xdg"),
		"npm_config_cache=" + filepath.Join(p.cache, "npm"),
		"npm_config_store_dir=" + filepath.Join(p.cache, "pnpm"),
		"pnpm_config_store_dir=" + filepath.Join(p.cache, "pnpm"), // pnpm 11 and later
		"npm_config_update_notifier=false",
		"YARN_CACHE_FOLDER=" + filepath.Join(p.cache, "yarn"),
		"PIP_CACHE_DIR=" + filepath.Join(p.cache, "pip"),
		"PIP_DISABLE_PIP_VERSION_CHECK=1",
		"UV_CACHE_DIR=" + filepath.Join(p.cache, "uv"),
		"POETRY_CACHE_DIR=" + filepath.Join(p.cache, "poetry"),
		"PYTHONPYCACHEPREFIX=" + filepath.Join(p.temp, "pycache"),
		"CARGO_HOME=" + filepath.Join(p.cache, "cargo"),
		"GRADLE_USER_HOME=" + filepath.Join(p.cache, "gradle"),
		"MAVEN_OPTS=-Dmaven.repo.local=" + filepath.Join(p.cache, "maven"),
		"GIT_TERMINAL_PROMPT=0",
		"GIT_OPTIONAL_LOCKS=0",
		// The work tree's files belong to another user than what its .git names.
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
	}
	if !network {
		env = append(env, offline...)
	}
	for _, name := range passed {
		if value, ok := h.environ[name]; ok {
			if name == "GOSUMDB" { // the address follows the database's name and key
				key, address, _ := strings.Cut(value, " ")
				value = strings.TrimSuffix(key+" "+withoutCredentials(address), " ")
			}
			env = append(env, name+"="+value)
		}
	}
	for _, t := range h.toolchains() {
		if t.variable != "" {
			env = append(env, t.variable+"="+t.folder)
		}
	}
	return lastOfEach(append(env, h.goVariables(p, network, prepared)...))
}

// goVariables are what the go command needs to work without the user's home: offline
// from the user's module cache, which is not writable, or where modules may have
// been fetched, from one of the room's own, filled from the user's first.
//
// Version control stamping is off: go build would fail where a work tree's git
// folder is out of sight.
func (h Host) goVariables(p places, network, prepared bool) []string {
	env := []string{"GOCACHE=" + filepath.Join(p.cache, "go-build")}
	flags := append(strings.Fields(h.environ["GOFLAGS"]), "-buildvcs=false")
	own, proxy := "GOMODCACHE="+filepath.Join(p.cache, "go-mod"), "off"
	shared := h.moduleCache()
	if network {
		if proxy = withoutCredentials(h.environ["GOPROXY"]); proxy == "" {
			proxy = "https://proxy.golang.org,direct"
		}
		if v := h.environ["GOTOOLCHAIN"]; v != "" {
			env = append(env, "GOTOOLCHAIN="+v)
		}
	} else {
		env = append(env, "GOTOOLCHAIN=local")
	}
	switch {
	case network || prepared:
		flags = append(flags, "-modcacherw") // so that the folder can be removed
		if shared != "" {
			proxy = "file://" + filepath.Join(shared, "cache", "download") + "," + proxy
		}
		env = append(env, own)
	case shared != "":
		env = append(env, "GOMODCACHE="+shared)
	default:
		env = append(env, own)
	}
	return append(env, "GOPROXY="+proxy, "GOFLAGS="+strings.Join(flags, " "))
}

// moduleCache is the user's Go module cache; empty when there is none.
func (h Host) moduleCache() string {
	folder := h.environ["GOMODCACHE"]
	if folder == "" {
		gopath, _, _ := strings.Cut(h.environ["GOPATH"], ":")
		if gopath == "" {
			gopath = filepath.Join(h.home, "go")
		}
		folder = filepath.Join(gopath, "pkg", "mod")
	}
	if !h.showable(folder) {
		return ""
	}
	return folder
}

// withoutCredentials drops user names and passwords from a list of URLs as
// GOPROXY has them, separated by commas or bars. What cannot be read as a URL
// and holds an @ is left out whole.
func withoutCredentials(list string) string {
	var kept strings.Builder
	for list != "" {
		end := strings.IndexAny(list, ",|")
		entry, separator := list, ""
		if end >= 0 {
			entry, separator = list[:end], list[end:end+1]
		}
		list = list[len(entry)+len(separator):]
		if strings.Contains(entry, "@") {
			u, err := url.Parse(entry)
			if err != nil || u.Host == "" {
				continue
			}
			u.User = nil
			entry = u.String()
		}
		kept.WriteString(entry + separator)
	}
	return strings.TrimRight(kept.String(), ",|")
}

// lastOfEach keeps the last value of every variable, in the order of first mention.
func lastOfEach(env []string) []string {
	at := make(map[string]int, len(env))
	var kept []string
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		if i, ok := at[name]; ok {
			kept[i] = v
			continue
		}
		at[name] = len(kept)
		kept = append(kept, v)
	}
	return slices.Clip(kept)
}
