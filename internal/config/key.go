package config

import (
	"strings"
	"time"

	"pawl"
	"pawl/internal/strictyaml"
)

// KeyTime is how long a command, or the keyring, may take to hand over a key. A person may have
// to confirm it.
const KeyTime = 30 * time.Second

// KeySource is where a provider's key is. At most one of File, Command and Keyring is set; then
// Env does not matter. The zero KeySource has no key.
type KeySource struct {
	Env     string // the name of an environment variable
	File    string // a path, absolute or below ~/
	Command string // a command line for sh, which prints the key
	Keyring string // SERVICE/ACCOUNT in the keyring of the desktop
}

// Stored reports whether the key is kept elsewhere than in the environment.
func (s KeySource) Stored() bool { return s.File != "" || s.Command != "" || s.Keyring != "" }

// String returns where the key is, for people, such as "the file ~/.anthropic".
func (s KeySource) String() string {
	switch {
	case s.File != "":
		return "the file " + s.File
	case s.Command != "":
		return "the command `" + s.Command + "`"
	case s.Keyring != "":
		return "the keyring's entry " + s.Keyring
	}
	return s.Env
}

// Identity tells the keys of sources apart, as [pawl.Account] has it. That of a variable is its
// key's. Where a key is stored, it is the setting's: whoever replaces the key there has the same
// account as before.
func (s KeySource) Identity(environ []string) string {
	if s.Stored() {
		return pawl.KeyOf(s.String())
	}
	return pawl.KeyOf(strings.TrimSpace(Variable(environ, s.Env)))
}

// Variable returns the value that a variable has in an environment; empty when it is not set.
func Variable(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0 && name != ""; i-- {
		if n, value, _ := strings.Cut(environ[i], "="); n == name {
			return value
		}
	}
	return ""
}

// twoKeys reports providers and agents whose key is said to be in two places.
func (c *Config) twoKeys() error {
	var problems strictyaml.Problems
	var places []string
	for _, name := range providerNames {
		places = append(places, "providers."+name+".")
	}
	for _, name := range c.values.delegateNames() {
		places = append(places, "delegates."+name+".key.")
	}
	for _, place := range places {
		var first string
		for _, key := range []string{"key_env", "key_file", "key_command", "keyring"} {
			path := place + key
			pos, given := c.origins[path]
			switch {
			case !given:
			case first == "":
				first = key
			default:
				problems.Add(pos, path, "the key is said to be in %s, too: want one of them", first)
			}
		}
	}
	return problems.Err()
}
