package cache

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/cli"
)

// caches answers for a project, and records what it was asked.
type caches struct {
	pawl.Service
	info   pawl.CacheInfo
	result pawl.PruneResult
	asked  []string
}

func (c *caches) Cache(context.Context) (pawl.CacheInfo, error) { return c.info, nil }

func (c *caches) PruneCache(_ context.Context, req pawl.PruneRequest) (pawl.PruneResult, error) {
	text, err := json.Marshal(req)
	c.asked = append(c.asked, string(text))
	return c.result, err
}

// bed is the command over a project whose answers the test decides.
type bed struct {
	*caches
	app      *cli.App
	access   []cli.Access
	out, err bytes.Buffer
}

func newBed() *bed {
	b := &bed{caches: &caches{info: pawl.CacheInfo{Limit: 10_000_000_000, Layers: []pawl.CacheLayer{}, Rooms: []pawl.KeptRoom{}},
		result: pawl.PruneResult{Removed: []pawl.CacheLayer{}}}}
	b.app = &cli.App{Out: &b.out, Err: &b.err, Open: func(_ context.Context, a cli.Access) (*cli.Session, error) {
		b.access = append(b.access, a)
		return &cli.Session{Service: b.caches, Close: func() error { return nil }}, nil
	}}
	return b
}

func (b *bed) run(tb testing.TB, args ...string) (string, error) {
	tb.Helper()
	b.out.Reset()
	b.err.Reset()
	c := New(b.app)
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	err := c.ExecuteContext(tb.Context())
	return b.out.String(), err
}

// wide is a cache that has something of every kind.
func wide() pawl.CacheInfo {
	made := time.Date(2026, 11, 21, 19, 40, 59, 0, time.Local)
	return pawl.CacheInfo{Limit: 10_000_000_000, Size: 1_800_000_000,
		Layers: []pawl.CacheLayer{{Name: "14", Made: made, Size: 1_200_000_000}, {Name: "13-joined", Made: made.Add(-24 * time.Hour), Size: 600_000_000, InUse: true}},
		Rooms:  []pawl.KeptRoom{{Kind: pawl.RoomAgent, Run: "002-a", Name: "002-a/task/1", Size: 40_100_000}, {Kind: pawl.RoomPrepared, Name: "3", Size: 1_000_000}},
	}
}

func TestList(t *testing.T) {
	unknown, partial := wide(), wide()
	unknown.UseUnknown, unknown.Rooms = true, nil
	partial.Layers, partial.Size = nil, 0
	partial.Rooms[1].Partial = true
	for name, test := range map[string]struct {
		info pawl.CacheInfo
		want string
	}{
		"Empty": {pawl.CacheInfo{Limit: 2_500_000_000}, "The trusted cache is empty; it may take 2.5 GB.\n"},
		"Whole": {wide(), `LAYER      MADE              SIZE    IN USE
14         2026-11-21 19:40  1.2 GB  no
13-joined  2026-11-20 19:40  600 MB  yes
The trusted cache takes 1.8 GB of at most 10 GB.

ROOM          SIZE
002-a/task/1  40.1 MB
prepared 3    1 MB
Rooms of runs that have not ended take 41.1 MB, until they end.
`},
		"UseUnknown": {unknown, `LAYER      MADE              SIZE    IN USE
14         2026-11-21 19:40  1.2 GB  unknown
13-joined  2026-11-20 19:40  600 MB  unknown
The trusted cache takes 1.8 GB of at most 10 GB.
`},
		"Partial": {partial, `The trusted cache is empty; it may take 10 GB.

ROOM          SIZE
002-a/task/1  40.1 MB
prepared 3    at least 1 MB
Rooms of runs that have not ended take at least 41.1 MB, until they end.
`},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed()
			b.info = test.info
			for _, args := range [][]string{nil, {"list"}} {
				got, err := b.run(t, args...)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			}
			if diff := cmp.Diff([]cli.Access{cli.Read, cli.Read}, b.access); diff != "" {
				t.Errorf("access (-want +got)\n%s", diff)
			}
		})
	}
}

func TestListFitsTheTerminal(t *testing.T) {
	b := newBed()
	b.info = wide()
	b.info.Rooms[0].Name = "002-\x1b[2J" + strings.Repeat("数", 100)
	b.app.Terminal, b.app.Columns = true, func() int { return 30 }
	got, err := b.run(t)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(got) {
		if line = strings.TrimSuffix(line, "\n"); ansi.StringWidth(line) > 30 || strings.Contains(line, "\x1b") {
			t.Errorf("%q", line)
		}
	}
}

