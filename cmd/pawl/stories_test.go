//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"pawl/internal/pattern"
	"pawl/internal/sandbox"
	"pawl/internal/sandbox/helper"
)

// fakeAgent is the name under which the test binary plays a coding agent.
const fakeAgent = "claude"

func TestMain(m *testing.M) {
	// The sandbox runs this program again as the supervisor of each command, under any name.
	// Unlike os.Exit, syscall.Exit skips the race detector's wait of one second.
	if code, ok := helper.Run(os.Args); ok {
		syscall.Exit(code)
	}
	if filepath.Base(os.Args[0]) == fakeAgent {
		syscall.Exit(playAgent())
	}
	// Most tests spend their time waiting for other processes.
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	released := func(v string) func() { return func() { version = v; main() } }
	testscript.Main(m, map[string]func(){"pawl": main, olderPawl: released("v1.2.0"), newerPawl: released("v1.10.0")})
}

// Names under which the test binary runs as a release of pawl.
const olderPawl, newerPawl = "pawl-v1.2.0", "pawl-v1.10.0"

// noRaceWait is an environment entry that stops programs with the race detector from
// waiting for a second when they exit.
const noRaceWait = "GORACE=atexit_sleep_ms=0"

// pawlProgram returns the path of the pawl that tests start. It is built with the race detector if
// the tests are.
func pawlProgram(t *testing.T) string {
	t.Helper()
	program, err := installedPawl()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// installedPawl returns the path of the test binary under the name pawl, with pawl-helper in the
// same folder as in an installation. Without pawl-helper, each confined command would start the
// test binary again.
var installedPawl = sync.OnceValues(func() (string, error) {
	program, err := exec.LookPath("pawl")
	if err != nil {
		return "", err
	}
	beside := filepath.Join(filepath.Dir(program), "pawl-helper") // testscript removes the folder
	if out, err := exec.Command("go", "build", "-o", beside, "../pawl-helper").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build pawl-helper: %w\n%s", err, out)
	}
	return program, nil
})

// tools are the programs stories may use. PATH holds nothing else: a sandbox
// that some machines have and others do not would tell other stories.
var tools = []string{"git", "sh", "cat", "grep", "test", "mkfifo", "ls", "rm", "mkdir", "touch", "true", "false", "head", "sed", "env", "chmod", "cp", "go", "gofmt", "curl", "sleep"}

// TestStories tells what users do, in testdata/script, with the real program.
func TestStories(t *testing.T) {
	t.Parallel()
	testscript.Run(t, storyParams(t, filepath.Join("testdata", "script")))
}

// storyParams returns what the stories in a folder can use.
func storyParams(t *testing.T, dir string) testscript.Params {
	t.Helper()
	bin, confining, runtimes := toolFolder(t, tools...), toolFolder(t, "bwrap"), toolFolder(t, "make", "node", "npm", "pytest")
	pawlProgram(t) // stories find it in PATH
	built, err := goCache()
	if err != nil {
		t.Fatal(err)
	}
	return testscript.Params{
		Dir:                 dir,
		UpdateScripts:       os.Getenv("PAWL_UPDATE_STORIES") != "",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("BWRAP", confining) // for stories that are told in a sandbox
			env.Setenv("RUNTIMES", runtimes)
			env.Setenv("BUILT", built)
			return settle(env, bin)
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "go":
				_, err := exec.LookPath("go")
				return err == nil, nil
			case "sandbox":
				_, err := sandbox.Probe(t.Context())
				return err == nil, nil
			case "root":
				return os.Geteuid() == 0, nil
			case "taken": // root cannot have commands run as 65534, which has an account
				_, err := user.LookupId("65534")
				return os.Geteuid() == 0 && err == nil, nil
			case "groups": // a sandbox that tells every limit that is met
				box, err := sandbox.Probe(t.Context())
				return err == nil && !strings.Contains(box.Describe(), "no control groups"), nil
			}
			return false, fmt.Errorf("there is no condition %q", cond)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "json": isJSON, "fifo": makeFIFO, "repo": makeRepository, "stable": stable, "listen": listen, "reads": reads,
		},
	}
}

// goCache returns where Go keeps what it has built. Gates of stories can use it, so that not each
// compiles the standard library.
func goCache() (string, error) {
	if dir := os.Getenv("GOCACHE"); dir != "" {
		return dir, nil
	}
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "go-build"), err
}

