package config

import "pawl/internal/strictyaml"

// ReadDelegates reads a table of coding agents as that of a user is read.
func ReadDelegates(name string, data []byte) ([]Delegate, error) {
	v := values{}
	_, err := strictyaml.Read(name, data, func(m *strictyaml.Map) { v.delegateFields(m) })
	return v.delegates, err
}

// KnownDelegates returns the embedded table.
func KnownDelegates() []Delegate { return knownDelegates() }