func TestListJSON(t *testing.T) {
	b := newBed()
	b.info, b.app.JSON = wide(), true
	got, err := b.run(t)
	if err != nil {
		t.Fatal(err)
	}
	var info pawl.CacheInfo
	if err := json.Unmarshal([]byte(got), &info); err != nil {
		t.Fatal(err)
	}
	for i := range info.Layers {
		info.Layers[i].Made = info.Layers[i].Made.Local()
	}
	if diff := cmp.Diff(wide(), info); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestPrune(t *testing.T) {
	two := []pawl.CacheLayer{{Name: "2", Size: 10}, {Name: "1", Size: 20}}
	for name, test := range map[string]struct {
		args      string
		result    pawl.PruneResult
		asked     string
		says, err string
	}{
		"ToTheLimit":  {"prune", pawl.PruneResult{Removed: two, Freed: 1_200_000_000, Size: 9_000_000_000, Target: 10_000_000_000}, `{}`, "Removed 2 layers: 1.2 GB freed, 9 GB left.\n", ""},
		"ToASize":     {"prune --size 2GB", pawl.PruneResult{Removed: two[1:], Freed: 20, Size: 10, Target: 2_000_000_000}, `{"size":2000000000}`, "Removed 1 layer: 20 bytes freed, 10 bytes left.\n", ""},
		"All":         {"prune --all", pawl.PruneResult{Removed: two, Freed: 30}, `{"size":0}`, "Removed 2 layers: 30 bytes freed, 0 bytes left.\n", ""},
		"SmallEnough": {"prune --size 3GiB", pawl.PruneResult{Size: 10, Target: 3 << 30}, `{"size":3221225472}`, "There was nothing to remove: the trusted cache takes 10 bytes.\n", ""},
		"AllInUse":    {"prune --all", pawl.PruneResult{Size: 30}, `{"size":0}`, "No layer was removed.\n", "pawl: 30 bytes stay because open rooms use them; prune again when their runs have ended\n"},
		"SomeInUse": {"prune --all", pawl.PruneResult{Removed: two[1:], Freed: 20, Size: 10}, `{"size":0}`, "Removed 1 layer: 20 bytes freed, 10 bytes left.\n",
			"pawl: 10 bytes stay because open rooms use them; prune again when their runs have ended\n"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed()
			b.result = test.result
			got, err := b.run(t, strings.Fields(test.args)...)
			if err != nil || got != test.says || b.err.String() != test.err {
				t.Errorf("it says %q and %q, error %v", got, b.err.String(), err)
			}
			if diff := cmp.Diff([]string{test.asked}, b.asked); diff != "" {
				t.Errorf("asked (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff([]cli.Access{cli.Steer}, b.access); diff != "" {
				t.Errorf("access (-want +got)\n%s", diff)
			}
		})
	}
	t.Run("JSON", func(t *testing.T) {
		b := newBed()
		b.app.JSON, b.result = true, pawl.PruneResult{Removed: two, Freed: 30, Target: 5}
		got, err := b.run(t, "prune")
		var result pawl.PruneResult
		if err != nil || json.Unmarshal([]byte(got), &result) != nil || !cmp.Equal(result, b.result) {
			t.Errorf("it says %s, error %v", got, err)
		}
	})
}

func TestMistakes(t *testing.T) {
	for args, want := range map[string]string{
		"prune --size 2":     `--size: cache.size: want a size from 1MB to 1000TB, such as 500MB or 2GiB, got "2"`,
		"prune --size=":      `--size: cache.size: want a size from 1MB to 1000TB, such as 500MB or 2GiB, got ""`,
		"prune --size -1GB":  `--size: cache.size: want a size from 1MB to 1000TB, such as 500MB or 2GiB, got "-1GB"`,
		"prune everything":   "cache prune: too many arguments",
		"list 1":             "cache list: too many arguments",
		"purne":              `there is no command "cache purne"`,
		"prune --all --size": "flag needs an argument",
	} {
		b := newBed()
		if _, err := b.run(t, strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", args, err, want)
		}
		if len(b.access) > 0 {
			t.Errorf("%s: the project was opened", args)
		}
	}
}
