package pawl_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// rule says what a group of packages may import of this module, and why nothing else.
type rule struct {
	of  string // a package path below pawl; a trailing /... means what is below it too
	may []string
	why string
}

// rules are tried in order; the first that fits a package holds for it. Every
// package may import the root and its own subpackages.
var rules = []rule{
	{".", nil, "the root is the glossary: types and validation, which everyone imports, so it can import nobody"},
	{"internal/kernel/brief", nil, "a text is cut, and fingerprinted, in one way everywhere"},
	{"internal/kernel/session", []string{"internal/kernel/brief"}, "a conversation goes the same way whatever loop it is for: it knows none"},
	{"internal/kernel/plan", []string{"internal/kernel/brief"}, "which task can run follows from the list and from where its tasks stand, whoever works on them"},
	{"internal/kernel/budget", nil, "what a limit leaves room for is arithmetic"},
	{"internal/kernel/flow", nil, "the order of steps is the recipe's, and the same for every loop of a kind"},
	{"internal/kernel/verdict", []string{"internal/kernel/brief"}, "what verdicts mean together follows from them alone"},
	{"internal/kernel/ladder", []string{"internal/kernel/brief", "internal/kernel/verdict"}, "what follows from an attempt is a function of a case, with tables that say so"},
	{"internal/kernel/worktree", []string{"internal/kernel/brief"}, "how far a worktree can be trusted follows from what happened to it"},
	{"internal/kernel/land", []string{"internal/kernel/brief", "internal/kernel/verdict", "internal/kernel/monitor", "internal/kernel/ladder", "internal/kernel/exam"}, "who is in a candidate, who made it red and which tier judges it next follow from what is said of its commits"},
	{"internal/kernel/signal", []string{"internal/kernel/brief"}, "what a loop was told and has not acknowledged is the same whoever it is"},
	{"internal/kernel/monitor", []string{"internal/kernel/brief"}, "what the monitor makes of facts is a function of them, with a table of histories that says so"},
	{"internal/kernel/snapshot", nil, "a value is encoded with what it points to, whatever it means"},
	{"internal/kernel", nil, "decisions depend on events alone, or replay means something else than the run did"},
	{"internal/testsize", nil, "how much a test does depends on who runs it, and on nothing that is tested"},
	{"internal/strictyaml", nil, "reading hostile YAML safely depends on nothing of ours"},
	{"internal/pattern", nil, "a regular expression depends on nothing of ours, and every package may import it"},
	{"internal/plain", nil, "cleaning text depends on nothing of ours"},
	{"internal/secret", nil, "what a secret looks like is the same wherever text becomes durable, is shown or is committed"},
	{"internal/tasks", nil, "what a list of tasks must be like is the same for models, files and people"},
	{"internal/artifact", []string{"internal/tasks", "internal/plain"}, "what a plan, a spec and a phase are is the same for models, the kernel's tasks and people"},
	{"internal/resolve", nil, "which task a message means follows from its words and from what is known, and from nothing else"},
	{"internal/recipe", []string{"internal/strictyaml"}, "a recipe is data: whoever reads it must not need an engine"},
	{"internal/config", []string{"internal/egress", "internal/evidence/class", "internal/strictyaml", "internal/recipe"}, "configuration is data, read before anything runs"},
	{"internal/start", []string{"internal/config", "internal/recipe", "internal/ecosystem", "internal/egress", "internal/tasks", "internal/view", "internal/plain", "internal/heldout"},
		"what a request means follows from it, the configuration and the project's runs, whoever asks: no face and no engine is known"},
	{"internal/credential", []string{"internal/config", "internal/process"}, "keys are read from where the configuration says, for whoever calls models"},
	{"internal/driver/local", []string{"internal/driver", "internal/kernel"}, "a driver drives the kernel; what performs effects is given to it"},
	{"internal/driver/drivertest", []string{"internal/driver", "internal/kernel", "internal/store/mem"}, "the suite runs any driver on any log"},
	{"internal/driver", []string{"internal/kernel"}, "what driving means is the kernel and the contract"},
	{"internal/tried", []string{"internal/plain"}, "what was tried is folded from events, for whoever tells people or models of it"},
	{"internal/document/taskfolder", []string{"internal/plain", "internal/tried"}, "the files of a task are made of events and read again by whoever lists tasks: neither needs an engine"},
	{"internal/heldout", nil, "what a folder of checks holds depends on nobody who reads or runs them"},
	{"internal/runner", []string{"internal/driver", "internal/evidence", "internal/gate/report", "internal/heldout", "internal/kernel/brief", "internal/tasks", "internal/document/taskfolder", "internal/tried", "internal/artifact"}, "the runner is given models, tools, gates and workspaces; it knows none of them"},
	{"internal/governor", []string{"internal/driver"}, "who gets a place on the machine depends on what asks for one, and on no run's state"},
	{"internal/process", nil, "how a child process ends with us is the same for every caller and depends on none of them"},
	{"internal/callback", []string{"internal/process"}, "what is told and to whom is given to it; it knows the network, starts the user's command and knows nothing else of ours"},
	{"internal/prompt", []string{"internal/driver", "internal/recipe", "internal/runner", "internal/artifact", "internal/tried", "internal/gate/report"}, "prompts are a recipe's templates filled in for the runner"},
	{"internal/engine", []string{"internal/driver/...", "internal/kernel", "internal/recipe"}, "the engine holds runs and asks the kernel what it sees in a goal; stores, models and worktrees are given to it"},
	{"internal/view", []string{"internal/plain", "internal/artifact", "internal/tried"}, "views are folds over events, the same for every face"},
	{"internal/document/documenttest", []string{"internal/view", "internal/recorded"}, "the suite tries any documents on any run"},
	{"internal/document/pandora", []string{"internal/view", "internal/plain"}, "the documents of one loop system are made of what every face shows of a run"},
	{"internal/document/loom", []string{"internal/view", "internal/plain"}, "the documents of one loop system are made of what every face shows of a run"},
	{"internal/document/loopfolder", []string{"internal/view", "internal/artifact"}, "the folders of loops are made of events; they can be made again"},
	{"internal/message", []string{"internal/view", "internal/artifact", "internal/plain"}, "messages are made of events, the same for every wire"},
	{"internal/model/...", []string{"internal/model/..."}, "adapters do not know each other"},
	{"internal/delegate/delegatetest", []string{"internal/room", "internal/sandbox", "internal/sandbox/helper"}, "tests of agents need a real room to run programs in"},
	{"internal/delegate/toolserver", nil, "it offers whatever tools it is given: what a call does and which agent makes it are not its business"},
	{"internal/delegate/login", nil, "a login is a file in two places: which agent or account it is for is given to it"},
	{"internal/delegate/...", []string{"internal/delegate/exchange", "internal/model/wire"}, "an agent is a program that prints lines: its room is given to it, and adapters do not know each other"},
	{"internal/tool/...", []string{"internal/tool/...", "internal/tasks", "internal/artifact", "internal/secret", "internal/strictyaml"}, "adapters do not know each other"},
	{"internal/gate/suite", []string{"internal/gate/report", "internal/plain"}, "what a test runner is told follows from a command and the files of a tree: it runs nothing"},
	{"internal/gate/...", []string{"internal/gate/..."}, "adapters do not know each other"},
	{"internal/ecosystem", nil, "what a folder's files say of its package manager depends on nothing that runs one"},
	{"internal/store/...", []string{"internal/store/..."}, "adapters do not know each other"},
	{"internal/evidence/source", nil, "how a change weakens tests follows from their sources, and from nothing that a run or a gate is made of"},
	{"internal/evidence/corpus", []string{"internal/strictyaml"}, "projects and changes are data: whoever judges them reads the same ones"},
	{"internal/evidence/class", nil, "what a path is to the gates follows from its name and content"},
	{"internal/evidence", []string{"internal/evidence/source", "internal/evidence/class", "internal/gate/report"}, "what in a candidate changed what its gates look at follows from paths and contents that are given"},
	{"internal/recorded", nil, "recorded logs are data: whatever folds them reads the same ones"},
	{"internal/egress", nil, "the way out of a room is judged by rules, and by nothing that a room or a run is made of"},
	{"internal/room", []string{"internal/project"}, "what a room is depends on nothing that enforces it"},
	{"internal/sandbox/helper", []string{"internal/sandbox/confine"}, "a helper starts for every command: it has as little in it as possible"},
	{"internal/sandbox/confine", nil, "the program that confines itself before it becomes a command must start fast and trust nothing else"},
	{"internal/sandbox/cgroup", nil, "control groups are the kernel's: what they limit is given to them"},
	{"internal/sandbox/abuse", nil, "abuses are tried on whatever sandbox a test gives them"},
	{"internal/sandbox", []string{"internal/room"}, "the sandbox enforces rooms as they are described, and describes none"},
	{"internal/git/index", []string{"internal/git"}, "an index is brought up to a folder whatever is recorded in it; who starts git is given to it"},
	{"internal/git", []string{"internal/process"}, "the one package that runs git, as a process that ends with us"},
	{"internal/instructions", []string{"internal/git", "internal/plain"}, "what a repository tells those who work on it is read from a commit; who is told is others' business"},
	{"internal/workspace/...", []string{"internal/workspace/...", "internal/git", "internal/git/index", "internal/project", "internal/testsize"}, "workspaces are made with git, in the state folder"},
	{"internal/project", nil, "the layout of the state folder"},
	{"internal/unit", []string{"internal/project"}, "a service manager is told of a program and its arguments, whatever these do"},
	{"internal/server/...", []string{"internal/server/...", "internal/message", "internal/view", "internal/artifact"}, "the server is given a Service; it must not know which"},
	{"internal/daemon", []string{"internal/project", "internal/server/..."}, "the daemon keeps projects open; what opens one is given to it"},
	{"internal/tui", []string{"internal/view", "internal/plain", "internal/artifact"}, "the screens are given Projects; they must not know which"},
	{"internal/client", nil, "the client is a Service; what it talks to is the wire"},
	{"internal/cli/...", []string{"internal/cli/...", "internal/view", "internal/plain", "internal/project", "internal/config",
		"internal/recipe", "internal/strictyaml", "internal/ecosystem", "internal/egress", "internal/tasks", "internal/resolve", "internal/artifact", "internal/tui", "internal/daemon", "internal/document/...", "internal/start"}, "commands are given a Service; what implements it is chosen in cmd/pawl"},
	{"internal/bench", []string{"internal/..."}, "measurements join the real parts as cmd/pawl does"},
	{"tools/...", nil, "tools read the source and take part in no run"},
	{"cmd/...", []string{"internal/..."}, "the one place where implementations are chosen and joined"},
}