// toolFolder is a folder with links to the tools there are.
func toolFolder(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// settle gives a story a home, a state folder and a time zone of its own. The
// word WORK in scripts of the model is where the story takes place.
func settle(env *testscript.Env, tools string) error {
	pawl, _, _ := strings.Cut(env.Getenv("PATH"), string(filepath.ListSeparator))
	for name, value := range map[string]string{
		"PATH": pawl + string(filepath.ListSeparator) + tools,
		"HOME": env.WorkDir + "/home", "XDG_STATE_HOME": env.WorkDir + "/state", "XDG_CONFIG_HOME": env.WorkDir + "/config",
		"PAWL_LOCAL": "1",         // stories of the daemon unset it
		"GOFLAGS":    "-trimpath", // what go compiles in one worktree serves in all
		"TZ":         "UTC", "LANG": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null",
		"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@localhost", "GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@localhost",
	} {
		env.Setenv(name, value)
	}
	env.Vars = append(env.Vars, noRaceWait)
	env.Values[heardKey{}] = heard{}
	scripts, err := filepath.Glob(env.WorkDir + "/*.yaml")
	if err != nil {
		return err
	}
	for _, name := range scripts {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(strings.ReplaceAll(string(text), "WORK/", env.WorkDir+"/")), 0o644); err != nil {
			return err
		}
	}
	return os.MkdirAll(env.WorkDir+"/home", 0o755)
}

// exits CODE COMMAND… runs a command that must end with the code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

// json [stdout|stderr] checks that an output is one or more JSON documents.
func isJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: json stdout|stderr")
	}
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	for n := 0; ; n++ {
		var v any
		err := dec.Decode(&v)
		if errors.Is(err, io.EOF) && n > 0 {
			return
		}
		if err != nil {
			ts.Fatalf("%s is not JSON: %v", args[0], err)
		}
	}
}

// fifo NAME… makes pipes by which a command of a run and its story wait for each other.
func makeFIFO(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		ts.Check(syscall.Mkfifo(ts.MkAbs(name), 0o600))
	}
}

// heard are the pipes of a story that commands write to and the story reads.
type heardKey struct{}

type heard map[string]*bufio.Reader

// listen NAME… makes pipes for what commands say while they run.
func listen(ts *testscript.TestScript, neg bool, args []string) {
	makeFIFO(ts, neg, args)
	for _, name := range args {
		f, err := os.OpenFile(ts.MkAbs(name), os.O_RDWR, 0) // as a writer too, so that nobody waits
		ts.Check(err)
		ts.Defer(func() { _ = f.Close() })
		ts.Check(f.SetReadDeadline(time.Now().Add(deadline)))
		ts.Value(heardKey{}).(heard)[ts.MkAbs(name)] = bufio.NewReader(f)
	}
}

// reads NAME PATTERN waits for a line that fits.
func reads(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: reads NAME PATTERN")
	}
	pattern, err := regexp.Compile(args[1])
	ts.Check(err)
	in := ts.Value(heardKey{}).(heard)[ts.MkAbs(args[0])]
	for said := ""; ; {
		line, err := in.ReadString('\n')
		if said += line; err != nil {
			ts.Fatalf("no line matches %s: %v; lines read:\n%s", args[1], err, said)
		}
		if pattern.MatchString(line) {
			return
		}
	}
}

// repo DIR makes a repository of a folder, with one commit, and goes there.
func makeRepository(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: repo DIR")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	ts.Check(ts.Chdir(dir))
	for _, line := range []string{"init -q -b main", "add .", "commit -q --allow-empty -m First"} {
		ts.Check(ts.Exec("git", strings.Fields(line)...))
	}
}

// unstable is what differs between two tellings of a story: times, ids of loops,
// commits, amounts of time.
var unstable = pattern.Of(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?|\b\d\d:\d\d:\d\d(\.\d+)?\b|` +
	`\b\d{13}-[0-9a-f]{4}\b|\b[0-9a-f]{10,64}\b|\b(\d+m)?\d+(\.\d+)?m?s\b`)

// padded is a time, or the head of a column of times, and the space behind it.
var padded = pattern.Of(`(\b0s|AGE|TIME) {2,}`)

// stable NAME FILE makes the file of what the command before has printed, or of
// another file, without what is unstable.
func stable(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: stable stdout|stderr|FILE FILE")
	}
	text := withoutUnstable(ts.ReadFile(args[0]))
	text = strings.ReplaceAll(text, ts.Getenv("WORK"), "$WORK")
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o644))
}

// withoutUnstable returns the text with a word in place of each thing that is unstable.
func withoutUnstable(text string) string {
	text = unstable.ReplaceAllStringFunc(text, func(s string) string {
		switch {
		case strings.ContainsAny(s, ":-"):
			return "TIME"
		case strings.HasSuffix(s, "s"):
			return "0s"
		}
		return "HASH"
	})
	text = strings.ReplaceAll(text, "<0s", "0s") // less than can be told
	return padded.ReplaceAllString(text, "$1  ") // a column is as wide as its longest time
}
