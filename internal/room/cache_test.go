package room

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
)

// roomy is a limit in bytes that the layers of these tests do not come near.
const roomy = 1 << 30

// MustCache makes a cache whose layers, named n to 1, have these sizes, the newest first.
func MustCache(tb testing.TB, limit int64, sizes ...int64) *Cache {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "cache")
	state := cacheState{Generation: len(sizes)}
	for i, size := range sizes {
		name := strconv.Itoa(len(sizes) - i)
		MustFile(tb, filepath.Join(dir, name, "upper", "of-"+name), 1)
		state.Layers = append(state.Layers, cacheLayer{Name: name, Made: time.Unix(int64(len(sizes)-i), 0).UTC(), Size: size})
	}
	if len(sizes) > 0 {
		c := OpenCache(dir, limit, slog.New(slog.DiscardHandler))
		if err := c.write(state); err != nil {
			tb.Fatal(err)
		}
	}
	return OpenCache(dir, limit, slog.New(slog.DiscardHandler))
}

// MustFile writes a file of the given size in bytes.
func MustFile(tb testing.TB, name string, size int) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(name, bytes.Repeat([]byte("x"), size), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// MustGrow grows a cache by a layer that has one file of the given size in bytes.
func MustGrow(tb testing.TB, c *Cache, size int) {
	tb.Helper()
	from := c.Generation()
	folder := filepath.Join(tb.TempDir(), "room")
	MustFile(tb, filepath.Join(folder, "upper", fmt.Sprintf("of-%d", from+1)), size)
	if err := c.grow(from, folder, false); err != nil {
		tb.Fatal(err)
	}
}

// wantLayers checks which layers there are, the newest first: in memory, in the state
// file and as folders, with no other folder beside them.
func wantLayers(tb testing.TB, c *Cache, want ...string) {
	tb.Helper()
	names := func(c *Cache) (names []string) {
		layers, err := c.list()
		if err != nil {
			tb.Fatal(err)
		}
		for _, l := range layers {
			names = append(names, l.Name)
		}
		return names
	}
	for what, got := range map[string][]string{"cache": names(c), "state file": names(OpenCache(c.dir, c.limit, c.log))} {
		if diff := cmp.Diff(want, got); diff != "" {
			tb.Errorf("layers of the %s differ (-want +got):\n%s", what, diff)
		}
	}
	got, err := folders(c.dir)
	if err != nil {
		tb.Fatal(err)
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		tb.Errorf("folders of the cache differ (-want +got):\n%s", diff)
	}
}

func TestPrune(t *testing.T) {
	for _, test := range []struct {
		name  string
		sizes []int64
		most  int64
		left  []string
		freed int64
	}{
		{"Empty", nil, 0, nil, 0},
		{"BelowTheLimit", []int64{10, 20, 30}, 61, []string{"3", "2", "1"}, 0},
		{"ExactlyTheLimit", []int64{10, 20, 30}, 60, []string{"3", "2", "1"}, 0},
		{"AByteAbove", []int64{10, 20, 30}, 59, []string{"3", "2"}, 30},
		{"ExactlyWithoutTheOldest", []int64{10, 20, 30}, 30, []string{"3", "2"}, 30},
		{"TheNewestAlone", []int64{10, 20, 30}, 29, []string{"3"}, 50},
		{"TheOldestOnlyWouldFit", []int64{30, 20, 10}, 10, nil, 60},
		{"EmptyLayers", []int64{0, 0}, 0, []string{"2", "1"}, 0},
		{"All", []int64{10, 20, 30}, 0, nil, 60},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := MustCache(t, roomy, test.sizes...)
			got, err := c.prune(test.most)
			if err != nil {
				t.Fatal(err)
			}
			wantLayers(t, c, test.left...)
			var all int64
			for _, size := range test.sizes {
				all += size
			}
			if got.Freed != test.freed || got.Size != all-test.freed || got.Target != test.most || len(got.Removed) != len(test.sizes)-len(test.left) {
				t.Errorf("got %+v, want %d bytes freed", got, test.freed)
			}
			if got, err := c.prune(test.most); err != nil || len(got.Removed) > 0 {
				t.Errorf("once more it removed %v, %v", got.Removed, err)
			}
		})
	}
}

// A layer that an open room uses stays, with all newer ones, until the room is closed.
func TestPruneKeepsWhatRoomsUse(t *testing.T) {
	c := MustCache(t, roomy, 10, 10)
	layers, release, err := c.use()
	if err != nil {
		t.Fatal(err)
	}
	MustGrow(t, c, 1) // no room uses the third
	if got, err := c.prune(0); err != nil || got.Freed != 0 || got.Size <= 20 {
		t.Errorf("while a room is open it removed %+v, %v", got, err)
	}
	wantLayers(t, c, "3", "2", "1")
	if listed, err := c.list(); err != nil || listed[0].InUse || !listed[1].InUse || !listed[2].InUse {
		t.Errorf("it lists %+v, %v", listed, err)
	}
	for _, l := range layers {
		if _, err := os.Stat(l.Dir()); err != nil {
			t.Error(err)
		}
	}
	_, second, err := c.use()
	if err != nil {
		t.Fatal(err)
	}
	release()
	if got, err := c.prune(0); err != nil || got.Freed != 0 {
		t.Errorf("while another room is open it removed %+v, %v", got, err)
	}
	second()
	got, err := c.prune(roomy)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.prune(got.Size - 20); err != nil || got.Freed != 20 {
		t.Errorf("after both it removed %+v, %v", got, err)
	}
	wantLayers(t, c, "3")
}