// impure are packages that would let a clock, chance or the world into decisions.
var impure = map[string]string{
	"os": "the world", "net": "the world", "net/http": "the world", "io/fs": "the world", "os/exec": "the world",
	"math/rand": "chance", "math/rand/v2": "chance", "crypto/rand": "chance", "sync": "concurrency", "context": "concurrency",
	"database/sql": "the world", "log": "the world", "log/slog": "the world", "syscall": "the world", "runtime": "the machine", "unsafe": "the machine",
}

type goPackage struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// L-41, L-B18: the packages that decide and perform receive their dependencies. Only cmd/pawl
// and the bench may import implementations, so nothing else can choose one.
func TestImportDirections(t *testing.T) {
	used := map[*rule]bool{}
	defer func() {
		for i := range rules {
			if !used[&rules[i]] {
				t.Errorf("no package is held by the rule of %s: none fits it, or an earlier rule fits all that do", rules[i].of)
			}
		}
	}()
	for _, p := range listPackages(t) {
		of := below(p.ImportPath)
		r := ruleFor(of)
		used[r] = true
		if r == nil {
			t.Errorf("%s fits no rule: say in arch_test.go what it may import, and why", p.ImportPath)
			continue
		}
		for _, imp := range p.Imports {
			if matches("internal/sandbox/abuse", below(imp)) {
				t.Errorf("%s imports the suite of abuses, which is for tests", p.ImportPath)
			}
			if matches("internal/recorded", below(imp)) && of != "internal/document/documenttest" {
				t.Errorf("%s imports the recorded logs, which are for tests", p.ImportPath)
			}
			if imp == "text/template" || imp == "html/template" {
				t.Errorf("%s imports %s, which keeps every exported method in the program: docs/decisions/042-size-of-the-program.md says what to use", p.ImportPath, imp)
			}
			if ours(imp) && !allowed(r, of, below(imp)) {
				t.Errorf("%s imports %s, and must not: %s", p.ImportPath, imp, r.why)
			}
			if of == "." && strings.Contains(strings.SplitN(imp, "/", 2)[0], ".") {
				t.Errorf("the root imports %s: it may import the standard library only", imp)
			}
		}
	}
}

