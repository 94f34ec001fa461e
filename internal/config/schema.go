package config

import "pawl/internal/strictyaml"

// Schema is the JSON Schema of a configuration file.
func Schema() []byte { return strictyaml.Schema("A Pawl configuration", new(values).fields) }

// Reference is the configuration file in Markdown tables.
func Reference() string { return strictyaml.Reference(new(values).fields) }
