package server

import (
	_ "embed"
	"net/http"
)

// The descriptions of what a daemon serves, and of what a process serves that has one
// project. They are made of [operations] by describe, in the tests: what makes them is in
// no program, and takes no time of its start.
var (
	//go:embed openapi/daemon.json
	daemonAPI []byte
	//go:embed openapi/project.json
	projectAPI []byte
)

// OpenAPI describes what a daemon serves, in OpenAPI 3.1.
func OpenAPI() []byte { return daemonAPI }

func (h *handler) describe(w http.ResponseWriter) {
	data := projectAPI
	if h.d != nil {
		data = daemonAPI
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data) // a reader that has gone misses its end
}
