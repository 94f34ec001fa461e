package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/room"
	"pawl/internal/sandbox"
	"pawl/internal/testsize"
)

// estate is a project's rooms with a worktree and a checkout of commit c0.
type estate struct {
	*room.Rooms
	folder, dir string
	spec        pawl.GateRoom
}

// MustEstate opens the rooms of a new project.
func MustEstate(tb testing.TB, box *sandbox.Box) *estate {
	tb.Helper()
	folder := MustFolder(tb, box)
	e := &estate{Rooms: newRooms(box, folder), folder: folder, dir: filepath.Join(folder, "dir")}
	e.spec = pawl.GateRoom{Run: "001", Commit: "c0", Tree: MustCheckout(tb, box, folder)}
	tb.Cleanup(func() {
		if err := errors.Join(e.Close(), e.Remove("001")); err != nil {
			tb.Error(err)
		}
	})
	return e
}

// says opens a room, runs a shell line in it, closes it and returns what was printed.
func (e *estate) says(tb testing.TB, r pawl.Room, err error, shell string) string {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
	result := MustRun(tb, r, pawl.Command{Shell: shell})
	if err := r.Close(); err != nil {
		tb.Error(err)
	}
	return strings.TrimSpace(string(result.Output))
}

func (e *estate) agent(tb testing.TB, name, shell string) string {
	tb.Helper()
	r, err := e.Agent(tb.Context(), pawl.AgentRoom{Run: "001", Name: name, Tree: e.dir})
	return e.says(tb, r, err, shell)
}

func (e *estate) gate(tb testing.TB, shell string) string {
	tb.Helper()
	r, err := e.Gate(tb.Context(), e.spec)
	return e.says(tb, r, err, shell)
}

func (e *estate) base(tb testing.TB, shell string) string {
	tb.Helper()
	r, err := e.Base(tb.Context(), e.spec)
	return e.says(tb, r, err, shell)
}

// mechanisms runs a test with every way in which layers are joined.
func mechanisms(t *testing.T, test func(t *testing.T, box *sandbox.Box)) {
	confinedMechanisms(t, test)
	t.Run("Unconfined", func(t *testing.T) { test(t, sandbox.Unconfined()) })
}

// confinedMechanisms runs a test with every way in which a confined room's layers are joined.
// Copies share blocks on file systems that can; see TestOnAFileSystemThatSharesBlocks.
func confinedMechanisms(t *testing.T, test func(t *testing.T, box *sandbox.Box)) {
	t.Run("Overlay", func(t *testing.T) {
		box := MustConfined(t)
		if !box.Overlay(t.TempDir()) {
			t.Skip("overlayfs does not work here")
		}
		if got := room.Mechanism(box, t.TempDir()); got != "overlayfs" {
			t.Errorf("the mechanism is called %q", got)
		}
		test(t, box)
	})
	t.Run("Copies", func(t *testing.T) {
		box := MustCopying(t)
		if got := room.Mechanism(box, t.TempDir()); !strings.HasPrefix(got, "copies") {
			t.Errorf("the mechanism is called %q", got)
		}
		test(t, box)
	})
}

// everywhere are the folders in which a toolchain keeps what later commands use.
const everywhere = `"$HOME" "$TMPDIR" "$XDG_CACHE_HOME" "$GOCACHE" "$npm_config_cache" "$PIP_CACHE_DIR" "$CARGO_HOME" "$GRADLE_USER_HOME" "$PYTHONPYCACHEPREFIX"`

// A marker that one room leaves anywhere is seen in no other. // F-01
func TestRoomsLeaveNothingBehind(t *testing.T) {
	const leave = `for d in ` + everywhere + ` .; do mkdir -p "$d" && echo left > "$d/marker"; done; echo done`
	const look = `for d in ` + everywhere + ` .; do test -e "$d/marker" && echo "$d"; done; true`
	mechanisms(t, func(t *testing.T, box *sandbox.Box) {
		e := MustEstate(t, box)
		if got := e.agent(t, "001", leave); got != "done" {
			t.Fatalf("the agent's command says %q", got)
		}
		os.Remove(filepath.Join(e.dir, "marker")) // the worktree is the loop's own
		if got := e.gate(t, leave); got != "done" {
			t.Fatalf("the gate's command says %q", got)
		}
		for name, found := range map[string]string{
			"a gate": e.gate(t, look), "the base": e.base(t, look), "another agent": e.agent(t, "001/task/1", look),
		} {
			if found != "" {
				t.Errorf("%s sees what another room left in %s", name, found)
			}
		}
		// Its own home and caches an agent keeps, also when its holder has ended.
		if found := e.agent(t, "001", look); !strings.Contains(found, "go-build") || !strings.Contains(found, "home") {
			t.Errorf("the agent finds of its own only %s", found)
		}
	})
}

// The trusted cache is what base rooms leave, and nobody else changes it. // F-01
func TestTrustedCache(t *testing.T) {
	const entry = `"$GOCACHE/entry"`
	mechanisms(t, func(t *testing.T, box *sandbox.Box) {
		e := MustEstate(t, box)
		e.base(t, `mkdir -p "$GOCACHE"; echo one > `+entry+`; echo one > "$GOCACHE/second"; echo x > beside`)
		for range 2 {
			if got := e.gate(t, `cat `+entry+`; ls; echo poison > `+entry+`; rm "$GOCACHE/second"; echo poison > "$GOCACHE/new"`); got != "one" {
				t.Errorf("a gate finds %q", got)
			}
			if got := e.agent(t, "001/task/1", `test -e "$GOCACHE/second" && cat `+entry+`; echo poison > `+entry+`; rm -f "$GOCACHE/second"`); got != "one" && got != "" {
				t.Errorf("an agent finds %q", got)
			}
		}
		if got := e.base(t, `cat `+entry+` "$GOCACHE/second"; ls "$GOCACHE"; echo two > `+entry+`; rm "$GOCACHE/second"; echo 3 > "$GOCACHE/third"`); got != "one\none\nentry\nsecond" {
			t.Errorf("the base finds %q", got)
		}
		if got := e.gate(t, `cat `+entry+`; ls "$GOCACHE"`); got != "two\nentry\nthird" {
			t.Errorf("after the base a gate finds %q", got)
		}
	})
}

