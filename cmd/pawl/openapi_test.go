package main

import (
	"bytes"
	"os"
	"testing"

	"pawl/internal/cli"
)

// What pawl serve --openapi prints is the description that is checked in, and a
// description needs no daemon and no repository.
func TestServeDescribesItself(t *testing.T) {
	want, err := os.ReadFile("../../docs/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := execute(t.Context(), &cli.App{Dir: t.TempDir(), Out: &out, Err: &out}, "serve", "--openapi"); err != nil || !bytes.Equal(out.Bytes(), want) {
		t.Errorf("%v; it prints %d bytes, %d are checked in", err, out.Len(), len(want))
	}
}