// A process that dies between writing the state and removing the folders leaves folders
// that the next one removes.
func TestPruneAfterACrash(t *testing.T) {
	c := MustCache(t, roomy, 10, 20)
	for _, name := range []string{"3", "7-joined", removedPrefix + "1-5"} {
		MustFile(t, filepath.Join(c.dir, name, "upper", "file"), 1)
	}
	if got, err := c.prune(25); err != nil || len(got.Removed) != 1 {
		t.Errorf("it removed %+v, %v", got, err)
	}
	wantLayers(t, c, "2")
}

// A state that cannot be written changes nothing: no folder is removed before the file
// says so.
func TestPruneWithoutTheStateFile(t *testing.T) {
	c := MustCache(t, roomy, 10, 20)
	if err := os.Mkdir(c.file()+".new", 0o700); err != nil {
		t.Fatal(err)
	}
	if got, err := c.prune(0); err == nil || len(got.Removed) > 0 || got.Size != 30 {
		t.Errorf("it removed %+v, error %v", got, err)
	}
	wantLayers(t, c, "2", "1")
}

func TestCacheFile(t *testing.T) {
	t.Run("Damaged", func(t *testing.T) {
		c := MustCache(t, roomy, 10, 20)
		if err := os.WriteFile(c.file(), []byte(`{"generation": 2, "lay`), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := c.prune(roomy); err != nil {
			t.Error(err)
		}
		MustGrow(t, c, 1)
		wantLayers(t, c, "1")
	})
	t.Run("Unreadable", func(t *testing.T) {
		c := MustCache(t, roomy, 10, 20)
		if err := errors.Join(os.Remove(c.file()), os.Mkdir(c.file(), 0o700)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.prune(0); err == nil {
			t.Error("it was pruned")
		}
		for _, name := range []string{"1", "2"} {
			if _, err := os.Stat(c.layer(name).dir); err != nil {
				t.Errorf("layer %s: %v", name, err)
			}
		}
	})
	// Layers that are older than a missing one are not shown without it.
	t.Run("MissingLayer", func(t *testing.T) {
		c := MustCache(t, roomy, 10, 20, 30)
		if err := os.RemoveAll(filepath.Join(c.dir, "2")); err != nil {
			t.Fatal(err)
		}
		if _, err := c.prune(roomy); err != nil {
			t.Error(err)
		}
		if layers, err := c.list(); err != nil || len(layers) != 1 || layers[0].Name != "3" {
			t.Errorf("it lists %+v, %v", layers, err)
		}
	})
}

// A cache that grows beyond its limit loses its oldest layers, and says which.
func TestGrowingIsPruned(t *testing.T) {
	var log strings.Builder
	c := OpenCache(filepath.Join(t.TempDir(), "cache"), 200_000, slog.New(slog.NewTextHandler(&log, nil)))
	for range 4 {
		MustGrow(t, c, 64<<10)
	}
	wantLayers(t, c, "4", "3")
	MustGrow(t, c, 300_000) // more than the whole cache may take
	wantLayers(t, c)
	MustGrow(t, c, 10)
	wantLayers(t, c, "6")
	for _, want := range []string{"layers=[1]", "layers=[2]", "layers=\"[5 4 3]\"", "limit=200000"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %s:\n%s", want, &log)
		}
	}
}

// A room that had copies of all layers leaves one in which they all are.
func TestWholeLayerIsPruned(t *testing.T) {
	for size, want := range map[int][]string{1: {"3"}, 200_000: nil} {
		c := MustCache(t, 100_000, 10, 20)
		folder := filepath.Join(t.TempDir(), "room")
		MustFile(t, filepath.Join(folder, "upper", "file"), size)
		if err := c.grow(2, folder, true); err != nil {
			t.Fatal(err)
		}
		wantLayers(t, c, want...)
	}
}

// The oldest layers go before the others are joined, and what was joined is one layer.
func TestJoinedLayersArePruned(t *testing.T) {
	c := OpenCache(filepath.Join(t.TempDir(), "cache"), 2_000_000, slog.New(slog.DiscardHandler))
	for range maxLayers - 1 {
		MustGrow(t, c, 1)
	}
	_, release, err := c.use()
	if err != nil {
		t.Fatal(err)
	}
	MustGrow(t, c, 1)
	MustGrow(t, c, 1)
	layers, err := c.list()
	if err != nil || len(layers) != 1 || layers[0].Name != "13-joined" || layers[0].InUse {
		t.Fatalf("it lists %+v, %v", layers, err)
	}
	for i := range 13 {
		if _, err := os.Stat(filepath.Join(c.layer("13-joined").dir, fmt.Sprintf("of-%d", i+1))); err != nil {
			t.Error(err)
		}
		_, err := os.Stat(c.layer(strconv.Itoa(i + 1)).dir)
		if used := i < maxLayers-1; used != (err == nil) {
			t.Errorf("layer %d, in use: %v: %v", i+1, used, err)
		}
	}
	release()
	MustGrow(t, c, 1_100_000)
	wantLayers(t, c, "14", "13-joined")
	MustGrow(t, c, 1_100_000)
	wantLayers(t, c, "15") // the joined one went first, and whole
}

// Layers that exceed the limit are not joined into one that would exceed it as well.
func TestPrunedBeforeJoined(t *testing.T) {
	sizes := make([]int64, maxLayers)
	for i := range sizes {
		sizes[i] = 100_000
	}
	c := MustCache(t, 1_250_000, sizes...)
	MustGrow(t, c, 60_000)
	var want []string
	for i := range maxLayers {
		want = append(want, strconv.Itoa(maxLayers+1-i))
	}
	wantLayers(t, c, want...)
}

// Rooms open and close, the cache grows and is pruned twice, all at once: a layer is there
// for as long as a room has it, and the state names no layer that is gone.
func TestPruneAtOnce(t *testing.T) {
	c := MustCache(t, 50_000, 1, 1)
	const times = 40
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for i := range times {
				if _, err := c.prune(int64(i%2) * 20_000); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			for range times {
				layers, release, err := c.use()
				if err != nil {
					t.Error(err)
					return
				}
				for range 3 {
					for _, l := range layers {
						if files, err := os.ReadDir(l.Dir()); err != nil || len(files) == 0 {
							t.Errorf("a room's layer: %d files, %v", len(files), err)
						}
					}
				}
				release()
			}
		})
	}
	folder := t.TempDir()
	wg.Go(func() {
		for i := range times {
			from := c.Generation()
			room := filepath.Join(folder, strconv.Itoa(i))
			MustFile(t, filepath.Join(room, "upper", fmt.Sprintf("of-%d", from+1)), 5000)
			if err := c.grow(from, room, false); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	if c.Generation() != times+2 {
		t.Errorf("it grew %d times", c.Generation()-2)
	}
	if _, err := c.prune(c.limit); err != nil {
		t.Error(err)
	}
	var names []string
	layers, err := c.list()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range layers {
		names = append(names, l.Name)
	}
	wantLayers(t, c, names...)
}

// anyone runs commands as whoever Pawl runs as.
type anyone struct{ Enforcer }

func (anyone) Owner() pawl.Owner { return pawl.Owner{} }

// When a project is opened its cache is pruned to the present limit, and what a process
// that died left in it is removed.
func TestRecoverPrunesTheCache(t *testing.T) {
	c := MustCache(t, roomy, 10, 20, 30)
	MustFile(t, filepath.Join(c.dir, "4", "upper", "file"), 1)
	r := New(Options{State: filepath.Dir(c.dir), CacheSize: 35, Enforcer: anyone{}})
	if err := r.Recover(); err != nil {
		t.Fatal(err)
	}
	wantLayers(t, r.cache, "3", "2")
}

// What the rooms of a project keep is listed, whoever lists it.
func TestCacheInfo(t *testing.T) {
	state := t.TempDir()
	r := New(Options{State: state})
	empty, err := r.Cache(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := pawl.CacheInfo{Limit: 10_000_000_000, Layers: []pawl.CacheLayer{}, Rooms: []pawl.KeptRoom{}}
	if diff := cmp.Diff(want, empty); diff != "" {
		t.Errorf("the list of nothing differs (-want +got):\n%s", diff)
	}
	if text, err := json.Marshal(empty); err != nil || strings.Contains(string(text), "null") {
		t.Errorf("as JSON it is %s, %v", text, err)
	}
	MustGrow(t, r.cache, 5000)
	for _, name := range []string{"rooms/agents/001-a/001-a@task@1/home/x", "rooms/agents/001-a/001-a@task@1/cache/upper/y", "rooms/once/7/z", "layers/runs/001-a/3/work/files/w"} {
		MustFile(t, filepath.Join(state, filepath.FromSlash(name)), 5000)
	}
	got, err := New(Options{State: state, CacheSize: 7}).Cache(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Limit != 7 || len(got.Layers) != 1 || got.Size != got.Layers[0].Size || got.Size < 5000 || got.Layers[0].InUse || len(got.Rooms) != 2 {
		t.Fatalf("got %+v", got)
	}
	for i, want := range []pawl.KeptRoom{{Kind: pawl.RoomAgent, Run: "001-a", Name: "001-a/task/1"}, {Kind: pawl.RoomPrepared, Run: "001-a", Name: "3"}} {
		if want.Size = got.Rooms[i].Size; got.Rooms[i] != want || want.Size < int64(2-i)*5000 {
			t.Errorf("got %+v, want %+v", got.Rooms[i], want)
		}
	}
	negative := int64(-1)
	if _, err := r.PruneCache(t.Context(), pawl.PruneRequest{Size: &negative}); pawl.CodeOf(err) != pawl.CodeInvalid {
		t.Errorf("error %v, want an invalid one", err)
	}
}