// A cache that has grown many times is joined into few layers, in which is what was in
// all of them.
func TestTrustedCacheIsJoined(t *testing.T) {
	mechanisms(t, func(t *testing.T, box *sandbox.Box) {
		e := MustEstate(t, box)
		const times = 15
		first := 0
		if testing.Short() && !(box.Mounts() && box.Overlay(e.folder)) {
			first = 8 // a copy has no layers to be joined
		}
		for i := first; i < times; i++ {
			e.base(t, fmt.Sprintf(`cd "$GOCACHE" 2>/dev/null || mkdir -p "$GOCACHE" && cd "$GOCACHE"
				echo %[1]d > last; mkdir -p d%[1]d e; echo x > d%[1]d/file; ln -s d%[1]d link%[1]d; echo %[1]d > e/%[1]d
				rm -rf d$((%[1]d-2)); test %[1]d != 9 || { rm -rf e; mkdir e; echo new > e/new; }`, i))
		}
		old := max(first, 3)
		look := fmt.Sprintf(`cd "$GOCACHE"; cat last; echo d*; echo e/*; readlink link%d`, old)
		if got := e.gate(t, look); got != fmt.Sprintf("14\nd13 d14\ne/10 e/11 e/12 e/13 e/14 e/new\nd%d", old) {
			t.Errorf("the cache has %q", got)
		}
		if err := e.Recover(); err != nil { // as the next process does
			t.Fatal(err)
		}
		layers, _ := filepath.Glob(filepath.Join(e.folder, "state", "cache", "*", "upper"))
		if len(layers) > times-8 {
			t.Errorf("the cache has %d layers", len(layers))
		}
		if got := e.gate(t, `cat "$GOCACHE/last"`); got != "14" {
			t.Errorf("after the clean-up the cache has %q", got)
		}
	})
}

// Without its oldest layer the cache shows less than before: nothing comes back that a
// newer layer deleted or replaced, no name is listed that is not there, and what hides
// nothing any more hinders no command.
func TestTrustedCacheIsPruned(t *testing.T) {
	mechanisms(t, func(t *testing.T, box *sandbox.Box) {
		e := MustEstate(t, box)
		e.base(t, `mkdir -p "$GOCACHE" && cd "$GOCACHE" && mkdir dir replaced gone && touch dir/old dir/deleted replaced/old gone/old deleted &&
			ln -s old dir/link && echo one > changed && echo whole > kept`)
		e.base(t, `cd "$GOCACHE" && rm -r deleted dir/deleted gone replaced && mkdir replaced && touch replaced/new dir/new new && chmod 640 kept &&
			rm dir/link && mkdir dir/link && echo two > changed`)
		info, err := e.Cache(t.Context())
		if err != nil || len(info.Layers) == 0 {
			t.Fatalf("it lists %+v, %v", info, err)
		}
		newest := info.Layers[0]
		pruned, err := e.PruneCache(t.Context(), pawl.PruneRequest{Size: &newest.Size})
		if err != nil || len(pruned.Removed) != len(info.Layers)-1 || pruned.Size != newest.Size {
			t.Fatalf("it removed %+v, %v", pruned, err)
		}
		const look = `cd "$GOCACHE" && for f in * dir/* replaced/*; do test -e "$f" && echo "$f" || echo "no $f"; done; cat changed kept`
		want := "changed\ndir\nkept\nnew\nreplaced\ndir/link\ndir/new\nreplaced/new\ntwo\nwhole"
		if len(info.Layers) == 1 { // it has copies of what is in older ones
			want = "changed\ndir\nkept\nnew\nreplaced\ndir/link\ndir/new\ndir/old\nreplaced/new\ntwo\nwhole"
		}
		if got := e.gate(t, look); got != want {
			t.Errorf("a gate finds %q, want %q", got, want)
		}
		if got := e.gate(t, `cd "$GOCACHE" && touch deleted dir/deleted && mkdir gone && rm -r dir replaced && ls`); got != "changed\ndeleted\ngone\nkept\nnew" {
			t.Errorf("after its own changes a gate finds %q", got)
		}
		all := int64(0)
		if _, err := e.PruneCache(t.Context(), pawl.PruneRequest{Size: &all}); err != nil {
			t.Fatal(err)
		}
		if got := e.gate(t, `test -e "$GOCACHE" || echo none`); got != "none" {
			t.Errorf("after all layers went a gate finds %q", got)
		}
		if left, _ := filepath.Glob(filepath.Join(e.folder, "state", "cache", "*", "upper")); len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
	})
}

// A layer stays for as long as a room has it, and nothing that such a room sees changes
// when the cache is pruned.
func TestPruneWhileRoomsAreOpen(t *testing.T) {
	mechanisms(t, func(t *testing.T, box *sandbox.Box) {
		e := MustEstate(t, box)
		e.base(t, `mkdir -p "$GOCACHE" && echo one > "$GOCACHE/entry"`)
		r, err := e.Agent(t.Context(), pawl.AgentRoom{Run: "001", Name: "001", Tree: e.dir})
		if err != nil {
			t.Fatal(err)
		}
		all := int64(0)
		pruned, err := e.PruneCache(t.Context(), pawl.PruneRequest{Size: &all})
		if err != nil || len(pruned.Removed) != 0 || pruned.Size == 0 {
			t.Errorf("it removed %+v, %v", pruned, err)
		}
		if got := MustRun(t, r, pawl.Command{Shell: `cat "$GOCACHE/entry"`}); string(got.Output) != "one\n" {
			t.Errorf("the agent finds %q", got.Output)
		}
		info, err := e.Cache(t.Context())
		if err != nil || !info.Layers[0].InUse || len(info.Rooms) != 1 || info.Rooms[0].Name != "001" || info.Rooms[0].Run != "001" {
			t.Errorf("it lists %+v, %v", info, err)
		}
		if err := e.Leave("001", "001"); err != nil {
			t.Fatal(err)
		}
		if pruned, err = e.PruneCache(t.Context(), pawl.PruneRequest{Size: &all}); err != nil || len(pruned.Removed) != 1 || pruned.Freed == 0 {
			t.Errorf("after the room was closed it removed %+v, %v", pruned, err)
		}
	})
}

// Rooms that were open at the same time do not mix what they wrote: the first one
// closed grows the cache, and the other one's goes.
func TestTrustedCacheGrowsByOne(t *testing.T) {
	mechanisms(t, func(t *testing.T, box *sandbox.Box) {
		e := MustEstate(t, box)
		other := e.spec
		other.Commit = "c1"
		r, err := e.Base(t.Context(), other)
		if err != nil {
			t.Fatal(err)
		}
		MustRun(t, r, pawl.Command{Shell: `mkdir -p "$GOCACHE"; echo late > "$GOCACHE/late"`})
		e.base(t, `mkdir -p "$GOCACHE"; echo first > "$GOCACHE/first"`)
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if got := e.gate(t, `ls "$GOCACHE"`); got != "first" {
			t.Errorf("the cache has %q", got)
		}
		// Two gates on the base at the same time share a room.
		one, err := e.Base(t.Context(), e.spec)
		if err != nil {
			t.Fatal(err)
		}
		MustRun(t, one, pawl.Command{Shell: `echo 1 > "$GOCACHE/one"`})
		e.base(t, `cat "$GOCACHE/one" > "$GOCACHE/two"`)
		if got := e.gate(t, `ls "$GOCACHE"`); got != "first" {
			t.Errorf("while a base room is open the cache has %q", got)
		}
		if err := one.Close(); err != nil {
			t.Error(err)
		}
		if got := e.gate(t, `ls "$GOCACHE"`); got != "first\none\ntwo" {
			t.Errorf("after both the cache has %q", got)
		}
	})
}

