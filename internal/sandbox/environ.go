package sandbox

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl"
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

// host is what sandboxes know of the machine: the variables of the Pawl process
// and where the user's home is.
type host struct {
	environ map[string]string
	home    string
}

func newHost(opts Options) host {
	list := opts.Environ
	if list == nil {
		list = os.Environ()
	}
	h := host{environ: make(map[string]string, len(list)), home: opts.Home}
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

// commandEnviron builds a command's environment from nothing: the allow-list, then
// what keeps tools quiet and their caches in the command's own temporary
// folder, then the command's own variables, which win.
func (h host) commandEnviron(cmd pawl.Command) []string {
	env := []string{
		"PATH=" + strings.Join(h.path(), ":"),
		"HOME=" + cmd.Temp,
		"TMPDIR=" + cmd.Temp,
		"USER=pawl",
		"LOGNAME=pawl",
		"SHELL=/bin/sh",
		"TERM=dumb",
		"CI=true",
		"LANG=C.UTF-8",
		"PWD=" + cmd.Dir,
		"XDG_CACHE_HOME=" + filepath.Join(cmd.Temp, "cache"),
		"npm_config_cache=" + filepath.Join(cmd.Temp, "npm"),
		"npm_config_update_notifier=false",
		"PIP_DISABLE_PIP_VERSION_CHECK=1",
		"PYTHONPYCACHEPREFIX=" + filepath.Join(cmd.Temp, "pycache"),
		"CARGO_HOME=" + filepath.Join(cmd.Temp, "cargo"),
		"GRADLE_USER_HOME=" + filepath.Join(cmd.Temp, "gradle"),
		"GIT_TERMINAL_PROMPT=0",
		"GIT_OPTIONAL_LOCKS=0",
	}
	for _, name := range passed {
		if value, ok := h.environ[name]; ok {
			env = append(env, name+"="+value)
		}
	}
	for _, t := range h.toolchains() {
		if t.variable != "" {
			env = append(env, t.variable+"="+t.folder)
		}
	}
	env = append(env, h.goEnviron(cmd)...)
	return lastOfEach(append(env, cmd.Env...))
}

// goEnviron is what the go command needs to work without the user's home:
// offline from the user's module cache, which is not writable; with a network
// into a module cache of its own, filled from the user's first.
//
// Version control stamping is off: a worktree's .git points to a folder that
// commands usually do not see, and go build would fail on it.
func (h host) goEnviron(cmd pawl.Command) []string {
	env := []string{"GOCACHE=" + filepath.Join(cmd.Temp, "go-build")}
	flags := strings.Fields(h.environ["GOFLAGS"])
	flags = append(flags, "-buildvcs=false")
	shared := h.moduleCache()
	if !cmd.Network {
		env = append(env, "GOTOOLCHAIN=local", "GOPROXY=off", "GOFLAGS="+strings.Join(flags, " "))
		if shared != "" {
			env = append(env, "GOMODCACHE="+shared)
		}
		return env
	}
	proxy := withoutCredentials(h.environ["GOPROXY"])
	if proxy == "" {
		proxy = "https://proxy.golang.org,direct"
	}
	if shared != "" {
		proxy = "file://" + filepath.Join(shared, "cache", "download") + "," + proxy
	}
	if v := h.environ["GOTOOLCHAIN"]; v != "" {
		env = append(env, "GOTOOLCHAIN="+v)
	}
	flags = append(flags, "-modcacherw") // so that the temporary folder can be removed
	return append(env, "GOPROXY="+proxy, "GOFLAGS="+strings.Join(flags, " "),
		"GOMODCACHE="+filepath.Join(cmd.Temp, "go-mod"))
}

// moduleCache is the user's Go module cache; empty when there is none.
func (h host) moduleCache() string {
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
