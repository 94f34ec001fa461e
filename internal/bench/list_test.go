package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"pawl"
	"pawl/internal/engine"
	"pawl/internal/project"
	"pawl/internal/server"
	"pawl/internal/store/sqlite"
)

// encoded is a service that does not know the JSON of its lines.
type encoded struct{ pawl.Service }

func mustStored(tb testing.TB, runs int) pawl.Service {
	tb.Helper()
	dir := tb.TempDir()
	if err := storeRuns(tb.Context(), project.Project{Dir: dir}, runs); err != nil {
		tb.Fatal(err)
	}
	log, err := sqlite.Open(dir)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = log.Close() })
	return engine.Reader{Log: log}
}

// odd is a service some of whose lines were changed since they were stored.
type odd struct {
	pawl.Service
	err error
}

func (o odd) NewestLines(ctx context.Context, most int) ([]pawl.RunLine, error) {
	lines, err := pawl.NewestLines(ctx, o.Service, most)
	for i, l := range lines {
		if l.Info.Task%3 == 1 {
			lines[i] = l.With(func(info *pawl.RunInfo) { info.Needs, info.Title = "a key", fmt.Sprint("<&> \u2028", info.Task) })
		}
	}
	return lines, errors.Join(err, o.err)
}

func (o odd) Runs(ctx context.Context) ([]pawl.RunInfo, error) { return pawl.NewestRuns(ctx, o, 0) }

func list(h http.Handler, query string) *httptest.ResponseRecorder {
	r, w := httptest.NewRequest(http.MethodGet, "/v1/runs"+query, nil), httptest.NewRecorder()
	r.Host = "pawl"
	h.ServeHTTP(w, r)
	return w
}

// A list that is joined of stored lines is the one that is encoded, byte by byte.
func TestJoinedListIsTheEncodedOne(t *testing.T) {
	for _, runs := range []int{0, 1, 30} {
		stored := mustStored(t, runs)
		for _, query := range []string{"", "?limit=1", "?limit=7", "?limit=x", "?limit=-1"} {
			for name, s := range map[string]pawl.Service{"stored": stored, "changed": odd{stored, nil}, "failed": odd{stored, errors.New("the disk")}} {
				joined, want := list(server.Handler(s), query), list(server.Handler(encoded{s}), query)
				if joined.Code != want.Code || joined.Body.String() != want.Body.String() || joined.Header().Get("Content-Type") != want.Header().Get("Content-Type") {
					t.Errorf("%d runs, %s%s:\n%d %s\nwant %d %s", runs, name, query, joined.Code, joined.Body, want.Code, want.Body)
				}
			}
		}
	}
}

// discarded is an answer that nobody reads.
type discarded struct{ header http.Header }

func (d discarded) Header() http.Header          { return d.header }
func (discarded) WriteHeader(int)                {}
func (discarded) Write(data []byte) (int, error) { return len(data), nil }

// How long a list of many runs takes that is encoded, as it was before, and one that is joined
// of stored lines.
func BenchmarkList(b *testing.B) {
	stored := mustStored(b, 10_000)
	h := server.Handler(stored)
	for _, most := range []int{0, pageRuns} {
		b.Run(fmt.Sprintf("encoded?limit=%d", most), func(b *testing.B) {
			for b.Loop() {
				runs, err := pawl.NewestRuns(b.Context(), stored, most)
				if err != nil {
					b.Fatal(err)
				}
				_ = json.NewEncoder(io.Discard).Encode(runs)
			}
		})
		b.Run(fmt.Sprintf("joined?limit=%d", most), func(b *testing.B) {
			r := httptest.NewRequest(http.MethodGet, fmt.Sprintf("/v1/runs?limit=%d", most), nil)
			r.Host = "pawl"
			for b.Loop() {
				h.ServeHTTP(discarded{http.Header{}}, r)
			}
		})
	}
}
