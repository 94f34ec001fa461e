package heldout

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"pawl"
)

// Of a Harbor task the tests are used: they are shown at /tests, test.sh is run at the root of the
// checkout, and a file in /logs/verifier has the reward. A task may say more about the machine that it
// wants than a gate's room can be; then it is refused.

// task is what a task.toml says that matters here.
type task struct {
	Environment environment `toml:"environment"`
	Verifier    struct {
		Timeout     float64           `toml:"timeout_sec"`
		Env         map[string]string `toml:"env"`
		User        any               `toml:"user"`
		Network     *string           `toml:"network_mode"`
		Hosts       []string          `toml:"allowed_hosts"`
		Mode        string            `toml:"environment_mode"`
		Environment *environment      `toml:"environment"`
	} `toml:"verifier"`
	Steps []any `toml:"steps"`
}

// environment is the machine that a task wants.
type environment struct {
	Image    string            `toml:"docker_image"`
	Internet bool              `toml:"allow_internet"`
	Network  *string           `toml:"network_mode"`
	Hosts    []string          `toml:"allowed_hosts"`
	GPUs     int               `toml:"gpus"`
	OS       string            `toml:"os"`
	Workdir  string            `toml:"workdir"`
	Servers  []any             `toml:"mcp_servers"`
	Health   any               `toml:"healthcheck"`
	Env      map[string]string `toml:"env"`
}

// noImage says that a task needs no image, and noNetwork that it needs no network.
const (
	noImage   = "none"
	noNetwork = "no-network"
)

// harbor reads a Harbor task.
func (r *reader) harbor() (*Checks, error) {
	file, err := r.file(taskFile, taskFile)
	if err != nil {
		return nil, err
	}
	var t task
	if err := toml.Unmarshal(file.Data, &t); err != nil {
		where := ""
		if at, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, column := at.Position()
			where = fmt.Sprintf(":%d:%d", line, column)
		}
		return nil, pawl.Errorf(pawl.CodeInvalid, "%s%s: %w", r.path(taskFile), where, err)
	}
	if why := r.beyond(&t); why != "" {
		return nil, pawl.Errorf(pawl.CodeInvalid, "%s: %s", r.path(taskFile), why)
	}
	if t.Verifier.Timeout < 0 {
		return nil, pawl.Errorf(pawl.CodeInvalid, "%s: verifier.timeout_sec = %g: want a positive number", r.path(taskFile), t.Verifier.Timeout)
	}
	c := &Checks{Timeout: time.Duration(t.Verifier.Timeout * float64(time.Second))}
	if c.Tests, err = r.folder(testsFolder); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(c.Tests, func(f pawl.RoomFile) bool { return f.Path == testScript }) {
		return nil, pawl.Errorf(pawl.CodeInvalid, "%s is not there: a Harbor task is checked by it", r.path(testsFolder+"/"+testScript))
	}
	for _, env := range []map[string]string{t.Environment.Env, t.Verifier.Env} { // the later ones win
		for name, value := range env {
			c.Env = append(slices.DeleteFunc(c.Env, func(v string) bool { return strings.HasPrefix(v, name+"=") }), name+"="+value)
		}
	}
	slices.Sort(c.Env)
	return c, nil
}

// beyond says what a task wants that a gate's room is not; empty = nothing.
func (r *reader) beyond(t *task) string {
	e, v := &t.Environment, &t.Verifier
	for _, wish := range []struct {
		is  bool
		why string
	}{
		{len(t.Steps) > 0, "[[steps]]: a task of several steps cannot be a check of one result"},
		{e.Image != "" && e.Image != noImage, fmt.Sprintf("environment.docker_image = %q: it needs an image, and checks run in a room on this machine", e.Image)},
		{e.Internet, "environment.allow_internet = true: it needs the network, and a gate's room has none"},
		{v.Mode != "" && v.Mode != "shared", fmt.Sprintf("verifier.environment_mode = %q: its tests need a machine of their own", v.Mode)},
		{v.Environment != nil, "[verifier.environment]: its tests need a machine of their own"},
		{v.User != nil, fmt.Sprintf("verifier.user = %v: checks run as the user of their room", v.User)},
		{e.GPUs > 0, fmt.Sprintf("environment.gpus = %d: a gate's room has none", e.GPUs)},
		{e.OS != "" && e.OS != "linux", fmt.Sprintf("environment.os = %q: want linux", e.OS)},
		{e.Workdir != "", fmt.Sprintf("environment.workdir = %q: checks run at the root of the checkout", e.Workdir)},
		{len(e.Servers) > 0, "environment.mcp_servers: a gate's room has no servers"},
		{e.Health != nil, "environment.healthcheck: a gate's room has no services"},
	} {
		if wish.is {
			return wish.why
		}
	}
	for _, n := range []struct {
		section string
		mode    *string
		hosts   []string
	}{{"environment", e.Network, e.Hosts}, {"verifier", v.Network, v.Hosts}} {
		switch {
		case n.mode != nil && *n.mode != noNetwork:
			return fmt.Sprintf("%s.network_mode = %q: it needs the network, and a gate's room has none", n.section, *n.mode)
		case len(n.hosts) > 0:
			return fmt.Sprintf("%s.allowed_hosts = %q: it needs the network, and a gate's room has none", n.section, n.hosts)
		}
	}
	for _, s := range []struct {
		section string
		env     map[string]string
	}{{"environment", e.Env}, {"verifier", v.Env}} {
		for _, name := range slices.Sorted(maps.Keys(s.env)) {
			if strings.Contains(s.env[name], "${") {
				return fmt.Sprintf("%s.env.%s = %q: variables of this machine are not passed on", s.section, name, s.env[name])
			}
		}
	}
	if e.Image == noImage {
		return ""
	}
	for _, file := range []string{"environment/Dockerfile", "environment/docker-compose.yaml"} {
		if _, err := r.root.Stat(file); err == nil {
			return fmt.Sprintf("environment.docker_image is not set and there is %s: it needs an image, and checks run in a room on this machine; if its tests need nothing of that image, set docker_image = %q", file, noImage)
		}
	}
	return ""
}
