package server

import (
	"bytes"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write docs/openapi.json anew")

// The description that is checked in is that of what is served.
func TestOpenAPIFile(t *testing.T) {
	const file = "../../docs/openapi.json"
	got, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what is served: go test ./internal/server -run OpenAPIFile -update", file)
	}
}