// D-03, D-05: what iterates, escalates and decides cannot write code, run tests or
// mend anything itself: nothing that could is within its reach.
func TestKernelIsPure(t *testing.T) {
	for _, p := range listPackages(t) {
		if !matches("internal/kernel/...", below(p.ImportPath)) {
			continue
		}
		for _, imp := range p.Imports {
			if why, bad := impure[imp]; bad {
				t.Errorf("%s imports %s, which lets %s into decisions: they would not replay", p.ImportPath, imp, why)
			}
			if !ours(imp) && strings.Contains(strings.SplitN(imp, "/", 2)[0], ".") {
				t.Errorf("%s imports %s: the kernel has the standard library's plain parts and nothing else", p.ImportPath, imp)
			}
		}
	}
}

// recipeNames are the files that have a built-in recipe's name in their code, and why that
// decides nothing about a run.
var recipeNames = map[string]string{
	"cmd/pawl/serve.go":                    "what a flag means that is not given",
	"internal/cli/demo/demo.go":            "the answers that the demonstration plays are written for it",
	"internal/start/merge.go":              "the command starts that recipe",
	"internal/document/pandora/pandora.go": "the notes of Pandora's memory bear its name",
	"internal/store/storetest/cases.go":    "a line of a list, made up",
}

// What a run does follows from what its recipe says, never from what it is called:
// a recipe of another name that says the same does the same. F-55
func TestNoBehaviourByRecipeName(t *testing.T) {
	files, err := filepath.Glob("internal/recipe/builtin/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no built-in recipes: %v", err)
	}
	names := map[string]bool{}
	for _, f := range files {
		names[strconv.Quote(strings.TrimSuffix(filepath.Base(f), ".yaml"))] = true
	}
	delete(names, `"pawl"`) // the program's name too
	for _, root := range []string{"cmd", "internal"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			path = filepath.ToSlash(path)
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || recipeNames[path] != "" {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && names[lit.Value] {
					t.Errorf("%s has the name of the recipe %s in its code: ask what the recipe says, or say here why this decides nothing", path, lit.Value)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []goPackage
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p goPackage
		if err := dec.Decode(&p); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func ours(path string) bool { return path == "pawl" || strings.HasPrefix(path, "pawl/") }

// below is the path within the module; the root is ".".
func below(path string) string {
	if path == "pawl" {
		return "."
	}
	return strings.TrimPrefix(path, "pawl/")
}

func ruleFor(of string) *rule {
	for i := range rules {
		if matches(rules[i].of, of) {
			return &rules[i]
		}
	}
	return nil
}

// matches reports whether a pattern names a package: itself, and what is below
// it (a test suite or a sub-part of its own).
func matches(pattern, of string) bool {
	base := strings.TrimSuffix(pattern, "/...")
	return of == base || base != "." && strings.HasPrefix(of, base+"/")
}

func allowed(r *rule, of, imp string) bool {
	if imp == "." || imp == "internal/pattern" || matches(strings.TrimSuffix(r.of, "/...")+"/...", imp) && !strings.HasSuffix(r.of, "/...") {
		return true
	}
	for _, m := range r.may {
		if imp == m || strings.HasSuffix(m, "/...") && matches(m, imp) {
			return true
		}
	}
	return false
}