// key is the key of something that is prepared.
func key(n int) string { return fmt.Sprintf("%032x", n) }

// MustMkdir makes a folder.
func MustMkdir(tb testing.TB, dir string) {
	tb.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		tb.Fatal(err)
	}
}

// MustPrepare runs a command in a prepare room and keeps what it left.
func (e *estate) MustPrepare(t *testing.T, spec pawl.PrepareSpec, shell string) pawl.PreparedLayer {
	t.Helper()
	p, err := e.Prepare(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if out := MustRun(t, p, pawl.Command{Shell: shell}); out.ExitCode != 0 {
		t.Fatalf("%s: %s", shell, out.Output)
	}
	made, err := p.Keep()
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// What was prepared for a candidate is below the rooms of the same run alone, and never below a
// base room. It hides no file of a commit.
func TestPreparedLayer(t *testing.T) {
	mechanisms(t, func(t *testing.T, box *sandbox.Box) {
		e := MustEstate(t, box)
		MustWrite(t, filepath.Join(e.spec.Tree, "lock"), "1")
		MustMkdir(t, filepath.Join(e.spec.Tree, "web"))
		MustWrite(t, filepath.Join(e.spec.Tree, "web", "index"), "i")
		for _, name := range []string{"lock", "web", "web/index"} {
			MustGive(t, box, filepath.Join(e.spec.Tree, name))
		}
		modules := t.TempDir() // of the user, which commands cannot write to
		t.Setenv("GOMODCACHE", modules)
		prepare := pawl.PrepareSpec{Run: e.spec.Run, Commit: e.spec.Commit, Tree: e.spec.Tree, Key: key(1)}
		made := e.MustPrepare(t, prepare, `mkdir modules web/deps && echo m > modules/m && echo d > web/deps/d && echo h > "$HOME/h" &&
			mkdir -p "$npm_config_cache" "$GOMODCACHE" "$GOCACHE" && echo c > "$npm_config_cache/c" && echo fetched > "$GOMODCACHE/module" && echo forged > "$GOCACHE/forged" &&
			echo 2 > lock && rm web/index && mkdir web/index && echo x > web/index/x && ln -s /etc/passwd link && mkfifo pipe && touch "a
b" "$(printf 'c\r')" "$(printf 'bad\377')" && mkdir "$(printf 'folder\376')" "$(printf 'modules/\376')"`)
		if want := []string{"link", "modules", "web/deps"}; !slices.Equal(made.Paths, want) || made.Size == 0 || made.Key != key(1) {
			t.Errorf("it left %+v", made)
		}
		spec := e.spec
		spec.Prepared = key(1)
		const look = `cat lock modules/m web/deps/d web/index "$HOME/h" "$npm_config_cache/c" "$GOMODCACHE/module" "$GOCACHE/forged" 2>/dev/null | tr -d '\n'; rm -rf modules`
		for range 2 {
			r, err := e.Gate(t.Context(), spec)
			if got := e.says(t, r, err, look); got != "1mdihcfetched" {
				t.Errorf("a gate finds %q", got)
			}
		}
		if got := e.gate(t, look); got != "1i" {
			t.Errorf("a gate that nothing was prepared for finds %q", got)
		}
		// Of a commit that has such a path itself, that of the commit is seen.
		MustMkdir(t, filepath.Join(e.spec.Tree, "modules"))
		MustWrite(t, filepath.Join(e.spec.Tree, "modules", "m"), "mine")
		r, err := e.Gate(t.Context(), spec)
		if got := e.says(t, r, err, "cat modules/m web/deps/d"); got != "mined" {
			t.Errorf("a gate of a later commit finds %q", got)
		}
		other := spec
		other.Run = "002"
		if r, err := e.Gate(t.Context(), other); err == nil {
			r.Close()
			t.Error("a room of another run has what was prepared for a candidate")
		}
		if r, err := e.Base(t.Context(), spec); err == nil {
			r.Close()
			t.Error("a base room has what was prepared for a candidate")
		}
		if err := e.Remove(e.spec.Run); err != nil {
			t.Error(err)
		}
		if _, known, err := e.Prepared(e.spec.Run, key(1), false); known || err != nil {
			t.Errorf("it is there when the run is over: %v", err)
		}
	})
}

// Whatever kinds of files commands leave, what was prepared can be kept, read by the rooms of
// a commit, copied into a worktree that is not joined, and removed.
func TestPreparedLayerOfOddFiles(t *testing.T) {
	mechanisms(t, func(t *testing.T, box *sandbox.Box) {
		e := MustEstate(t, box)
		MustMkdir(t, filepath.Join(e.spec.Tree, "web"))
		MustGive(t, box, filepath.Join(e.spec.Tree, "web"))
		prepare := pawl.PrepareSpec{Run: e.spec.Run, Commit: e.spec.Commit, Tree: e.spec.Tree, Key: key(1), Trusted: true}
		made := e.MustPrepare(t, prepare, `mkdir -p modules/closed web/modules && cd modules && echo in > closed/in && chmod 0 closed/in closed &&
			echo linked > one && ln one two && ln -s /etc/passwd absolute && ln -s ../../../../etc/passwd outside && ln -s loop loop && ln -s "$PWD/one" self &&
			mkfifo pipe && touch "$(printf 'line\nbreak')" "$(printf 'bad\377')" && mkdir "$(printf 'folder\376')" && chmod 0 folder* && chmod 0 ../web && mkfifo "$HOME/pipe" &&
			chmod 0 .`)
		if want := []string{"modules", "web/modules"}; !slices.Equal(made.Paths, want) {
			t.Errorf("it left %q, want %q", made.Paths, want)
		}
		const look = `cd modules && cat closed/in one two | tr '\n' ' '; readlink absolute outside loop self | wc -l; set -- *; echo $#`
		spec := e.spec
		spec.Prepared = key(1)
		r, err := e.Gate(t.Context(), spec)
		got := strings.Fields(e.says(t, r, err, look))
		if want := []string{"in", "linked", "linked", "4"}; len(got) != 5 || !slices.Equal(got[:4], want) {
			t.Errorf("a gate finds %q, want %q", got, want)
		}
		if err := e.Copy(t.Context(), e.dir, pawl.PreparedFor{Run: spec.Run, Key: key(1)}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Fields(e.agent(t, "001", look)); len(got) != 5 || got[4] != "10" {
			t.Errorf("a worktree has %q", got)
		}
		nothing := int64(0)
		if _, err := e.PruneCache(t.Context(), pawl.PruneRequest{Size: &nothing}); err != nil {
			t.Error(err)
		}
		for _, left := range []string{"layers/prepared/*", "rooms/once/*"} {
			if found, err := filepath.Glob(filepath.Join(e.folder, "state", left)); err != nil || len(found) > 0 {
				t.Errorf("left over are %v, %v", found, err)
			}
		}
	})
}

// What was prepared for the commit that a run starts from serves all runs. The caches of what
// a candidate needs besides are above its own.
func TestTrustedPreparedLayer(t *testing.T) {
	mechanisms(t, func(t *testing.T, box *sandbox.Box) {
		e := MustEstate(t, box)
		base := pawl.PrepareSpec{Run: "001", Commit: e.spec.Commit, Tree: e.spec.Tree, Key: key(1), Trusted: true}
		e.MustPrepare(t, base, `mkdir deps && echo one > deps/one && mkdir -p "$npm_config_cache" && echo one > "$npm_config_cache/one"`)
		more := pawl.PrepareSpec{Run: "002", Commit: "c2", Tree: e.spec.Tree, Key: key(2), Below: key(1)}
		e.MustPrepare(t, more, `test ! -e deps && cat "$npm_config_cache/one" && mkdir deps && echo two > deps/two && echo two > "$npm_config_cache/two"`)
		for name, test := range map[string]struct {
			run  pawl.RunID
			key  string
			open func(context.Context, pawl.GateRoom) (pawl.Room, error)
			want string
		}{
			"OtherRun":  {"003", key(1), e.Gate, "one one"},
			"Base":      {"003", key(1), e.Base, "one one"},
			"Candidate": {"002", key(2), e.Gate, "two one two"},
		} {
			spec := e.spec
			spec.Run, spec.Prepared = test.run, test.key
			r, err := test.open(t.Context(), spec)
			if got := e.says(t, r, err, `cat deps/* "$npm_config_cache"/* | tr '\n' ' '`); strings.TrimSpace(got) != test.want {
				t.Errorf("%s: a room finds %q, want %q", name, got, test.want)
			}
		}
		// A room that is open and what stands on a layer keep it; then it is pruned.
		spec := e.spec
		spec.Run, spec.Prepared = "003", key(1)
		r, err := e.Gate(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		nothing := int64(0)
		prune := func(want bool) {
			t.Helper()
			if _, err := e.PruneCache(t.Context(), pawl.PruneRequest{Size: &nothing}); err != nil {
				t.Error(err)
			}
			if _, known, err := e.Prepared("003", key(1), false); known != want || err != nil {
				t.Errorf("it is there: %t, want %t (%v)", known, want, err)
			}
		}
		prune(true)
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if box.Mounts() && box.Overlay(e.folder) {
			prune(true) // that of the candidate is above it
		}
		if err := e.Remove("002"); err != nil {
			t.Error(err)
		}
		prune(false)
	})
}

// What was prepared and cannot be used any more is not there, and is prepared again. What was
// prepared for a candidate does not stand in for it below a base room.
func TestPreparedLayerIsReplaced(t *testing.T) {
	mechanisms(t, func(t *testing.T, box *sandbox.Box) {
		e := MustEstate(t, box)
		layers := filepath.Join(e.folder, "state", "layers")
		base := pawl.PrepareSpec{Run: "001", Commit: e.spec.Commit, Tree: e.spec.Tree, Key: key(1), Trusted: true}
		candidate := pawl.PrepareSpec{Run: "001", Commit: "c2", Tree: e.spec.Tree, Key: key(2), Below: key(1)}
		same := pawl.PrepareSpec{Run: "001", Commit: "c3", Tree: e.spec.Tree, Key: key(1)}
		known := func(spec pawl.PrepareSpec, want bool) {
			t.Helper()
			if _, known, err := e.Prepared(spec.Run, spec.Key, spec.Trusted); known != want || err != nil {
				t.Errorf("for %s it is there: %t, %v", spec.Commit, known, err)
			}
		}
		e.MustPrepare(t, base, "touch base")
		e.MustPrepare(t, candidate, "touch candidate")
		known(candidate, true)

		// Somebody removed what is below it.
		if err := os.RemoveAll(filepath.Join(layers, "prepared", key(1))); err != nil {
			t.Fatal(err)
		}
		known(candidate, !box.Mounts() || !box.Overlay(e.folder)) // a copy is whole
		e.MustPrepare(t, candidate, "touch again")
		known(candidate, true)

		// A candidate may have the key of the base.
		e.MustPrepare(t, same, "touch same")
		known(same, true)
		known(base, false)
		spec := e.spec
		spec.Prepared = key(1)
		if r, err := e.Base(t.Context(), spec); err == nil {
			r.Close()
			t.Error("a base room has what was prepared for a candidate")
		}
		e.MustPrepare(t, base, "touch base")
		r, err := e.Base(t.Context(), spec)
		if got := e.says(t, r, err, "ls"); got != "base" {
			t.Errorf("a base room finds %q", got)
		}

		// A power cut left a manifest without content.
		MustWrite(t, filepath.Join(layers, "prepared", key(1), "manifest.json"), "")
		known(base, false)
		e.MustPrepare(t, base, "touch after")
		r, err = e.Base(t.Context(), spec)
		if got := e.says(t, r, err, "ls"); got != "after" {
			t.Errorf("a base room finds %q after the power cut", got)
		}
	})
}

// What cannot be kept is an error that says why, and leaves nothing behind.
func TestPreparedLayerThatCannotBeKept(t *testing.T) {
	mechanisms(t, func(t *testing.T, box *sandbox.Box) {
		e := MustEstate(t, box)
		prepare := pawl.PrepareSpec{Run: e.spec.Run, Commit: e.spec.Commit, Tree: e.spec.Tree, Key: key(1)}
		p, err := e.Prepare(t.Context(), prepare)
		if err != nil {
			t.Fatal(err)
		}
		MustRun(t, p, pawl.Command{Shell: "touch new"})
		MustWrite(t, filepath.Join(e.folder, "state", "layers", "runs"), "in the way")
		if _, err := p.Keep(); err == nil || !strings.HasSuffix(err.Error(), "not a directory") || strings.Count(err.Error(), e.folder) != 1 {
			t.Errorf("keeping it: %v", err)
		}
		if err := os.Remove(filepath.Join(e.folder, "state", "layers", "runs")); err != nil {
			t.Fatal(err)
		}
		if left, err := filepath.Glob(filepath.Join(e.folder, "state", "rooms", "once", "*")); err != nil || len(left) > 0 {
			t.Errorf("left over are %v, %v", left, err)
		}
		if made := e.MustPrepare(t, prepare, "touch new"); !slices.Equal(made.Paths, []string{"new"}) {
			t.Errorf("the second time it left %+v", made)
		}
	})
}

// The trusted cache is pruned while what was prepared for a candidate is kept: what that has
// below it stays.
func TestPreparedLayerIsKeptWhilePruning(t *testing.T) {
	box := MustConfined(t)
	e := MustEstate(t, box)
	if !box.Overlay(e.folder) {
		t.Skip("overlayfs does not work here: a copy has nothing below it")
	}
	base := pawl.PrepareSpec{Run: "001", Commit: e.spec.Commit, Tree: e.spec.Tree, Key: key(1), Trusted: true}
	e.MustPrepare(t, base, "touch base")
	p, err := e.Prepare(t.Context(), pawl.PrepareSpec{Run: "001", Commit: "c2", Tree: e.spec.Tree, Key: key(2), Below: key(1)})
	if err != nil {
		t.Fatal(err)
	}
	MustRun(t, p, pawl.Command{Shell: "mkdir many && cd many && seq 3000 | xargs touch"})
	kept, pruning := make(chan struct{}), make(chan error, 1)
	go func() {
		nothing := int64(0)
		for {
			if _, err := e.PruneCache(context.Background(), pawl.PruneRequest{Size: &nothing}); err != nil {
				pruning <- err
				return
			}
			select {
			case <-kept:
				pruning <- nil
				return
			default:
			}
		}
	}()
	if _, err := p.Keep(); err != nil {
		t.Error(err)
	}
	close(kept)
	if err := <-pruning; err != nil {
		t.Error(err)
	}
	if _, known, err := e.Prepared("001", key(2), false); !known || err != nil {
		t.Errorf("what was prepared cannot be used: %v", err)
	}
}

// What two prepare at the same time is kept once, and both have it.
func TestPreparedAtTheSameTime(t *testing.T) {
	e := MustEstate(t, sandbox.Unconfined())
	spec := pawl.PrepareSpec{Run: "001", Commit: e.spec.Commit, Tree: e.spec.Tree, Key: key(1), Trusted: true}
	first, err := e.Prepare(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	MustRun(t, first, pawl.Command{Shell: "echo first > deps"})
	second := e.MustPrepare(t, spec, "echo second > deps")
	made, err := first.Keep()
	if err != nil || made.Key != second.Key || !slices.Equal(made.Paths, second.Paths) {
		t.Errorf("the slower one has %+v, %v, want %+v", made, err, second)
	}
	e.spec.Prepared = key(1)
	if got := e.gate(t, "cat deps"); got != "second" {
		t.Errorf("a gate finds %q", got)
	}
}

// Only a clean checkout of the project can be below a gate's room.
func TestOnlyCheckoutsAreLayers(t *testing.T) {
	e := MustEstate(t, sandbox.Unconfined())
	e.agent(t, "001", "true")
	trees := []string{e.dir, t.TempDir(), "checkouts/c0", "/"}
	for _, name := range []string{"", "rooms/agents/001/001/home", "worktrees/001", "layered/001/upper/files", "quarantine/001-1", "checkouts", "checkouts/../worktrees/001"} {
		tree := e.folder + "/state/" + name
		if err := os.MkdirAll(tree, 0o755); err != nil {
			t.Fatal(err)
		}
		trees = append(trees, tree)
	}
	for _, tree := range trees {
		spec := e.spec
		spec.Tree = tree
		r, err := e.Gate(t.Context(), spec)
		if err == nil {
			r.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "not a clean checkout") {
			t.Errorf("%s below a gate's room: %v", tree, err)
		}
	}
}

// A gate's room leaves nothing on the disk, and a run's rooms nothing after it.
func TestRoomsAreRemoved(t *testing.T) {
	mechanisms(t, func(t *testing.T, box *sandbox.Box) {
		e := MustEstate(t, box)
		e.gate(t, `mkdir -p "$GOCACHE/x"; chmod 000 "$GOCACHE/x"; mkdir locked; touch locked/file; chmod 500 locked`)
		e.agent(t, "001", `mkdir -p "$HOME/x/y"; chmod 000 "$HOME/x"`)
		if err := e.Leave("001", "001"); err != nil {
			t.Error(err)
		}
		e.agent(t, "001/task/2", "true")
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if err := e.Remove("001"); err != nil {
			t.Error(err)
		}
		left, _ := filepath.Glob(filepath.Join(e.folder, "state", "rooms", "*", "*"))
		if len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
	})
}

// A holder that died is replaced, and what the room had on the disk is there.
func TestHolderThatDied(t *testing.T) {
	e := MustEstate(t, MustConfined(t))
	r, err := e.Agent(t.Context(), pawl.AgentRoom{Run: "001", Name: "001", Tree: e.dir})
	if err != nil {
		t.Fatal(err)
	}
	token := newToken(t)
	result, err := r.Run(t.Context(), pawl.Command{Shell: "echo kept > $HOME/file; echo ready; sleep " + token, Progress: onLine("ready", func() {
		for _, pid := range processes(token) {
			killHolder(pid)
		}
	})})
	if pawl.CodeOf(err) != pawl.CodeUnavailable {
		t.Errorf("got %+v, error %v, want one that the holder ended", result.ExitCode, err)
	}
	if left := processes(token); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	if got := MustRun(t, r, pawl.Command{Shell: "cat $HOME/file"}); string(got.Output) != "kept\n" {
		t.Errorf("the next command finds %q, %d", got.Output, got.ExitCode)
	}
}

// A holder that dies between two commands is replaced as well, also that of a gate: what
// was written is there, and what was in memory is not.
func TestHolderThatDiedBetweenCommands(t *testing.T) {
	confinedMechanisms(t, func(t *testing.T, box *sandbox.Box) {
		e := MustEstate(t, box)
		MustWrite(t, filepath.Join(e.spec.Tree, "file"), "source")
		MustGive(t, box, filepath.Join(e.spec.Tree, "file"))
		e.base(t, `mkdir -p "$GOCACHE"; echo base >"$GOCACHE/entry"`)
		agent, err := e.Agent(t.Context(), pawl.AgentRoom{Run: "001", Name: "001", Tree: e.dir})
		if err != nil {
			t.Fatal(err)
		}
		gate, err := e.Gate(t.Context(), e.spec)
		if err != nil {
			t.Fatal(err)
		}
		defer gate.Close()
		for _, test := range []struct {
			name string
			room pawl.Room
			want string
		}{
			{"agent", agent, "work cache home "}, {"gate", gate, "work cache gone source"},
		} {
			result := MustRun(t, test.room, pawl.Command{Shell: `echo work >made; echo cache >"$GOCACHE/entry"; rm -f "$GOCACHE/old"; echo home >"$HOME/made"; echo temp >"$TMPDIR/made"`})
			if result.ExitCode != 0 {
				t.Fatalf("the command says %q", result.Output)
			}
			for range 2 {
				holder := holderOf(t, test.room)
				unix.Kill(holder, unix.SIGKILL)
				waitGone(t, []int{holder})
				result := MustRun(t, test.room, pawl.Command{Shell: `test ! -e "$TMPDIR/made" || echo temp; echo $(cat made) $(cat "$GOCACHE/entry") $(cat "$HOME/made" 2>/dev/null || echo gone) "$(cat file 2>/dev/null)"`})
				if got := strings.TrimSuffix(string(result.Output), "\n"); got != test.want {
					t.Errorf("%s: the next command finds %q, want %q", test.name, got, test.want)
				}
			}
		}
		if got := e.gate(t, `cat file "$GOCACHE/entry"; ls`); got != "sourcebase\nfile" {
			t.Errorf("another gate finds %q", got)
		}
	})
}

// holderOf returns the holder of a room in which no command runs.
func holderOf(t *testing.T, r pawl.Room) int {
	t.Helper()
	token, holder := newToken(t), 0
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := r.Run(ctx, pawl.Command{Shell: "echo ready; exec sleep " + token, Progress: onLine("ready", func() {
		for _, pid := range processes(token) {
			if above := holderAbove(pid); above != 0 {
				holder = above
			}
		}
		cancel()
	})})
	if !errors.Is(err, context.Canceled) || holder == 0 {
		t.Fatalf("the room's holder is %d, error %v", holder, err)
	}
	return holder
}

// killHolder kills the holder above a process.
func killHolder(pid int) {
	if holder := holderAbove(pid); holder != 0 {
		unix.Kill(holder, unix.SIGKILL)
	}
}

// holderAbove returns the first process, from the given one upwards, that runs the test
// program; 0 if there is none.
func holderAbove(pid int) int {
	self, err := os.Executable()
	for err == nil && pid > 1 && pid != os.Getpid() {
		if program, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe")); err == nil && program == self {
			return pid
		}
		var stat []byte
		if stat, err = os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat")); err != nil {
			break
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		pid, err = strconv.Atoi(fields[1])
	}
	return 0
}

// Boxes of one process do not get in each other's way.
func TestBoxesSideBySide(t *testing.T) {
	MustConfined(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := sandbox.Probe(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// Reach gives this process the work tree that commands see, with what they wrote.
func TestReach(t *testing.T) {
	mechanisms(t, func(t *testing.T, box *sandbox.Box) {
		e := MustEstate(t, box)
		MustWrite(t, filepath.Join(e.spec.Tree, "file"), "base")
		r, err := e.Gate(t.Context(), e.spec)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		MustRun(t, r, pawl.Command{Shell: "echo more > report.xml"})
		tree, err := r.Tree()
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"file": "base", "report.xml": "more\n"} {
			if got, err := os.ReadFile(filepath.Join(tree, name)); err != nil || string(got) != want {
				t.Errorf("%s is %q, %v", name, got, err)
			}
		}
		if _, err := os.Stat(filepath.Join(e.spec.Tree, "report.xml")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("what the gate wrote is in the checkout: %v", err)
		}
	})
}

func TestGive(t *testing.T) {
	mechanisms(t, func(t *testing.T, box *sandbox.Box) {
		e := MustEstate(t, box)
		r, err := e.Gate(t.Context(), e.spec)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for _, content := range []string{"one\n", "two\n"} {
			path, err := r.Give("list", []byte(content))
			if err != nil {
				t.Fatal(err)
			}
			if got := MustRun(t, r, pawl.Command{Shell: `cat "$LIST"`, Env: []string{"LIST=" + path}}); string(got.Output) != content {
				t.Errorf("a command reads %q", got.Output)
			}
		}
		for _, name := range []string{"", ".", "..", "a/b", "/etc/passwd"} {
			if _, err := r.Give(name, nil); pawl.CodeOf(err) != pawl.CodeInvalid {
				t.Errorf("%q: error %v, want an invalid one", name, err)
			}
		}
	})
}

// What holds for root holds for an ordinary user as well: the tests of rooms once more,
// by one. A turn runs a tenth of them, and -short a few.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("all tests run as an ordinary user already")
	}
	MustConfined(t)
	const uid = 61_999
	home := t.TempDir()
	for dir := home; dir != "/"; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o055 != 0o055 {
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if filepath.Dir(dir) == os.TempDir() {
			break
		}
	}
	program := filepath.Join(home, "test")
	if out, err := exec.Command("cp", MustSelf(t), program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Chown(home, uid, uid); err != nil {
		t.Fatal(err)
	}
	asUser := func(args ...string) (string, error) {
		cmd := exec.Command(program, append(args, "-test.short")...)
		cmd.Dir = home
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	which := "^(TestJoinedRoom|TestConfinedProcesses|TestTimeoutEndsTheWholeTree)$"
	if !testing.Short() {
		which = "Room|Delegate|Joined|Cache|Layer|Holder|Reach|Give|Confined|Timeout|Nothing|Descriptors|Results|Limits|Wide"
		list, err := asUser("-test.list", which)
		if err != nil {
			t.Fatalf("%v:\n%s", err, list)
		}
		var names []string
		for i, name := range strings.Fields(list) {
			if testsize.Case(i, 0) {
				names = append(names, name)
			}
		}
		which = "^(" + strings.Join(names, "|") + ")$"
	}
	// Without -test.v, the program prints only what failed. What shows that cheats are some shows it once.
	if out, err := asUser("-test.run", which, "-test.skip", "OwnRoom"); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
	out, err := asUser("-test.run", "^TestTrustedCache$/^Overlay$", "-test.v")
	if err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
	if !strings.Contains(out, "--- PASS: TestTrustedCache/Overlay") && strings.Contains(out, "bubblewrap does not work here") {
		t.Skip("an ordinary user cannot confine commands here")
	}
}

// F-04: a command that fills the disk is ended, whatever it writes to; the room goes on, and
// one that makes room again is left alone.
func TestDiskIsWatched(t *testing.T) {
	box := MustConfined(t)
	const size = 8 << 20
	for name, test := range map[string]struct {
		shell string
		met   pawl.ResourceMet
	}{
		"Worktree": {"while :; do head -c 1000000 /dev/urandom > f$((i=i+1)); done", pawl.ResourceMet{Resource: pawl.ResourceDisk, Max: size}},
		"Home":     {"cd; while :; do head -c 1000000 /dev/urandom > f$((i=i+1)); done", pawl.ResourceMet{Resource: pawl.ResourceDisk, Max: size}},
		"Cache":    {`cd "$XDG_CACHE_HOME/.."; while :; do head -c 1000000 /dev/urandom > f$((i=i+1)); test $i -lt 40 || sleep 60; done`, pawl.ResourceMet{Resource: pawl.ResourceDisk, Max: size}},
		"Files":    {"while :; do : > f$((i=i+1)); test $i -lt 20000 || sleep 60; done", pawl.ResourceMet{Resource: pawl.ResourceFiles, Max: 300}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := MustLimited(t, box, pawl.RoomLimits{Disk: size, Files: 300})
			shell := strings.ReplaceAll(test.shell, "while :; do head", "while test ${i:-0} -lt 40 || sleep 60; do head")
			result := MustRun(t, r, pawl.Command{Shell: shell, Timeout: 5 * time.Minute})
			if result.TimedOut || !slices.Contains(result.Met, test.met) {
				t.Errorf("got exit code %d, timed out: %v, limits met: %v", result.ExitCode, result.TimedOut, result.Met)
			}
			result = MustRun(t, r, pawl.Command{Shell: `rm -rf ~/* /work/* /cache/*; echo fine`})
			if string(result.Output) != "fine\n" || len(result.Met) > 0 {
				t.Errorf("a command that makes room prints %q, limits met: %v", result.Output, result.Met)
			}
		})
	}
}

// F-04: limits that the kernel enforces are told with the result of the command that met them.
func TestLimitsAreTold(t *testing.T) {
	box := MustConfined(t)
	groups := !strings.Contains(box.Describe(), "no control groups")
	for name, test := range map[string]struct {
		shell string
		met   pawl.ResourceMet
		group bool // only a control group tells
	}{
		"FileSize":  {"exec head -c 2000000 /dev/zero > big", pawl.ResourceMet{Resource: pawl.ResourceFileSize, Max: 1 << 20}, false},
		"CPU":       {"exec sh -c 'while :; do :; done'", pawl.ResourceMet{Resource: pawl.ResourceCPU, Max: 1}, false},
		"Processes": {"i=0; while [ $i -lt 100 ]; do sleep 10 & i=$((i+1)); done", pawl.ResourceMet{Resource: pawl.ResourceProcesses, Max: 60}, true},
		"Memory":    {"head -c 400000000 /dev/zero | tail -c 390000000 | wc -c", pawl.ResourceMet{Resource: pawl.ResourceMemory, Max: 200 << 20}, true},
		// Files in /tmp are no process's memory, so the holder may be killed for them.
		"Temp": {"for i in $(seq 300); do head -c 1000000 /dev/zero > /tmp/$i; done", pawl.ResourceMet{Resource: pawl.ResourceMemory, Max: 200 << 20}, true},
	} {
		if test.group && !groups {
			continue
		}
		limits := pawl.RoomLimits{Processes: 60, Memory: 200 << 20, FileSize: 1 << 20}
		if test.met.Resource == pawl.ResourceCPU { // on a slow machine the other commands need more
			limits.CPU = time.Second
		}
		r := MustLimited(t, box, limits)
		result := MustRun(t, r, pawl.Command{Shell: test.shell})
		if !slices.Contains(result.Met, test.met) {
			t.Errorf("%s: exit code %d, limits met: %v: %.200s", name, result.ExitCode, result.Met, result.Output)
		}
		if result := MustRun(t, r, pawl.Command{Shell: "echo fine"}); len(result.Met) > 0 || string(result.Output) != "fine\n" {
			t.Errorf("%s: then a command prints %q, limits met: %v", name, result.Output, result.Met)
		}
	}
}

// Every kind of room has the limits that it is asked for. Base rooms of one commit
// that are open at the same time share a room only under the same limits.
func TestEveryRoomHasItsLimits(t *testing.T) {
	e := MustEstate(t, MustConfined(t))
	wide := e.spec
	shared, err := e.Base(t.Context(), wide)
	if err != nil {
		t.Fatal(err)
	}
	defer shared.Close()
	narrow := e.spec
	narrow.Limits = pawl.RoomLimits{FileSize: 1 << 20}
	for name, open := range map[string]func() (pawl.Room, error){
		"Agent": func() (pawl.Room, error) {
			return e.Agent(t.Context(), pawl.AgentRoom{Run: "001", Name: "001", Tree: e.dir, Limits: narrow.Limits})
		},
		"Gate": func() (pawl.Room, error) { return e.Gate(t.Context(), narrow) },
		"Base": func() (pawl.Room, error) { return e.Base(t.Context(), narrow) },
		"Prepare": func() (pawl.Room, error) {
			return e.Prepare(t.Context(), pawl.PrepareSpec{Run: "001", Commit: "c0", Tree: narrow.Tree, Key: key(1), Limits: narrow.Limits})
		},
	} {
		r, err := open()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		result := MustRun(t, r, pawl.Command{Shell: "exec head -c 2000000 /dev/zero > big"})
		if want := (pawl.ResourceMet{Resource: pawl.ResourceFileSize, Max: 1 << 20}); !slices.Contains(result.Met, want) {
			t.Errorf("%s: exit code %d, limits met: %v", name, result.ExitCode, result.Met)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if result := MustRun(t, shared, pawl.Command{Shell: "head -c 2000000 /dev/zero > big"}); result.ExitCode != 0 || len(result.Met) > 0 {
		t.Errorf("the room with the defaults: exit code %d, limits met: %v", result.ExitCode, result.Met)
	}
}

// The wide profile reaches the commands of a room: what only it allows works there and
// nowhere else.
func TestWideProfile(t *testing.T) {
	MustConfined(t)
	for name, wide := range map[string]bool{"Default": false, "Wide": true} {
		t.Run(name, func(t *testing.T) {
			box, err := sandbox.New(t.Context(), sandbox.Options{Wide: wide})
			if err != nil {
				t.Fatal(err)
			}
			result := MustRun(t, MustRoom(t, box), pawl.Command{Argv: []string{MustSelf(t), "__wide"}})
			if want := fmt.Sprintf("shmget: %v\nptrace: %v\n", wide, wide); string(result.Output) != want {
				t.Errorf("got %q, want %q", result.Output, want)
			}
			if told := strings.Contains(box.Describe(), "wide profile"); told != wide {
				t.Errorf("it is described as %s", box.Describe())
			}
		})
	}
}

// Root may choose the user id that commands run as, but not one that has an account.
func TestUID(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can run commands as somebody else")
	}
	MustConfined(t)
	const uid = 70_123
	box, err := sandbox.New(t.Context(), sandbox.Options{UID: uid})
	if err != nil {
		t.Fatal(err)
	}
	r := MustRoom(t, box)
	MustRun(t, r, pawl.Command{Shell: ": > mine"})
	info, err := os.Stat(filepath.Join(r.dir, "mine"))
	if err != nil || info.Sys().(*syscall.Stat_t).Uid != uid {
		t.Errorf("a command's file is %+v, error %v", info, err)
	}
	account, err := user.Lookup("nobody")
	if err != nil {
		t.Skipf("there is no account to try: %v", err)
	}
	taken, err := strconv.Atoi(account.Uid)
	if err != nil {
		t.Fatal(err)
	}
	_, err = sandbox.New(t.Context(), sandbox.Options{UID: taken})
	if pawl.CodeOf(err) != pawl.CodeInvalid || !strings.HasPrefix(err.Error(), "sandbox.uid: "+account.Uid+" is the user id of the account nobody") {
		t.Errorf("the user id of an account: error %v", err)
	}
}

// When commands run as another user than before, they can change what they wrote.
func TestAnotherUID(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can run commands as somebody else")
	}
	MustConfined(t)
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(folder, "state", "worktrees", "001")
	for i, uid := range []int{70_123, 70_124, 70_124, 70_123} {
		box, err := sandbox.New(t.Context(), sandbox.Options{UID: uid})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if err := os.MkdirAll(tree, 0o755); err != nil {
				t.Fatal(err)
			}
			MustGive(t, box, tree)
		}
		rooms := newRooms(box, folder)
		if err := rooms.Recover(); err != nil {
			t.Fatal(err)
		}
		r, err := rooms.Agent(t.Context(), pawl.AgentRoom{Run: "001", Name: "001", Tree: tree})
		if err != nil {
			t.Fatal(err)
		}
		result := MustRun(t, r, pawl.Command{Shell: `for d in . "$HOME" "$XDG_CACHE_HOME"; do mkdir -p "$d/sub" && echo line >> "$d/sub/file" && wc -l < "$d/sub/file"; done`})
		if want := strings.Repeat(fmt.Sprintln(i+1), 3); string(result.Output) != want {
			t.Errorf("as user %d: a command prints %q, want %q", uid, result.Output, want)
		}
		if err := rooms.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A room works under the least limits that it may be given.
func TestLeastLimits(t *testing.T) {
	r := MustLimited(t, MustConfined(t), pawl.RoomLimits{Processes: pawl.MinRoomProcesses, Memory: pawl.MinRoomMemory, FileSize: 1, Disk: 1, Files: 1, CPU: time.Second})
	result := MustRun(t, r, pawl.Command{Shell: "echo fine | cat"})
	if string(result.Output) != "fine\n" || len(result.Met) > 0 {
		t.Errorf("a command prints %q, limits met: %v", result.Output, result.Met)
	}
}

// Files are laid over a checkout for one room, in place of whatever is in their way, and the checkout
// stays as it is.
func TestFilesOverACheckout(t *testing.T) {
	mechanisms(t, func(t *testing.T, box *sandbox.Box) {
		e := MustEstate(t, box)
		tree := e.spec.Tree
		for name, content := range map[string]string{"taken": "theirs", "folder/in": "theirs", "kept": "theirs"} {
			path := filepath.Join(tree, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("/etc", filepath.Join(tree, "link")); err != nil {
			t.Fatal(err)
		}
		e.spec.Over = []pawl.RoomFile{{Path: "taken", Data: []byte("ours\n")}, {Path: "folder", Data: []byte("ours\n")}, {Path: "link/passwd", Data: []byte("ours\n")},
			{Path: "new/deep/run", Data: []byte("#!/bin/sh\necho ran\n"), Executable: true}}
		got := e.gate(t, `cat taken folder link/passwd kept; echo; ./new/deep/run; echo changed > taken && echo more > new/more && cat taken`)
		if got != "ours\nours\nours\ntheirs\nran\nchanged" {
			t.Errorf("commands see %q", got)
		}
		over := e.spec.Over
		e.spec.Over = nil
		if got := e.gate(t, `cat taken folder/in; if [ -e new/deep ]; then echo new/deep; fi`); got != "theirstheirs" {
			t.Errorf("the next room sees %q", got)
		}
		e.spec.Over = over
		if _, err := e.Base(t.Context(), e.spec); pawl.CodeOf(err) != pawl.CodeInvalid {
			t.Errorf("a base room with files of its own: %v", err)
		}
		for _, path := range []string{"", ".", "..", "/a", "a/../b", "../a"} {
			e.spec.Over = []pawl.RoomFile{{Path: path}}
			if _, err := e.Gate(t.Context(), e.spec); pawl.CodeOf(err) != pawl.CodeInvalid {
				t.Errorf("%q: error %v, want an invalid one", path, err)
			}
		}
	})
}

// A confined room can have folders of its own: with files that nobody changes, or in memory.
func TestFoldersOfARoom(t *testing.T) {
	confinedMechanisms(t, func(t *testing.T, box *sandbox.Box) {
		e := MustEstate(t, box)
		e.spec.Folders = []pawl.RoomFolder{{Path: "/tests", Files: []pawl.RoomFile{{Path: "a/test.sh", Data: []byte("cat /logs/x\n")}}}, {Path: "/logs"}}
		got := e.gate(t, `echo one > /logs/x && sh /tests/a/test.sh; echo two 2>/dev/null > /tests/a/test.sh || echo read-only; touch /tests/b 2>/dev/null || echo read-only`)
		if got != "one\nread-only\nread-only" {
			t.Errorf("commands see %q", got)
		}
		for _, path := range []string{"", "tests", "/", "/work", "/work/x", "/usr/x", "/a/../b", "/home"} {
			e.spec.Folders = []pawl.RoomFolder{{Path: path}}
			if _, err := e.Gate(t.Context(), e.spec); pawl.CodeOf(err) != pawl.CodeInvalid {
				t.Errorf("%q: error %v, want an invalid one", path, err)
			}
		}
	})
	e := MustEstate(t, sandbox.Unconfined())
	e.spec.Folders = []pawl.RoomFolder{{Path: "/tests"}}
	if _, err := e.Gate(t.Context(), e.spec); pawl.CodeOf(err) != pawl.CodeUnavailable {
		t.Errorf("a room that shows everything where it is: %v", err)
	}
}
