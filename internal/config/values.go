package config

import (
	"fmt"
	"iter"
	"net/netip"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/egress"
	"pawl/internal/evidence/class"
	"pawl/internal/recipe"
	"pawl/internal/strictyaml"
)

// values are what the layers say, one read over the other.
type values struct {
	recipe      string
	criteria    []string
	scope       []string
	missing     []string // gates that may lack their program
	agent       string
	complexity  int
	council     bool
	sandbox     string
	confinement Sandbox
	recording   pawl.RecordingLimits
	room        pawl.RoomLimits
	models      [3]model
	fallbacks   [3][]model // by tier
	providers   map[string]Provider
	delegates   []Delegate
	gates       []pawl.GateSpec
	prepare     []string
	prepareTime time.Duration
	egress      []string
	limits      pawl.Limits
	session     pawl.SessionLimits
	retry       pawl.RetryPolicy
	answer      time.Duration // see [pawl.Settings.AnswerTime]
	fallback    time.Duration // see [pawl.Settings.FallbackAfter]
	haltOn      []string
	timeouts    map[string]time.Duration
	stuck, cost bool
	threshold   int
	approval    approval
	parallel    int // zero: as the recipe says
	replanEvery int // after how many passed tasks; only if it is given
	callback    pawl.Callback
	announce    announce
	machine     Machine
	cacheSize   int64 // bytes
	minFree     int64 // bytes

	instructions string // on or off: whether agents are shown those of the repository
	evidence     string // an evidence mode
	classes      []pawl.PathRule
	allowPaths   []string
}

// Sandbox is how commands are confined on this machine, whichever run they are of.
type Sandbox struct {
	// UID is who commands run as when Pawl runs as root; 0 = one that Pawl chooses.
	UID int
	// Profile is the choice of system calls: "default" or "wide".
	Profile string
}

// Machine is how much is done at once on this machine, whichever runs it is for.
type Machine struct {
	Machine int // effects at once, of all kinds
	Calls   int // model calls at once of each provider's account
	// Accounts are the accounts that have another number of calls, by provider.
	Accounts map[string]int
	NoNet    int // tools without network at once
	Net      int // tools with network at once
	Heavy    int // gates at once; one repository has at most all but one of them, if there are several
}

// defaultMachine is what a machine with so many processors does at once. A model call
// costs it a connection, so even the smallest has room for an account's calls and some
// tools beside them. A gate builds and tests, and seldom keeps two processors busy all
// the time; one place more is there for whoever comes to a machine that another repository keeps busy.
func defaultMachine(processors int) Machine {
	return Machine{Machine: max(16, 4*processors), Calls: 10, NoNet: 10, Net: 5, Heavy: max(1, processors/2) + 1}
}

// approval is who consents to a run's work; empty and zero: as the recipe says.
type approval struct {
	mode      string
	threshold int // in percent
}

// announce is who hears of a question; empty: nobody.
type announce struct {
	command string
	to      pawl.Callback
}

// model is one tier's choice.
type model struct {
	provider, name string
	script         string // the scripted model's file
	maxOutput      int    // zero: the known model's
	price          *price
	plan           bool // a plan pays; only of a coding agent
}

type price struct{ input, output, cacheRead, cacheWrite pawl.Micros }

// tierNames are the names of tiers 1, 2 and 3 in a configuration.
var tierNames = []string{"fast", "medium", "large"}

// approvalModes are the modes of approval a user can choose.
var approvalModes = []string{"auto", "manual", "confidence_threshold"}

var haltConditions = []string{string(pawl.HaltSecurity), string(pawl.HaltIterations), string(pawl.HaltBudget)}

// defaults is the weakest layer.
func defaults() values {
	known := map[string]Provider{}
	for _, p := range providers() {
		known[p.Name] = p
	}
	return values{
		recipe:      recipe.Default,
		sandbox:     "on",
		confinement: Sandbox{Profile: "default"},
		models: [3]model{
			{provider: "anthropic", name: "claude-haiku-5-5"},
			{provider: "anthropic", name: "claude-sonnet-5-5"},
			{provider: "anthropic", name: "claude-opus-5-5"},
		},
		providers:   known,
		delegates:   builtinDelegates(),
		limits:      pawl.Limits{Money: pawl.DefaultLimits.Money, Tokens: pawl.DefaultLimits.Tokens, Time: pawl.DefaultLimits.Time},
		session:     pawl.DefaultSessionLimits,
		room:        pawl.DefaultRoomLimits,
		recording:   pawl.DefaultRecordingLimits,
		retry:       pawl.DefaultRetry,
		answer:      pawl.DefaultAnswerTime,
		fallback:    pawl.DefaultFallbackAfter,
		prepareTime: pawl.DefaultPrepareTime,
		haltOn:      slices.Clone(haltConditions),
		stuck:       true,
		cost:        true,
		machine:     defaultMachine(runtime.GOMAXPROCS(0)),
		cacheSize:   pawl.DefaultCacheSize,
		minFree:     int64(pawl.DefaultMinFree),

		instructions: "on",
		evidence:     string(pawl.EvidenceReview),
	}
}

const hour = 3_600_000 // milliseconds

func (v *values) fields(m *strictyaml.Map) {
	m.Key("recipe", "The recipe of runs that do not name one.").Name(&v.recipe)
	m.Key("criteria", "The acceptance criteria of runs that do not give any.").Texts(&v.criteria)
	m.Key("scope", "Sentences that limit what may be changed.").Texts(&v.scope)
	m.Key("agent", "The specialist who implements; by default the step's role.").Text(&v.agent)
	m.Key("complexity", "How hard tasks are; by default a model assesses it.").Int(&v.complexity, 0, 14)
	m.Key("council", "Whether a council is called after the first failed iteration too. If the attempt after it fails, the ladder continues where it was.").Bool(&v.council)
	m.Key("sandbox", "Whether commands are confined, and how. Not `off` in a repository.").WordOr(&v.sandbox, v.sandboxFields, "on", "off")
	v.delegateFields(m) // first, because models may name them
	m.Key("models", "The models of the three tiers. Not in a repository.").Map(v.modelFields)
	m.Key("providers", "How providers are reached. Not in a repository.").Map(v.providerFields)
	strictyaml.List(m.Key("gates", "The command gates, in the order they are reported."), "gate", &v.gates, readGate)
	v.gateNames(m)
	m.Key("prepare", "Commands that install a commit's dependencies. Those of a repository need your consent.").Texts(&v.prepare)
	m.Key("prepare_timeout_ms", "The time limit for all of these commands together.").Time(&v.prepareTime, time.Millisecond, 24*hour)
	m.Key("allow_missing_gates", "Gates that a run leaves out if their program is not installed. Not in a repository.").Texts(&v.missing)
	m.Key("instructions", "Whether agents are shown the repository's instructions for agents: AGENTS.md, CLAUDE.md and the like.").Word(&v.instructions, "on", "off")
	m.Key("evidence", "Who answers for changes of what gates look at. A repository may be stricter than your own file, not looser; a variable or a flag decides over both.").WordOr(&v.evidence, v.evidenceFields, evidenceModes...)
	m.Key("egress", "Hosts that the prepare commands may reach, as HOST:PORT or HOST:PORT=ADDRESS. Not in a repository.").Texts(&v.egress)
	if _, err := egress.ParseAll(v.egress); err != nil {
		m.Problem("egress", "%s", err)
	}
	m.Key("limits", "What a run may use. 0 means no limit. A repository may only lower money, tokens and time.").Map(v.limitFields)
	m.Key("recording", "What one recording of a worktree takes up; the rest is left out and named to the model. A repository may only lower it.").Map(v.recordingFields)
	m.Key("retry", "How a failed model call is retried.").Map(v.retryFields)
	m.Key("halt_on", "What ends a run at once. A repository may not remove `budget_exceeded`. Without `max_iterations_reached` the limit of the recipe is none; one that is set holds.").Words(&v.haltOn, haltConditions...)
	m.Key("timeouts_ms", "Time limits for the recipe's steps and gates, by name.").Times(&v.timeouts, time.Millisecond, 24*hour)
	m.Key("stuck_detection", "Whether similar failures raise the tier early.").Bool(&v.stuck)
	m.Key("cost_tracking", "Whether reports show money. Limits hold in any case.").Bool(&v.cost)
	m.Key("escalation_threshold", "How many consecutive failures tiers 1 and 2 may have; the last tier keeps its own number unless this one is larger.").Int(&v.threshold, 1, 100)
	m.Key("approval", "Who approves what a run does.").Map(v.approvalFields)
	m.Key("parallel", "How many tasks are worked on at once; by default as the recipe says.").Int(&v.parallel, 1, 64)
	m.Key("replan_every", "After how many passed tasks a plan is made again, 0 for never; by default as the recipe says.").Int(&v.replanEvery, 0, 1000)
	m.Key("callback", "An HTTP address that is told how a run ended. Not in a repository.").Map(v.callbackFields)
	m.Key("announce", "Who is told when a run asks a question: a command, an address, or both. Not in a repository.").Map(v.announceFields)
	m.Key("machine", "How much is done at once on this machine, by all runs together. Not in a repository.").Map(v.machineFields)
	m.Key("cache", "What projects keep on disk for later runs. Not in a repository.").Map(v.cacheFields)
	m.Key("task_loop", "The same settings under the names that other task loops use.").Map(v.taskLoopFields)
}

// taskLoopFields are the settings of the task loop's own file.
// D-51 to D-58
func (v *values) taskLoopFields(m *strictyaml.Map) {
	m.Key("max_iterations", "As `limits.iterations`.").Int(&v.limits.Iterations, 1, 1000)
	m.Key("escalation_threshold", "As `escalation_threshold`.").Int(&v.threshold, 1, 100)
	m.Key("stuck_detection", "As `stuck_detection`.").Bool(&v.stuck)
	m.Key("cost_tracking", "As `cost_tracking`.").Bool(&v.cost)
	m.Key("timeouts", "Time limits, in seconds.").Map(func(m *strictyaml.Map) {
		for _, t := range taskLoopTimeouts {
			d := v.timeouts[t.part]
			m.Key(t.key, "For "+t.part+".").Time(&d, time.Second, 86_400)
			if d > 0 {
				if v.timeouts == nil {
					v.timeouts = map[string]time.Duration{}
				}
				v.timeouts[t.part] = d
			}
		}
	})
	m.Key("halt_conditions", "As `halt_on`.").Words(&v.haltOn, haltConditions...)
}

// taskLoopTimeouts are the names of timeouts there and the recipe's parts they mean.
var taskLoopTimeouts = []struct{ key, part string }{
	{"implementation", "implement"}, {"quality_gates", "quality"}, {"requirements", "requirements"},
}

// aliases are the paths of settings that can be written in two ways, with the
// path under which they are explained.
func aliases() map[string]string {
	out := map[string]string{
		"task_loop.max_iterations":       "limits.iterations",
		"task_loop.escalation_threshold": "escalation_threshold",
		"task_loop.stuck_detection":      "stuck_detection",
		"task_loop.cost_tracking":        "cost_tracking",
		"task_loop.halt_conditions":      "halt_on",
	}
	for _, t := range taskLoopTimeouts {
		out["task_loop.timeouts."+t.key] = "timeouts_ms." + t.part
	}
	return out
}

func (v *values) modelFields(m *strictyaml.Map) {
	for i, name := range tierNames {
		doc := fmt.Sprintf("Tier %d: `PROVIDER/NAME`, `script:FILE`, or a mapping; or a list of them, each of which takes the place of the one before if that cannot be called.", i+1)
		m.Key(name, doc).OneOrMore(",", func(place int, f *strictyaml.Field) {
			mo, names := &v.models[i], v.delegateNames()
			if place > 0 {
				v.fallbacks[i] = append(v.fallbacks[i], model{})
				mo = &v.fallbacks[i][place-1]
			}
			parse := func(text string) error {
				if place == 0 {
					v.fallbacks[i] = nil
				}
				return mo.parse(text, names)
			}
			f.TextOr(parse, func(m *strictyaml.Map) {
				if mo.fields(m, v.modelProviders()) && place == 0 {
					v.fallbacks[i] = nil
				}
			})
		})
	}
}

// allModels returns the models of all tiers and their fallbacks, each with the path of its setting.
func (v *values) allModels() iter.Seq2[string, *model] {
	return func(yield func(string, *model) bool) {
		for i, name := range tierNames {
			if !yield("models."+name, &v.models[i]) {
				return
			}
			for j := range v.fallbacks[i] {
				if !yield(fmt.Sprintf("models.%s[%d]", name, j+1), &v.fallbacks[i][j]) {
					return
				}
			}
		}
	}
}

// parse reads a model as it is written in a word. delegates are the names of coding agents.
func (mo *model) parse(text string, delegates []string) error {
	if file, ok := strings.CutPrefix(text, "script:"); ok {
		if file == "" {
			return fmt.Errorf("script: needs a file, as in script:answers.yaml")
		}
		*mo = model{provider: "script", name: "script", script: file}
		return nil
	}
	provider, name, _ := strings.Cut(text, "/")
	all := slices.Concat(providerNames, delegates)
	known := slices.Contains(all, provider)
	if name == "" {
		if slices.Contains(delegates, provider) {
			return fmt.Errorf("want PROVIDER/NAME or script:FILE, got %q; name the model too, or let the agent choose it: %s/%s", text, provider, DefaultModel)
		}
		if known && provider != "script" {
			return fmt.Errorf("want PROVIDER/NAME or script:FILE, got %q; name the model too: %s/NAME", text, provider)
		}
		return fmt.Errorf("want PROVIDER/NAME or script:FILE, got %q", text)
	}
	if !known {
		names := strings.Join(all, ", ")
		if near := strictyaml.Nearest(provider, all); near != "" {
			return fmt.Errorf("there is no provider %q (did you mean %s?); known: %s", provider, near, names)
		}
		return fmt.Errorf("there is no provider %q; known: %s; for another server that speaks Chat Completions, openai-chat and providers.openai-chat.base_url", provider, names)
	}
	if provider == "script" {
		return fmt.Errorf("want script:FILE, got %q", text)
	}
	*mo = model{provider: provider, name: name}
	return nil
}

// fields reads a model that is written as a mapping, and reports whether it names another model.
func (mo *model) fields(m *strictyaml.Map, providers []string) bool {
	chosen := model{}
	m.Key("provider", "The provider, or a coding agent.").Word(&chosen.provider, providers...)
	m.Key("name", "The provider's name for the model.").Text(&chosen.name)
	switch {
	case chosen.provider == "script":
		chosen.name = "script"
		*mo = chosen
	case chosen.provider != "" && chosen.name != "":
		*mo = chosen
	case chosen.provider != "":
		m.Problem("provider", "names no model: name is missing")
	case chosen.name != "" || mo.name == "":
		m.Problem("name", "provider is missing; known: %s", strings.Join(providers, ", "))
	}
	m.Key("max_output", "The most tokens in one reply; by default 16000, or the limit of a known model.").Int(&mo.maxOutput, 1024, 1_000_000)
	strictyaml.Sub(m.Key("price", "What a million tokens cost; by default the known price, or that of the dearest known model."), "price", &mo.price, readPrice)
	return chosen.provider != "" && chosen.name != ""
}

func readPrice(m *strictyaml.Map, p *price) {
	const most = 100_000
	m.Need("input", "Of input.").Dollars(&p.input, most)
	m.Need("output", "Of output.").Dollars(&p.output, most)
	p.cacheRead, p.cacheWrite = p.input, p.input+p.input/4
	m.Key("cache_read", "Of input read from a cache; by default the price of input.").Dollars(&p.cacheRead, most)
	m.Key("cache_write", "Of input written to a cache; by default a quarter more than input.").Dollars(&p.cacheWrite, most)
}

func (v *values) providerFields(m *strictyaml.Map) {
	for _, own := range providers() {
		name := own.Name
		p := v.providers[name]
		m.Key(name, "How "+name+" is reached.").Map(func(m *strictyaml.Map) {
			if name == "script" {
				m.Key("file", "The scripted model's answers.").Text(&p.File)
				return
			}
			m.Key("base_url", "The server's address; by default "+own.Home+".").Text(&p.BaseURL)
			if err := checkURL(p.BaseURL); err != nil {
				m.Problem("base_url", "%s", err)
			}
			p.BaseURL = canonicalURL(p.BaseURL)
			key := "none"
			if own.KeyEnv != "" {
				key = own.KeyEnv
			}
			readKey(m, keyPlaces{&p.KeyEnv, &p.KeyFile, &p.KeyCommand, &p.Keyring}, key)
		})
		if v.providers != nil {
			v.providers[name] = p
		}
	}
}

// keyPlaces are where a key may be; see [KeySource].
type keyPlaces struct{ env, file, command, keyring *string }

// readKey reads where a key is. usual says where it is by default.
func readKey(m *strictyaml.Map, k keyPlaces, usual string) {
	m.Key("key_env", "The environment variable that holds the key; by default "+usual+". A key itself is never written here.").Text(k.env)
	if *k.env != "" && !regexp.MustCompile(`^[A-Z_][A-Z0-9_]{0,63}$`).MatchString(*k.env) {
		m.Problem("key_env", "want the name of an environment variable, such as ANTHROPIC_API_KEY; if this is a key, take it out of the file and replace it with the provider")
	}
	m.Key("key_file", "A file that holds the key, in place of a variable: an absolute path, or one below ~/.").Text(k.file)
	if *k.file != "" && !filepath.IsAbs(*k.file) && !strings.HasPrefix(*k.file, "~/") {
		m.Problem("key_file", "want an absolute path, or one below ~/")
	}
	m.Key("key_command", fmt.Sprintf("A command line for sh that prints the key, in place of a variable. It runs with your rights, for %s at most, and again after the provider has refused the key.", KeyTime)).Text(k.command)
	m.Key("keyring", "The key's entry in the keyring of your desktop, in place of a variable: SERVICE/ACCOUNT.").Text(k.keyring)
	if service, account, _ := strings.Cut(*k.keyring, "/"); *k.keyring != "" && (service == "" || account == "") {
		m.Problem("keyring", "want SERVICE/ACCOUNT, such as pawl/anthropic")
	}
}

// checkURL accepts https, and http where the key does not leave the house.
func checkURL(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("want an address such as https://proxy.example/v1 or http://localhost:11434/v1")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("an address with a password, query or fragment is not allowed; name the key's variable in key_env")
	}
	if u.Scheme == "http" && !near(u.Hostname()) {
		return fmt.Errorf("http sends the key and your code in the clear; use https, except for this machine and private networks")
	}
	if err := egress.CheckURL(u); err != nil {
		return fmt.Errorf("%w, as in https://proxy.example:8443/v1", err)
	}
	return nil
}

// canonicalURL returns the one spelling of an address that is used everywhere, because runs that
// use the same address share an account. Text that is not an address is returned unchanged.
func canonicalURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return text
	}
	u.Host = strings.ToLower(u.Host) // url.Parse does so with the scheme
	if usual := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]; usual != "" {
		u.Host = strings.TrimSuffix(u.Host, usual)
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
	return u.String()
}

// near reports whether a host is this machine or in a private network.
func near(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast()
	}
	return !strings.Contains(host, ".") || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".localhost")
}

func readGate(m *strictyaml.Map, g *pawl.GateSpec) {
	m.Need("name", "The gate's name.").Name(&g.Name)
	m.Need("kind", "What it checks.").Word((*string)(&g.Kind), "tests", "types", "lint", "security", "format")
	m.Need("command", "A shell line, run at the root of a clean checkout.").Text(&g.Command)
	m.Key("report", "How the result is read; by default `auto`.").Word((*string)(&g.Report), "auto", "go-test", "junit", "tap", "sarif", "exit")
	m.Key("file", "Where the command writes its report, relative to the checkout.").Text(&g.File)
	if g.File != "" && (path.IsAbs(g.File) || path.Clean(g.File) != g.File || strings.HasPrefix(g.File, "..")) {
		m.Problem("file", "want a path inside the checkout, such as build/report.xml")
	}
	m.Key("timeout_ms", "Its time limit; by default the recipe's, or a multiple of what it took on the base.").Time(&g.Timeout, time.Millisecond, 24*hour)
	m.Key("optional", "Whether it is skipped if its command is not installed.").Bool(&g.Optional)
	m.Key("require_green", "Whether findings that the base already has fail it too, in what the run ends with: its tasks need not mend each other's.").Bool(&g.RequireGreen)
}

func (v *values) gateNames(m *strictyaml.Map) {
	for i, g := range v.gates {
		if slices.ContainsFunc(v.gates[:i], func(h pawl.GateSpec) bool { return h.Name == g.Name && g.Name != "" }) {
			m.Problem(fmt.Sprintf("gates[%d].name", i), "two gates are called %q", g.Name)
		}
	}
}

func (v *values) limitFields(m *strictyaml.Map) {
	m.Key("money_usd", "Dollars.").Dollars(&v.limits.Money, 1_000_000)
	tokens := int(v.limits.Tokens)
	m.Key("tokens", "Tokens, including those read from a cache.").Int(&tokens, 0, 1_000_000_000_000)
	v.limits.Tokens = int64(tokens)
	minutes := int(v.limits.Time / time.Minute)
	m.Key("time_minutes", "Minutes of work on the run.").Int(&minutes, 0, 100_000)
	v.limits.Time = time.Duration(minutes) * time.Minute
	seconds := int(v.answer / time.Second)
	m.Key("answer_seconds", "How long a run waits for an answer, other than an approval of its plan, while nobody follows it and no announcement is set up; then it is halted, and an answer resumes it. 0 = as long as it takes; by default a day.").Int(&seconds, 0, 31*24*60*60)
	v.answer = time.Duration(seconds) * time.Second
	m.Key("iterations", "Iterations of the root loop or, if it splits the work, how many tasks may be started; by default the recipe's limit.").Int(&v.limits.Iterations, 1, 1000)
	m.Key("room", "What the commands of one room may use: the tools of a loop's model, the gates of a commit. A repository may only lower it.").Map(v.roomFields)
	m.Key("session", "What each session of a coding agent may use. A repository may only lower it.").Map(v.sessionFields)
}

func (v *values) sessionFields(m *strictyaml.Map) {
	l := &v.session
	money := m.Key("money_usd", "Dollars at list prices, more than 0, whatever pays; by default 2. A recipe's `session_limit` wins.")
	money.Dollars(&l.Money, 1_000_000)
	if money.Given() && l.Money == 0 {
		m.Problem("money_usd", "want more than 0 dollars")
	}
	tokens, minutes := int(l.Tokens), int(l.Time/time.Minute)
	m.Key("tokens", "Tokens, including those read from a cache; by default 2000000. A recipe's `session_limit` wins.").Int(&tokens, 1, 1_000_000_000_000)
	m.Key("time_minutes", "Minutes, or what the recipe gives the session if that is more; by default 45.").Int(&minutes, 1, 1440)
	l.Tokens, l.Time = int64(tokens), time.Duration(minutes)*time.Minute
	m.Key("silence_ms", "How long the agent may send nothing while none of its tool calls is open; by default 5 minutes.").Time(&l.Silence, time.Millisecond, 24*hour)
	m.Key("tool_time_ms", "How long it may send nothing while one is, or while it starts; by default 15 minutes.").Time(&l.ToolTime, time.Millisecond, 24*hour)
}

// Bounds of the sizes and numbers of files that rooms, recordings and caches may have.
const (
	minSize  = 1e6  // bytes
	maxSize  = 1e15 // bytes
	minFiles = 100
	maxFiles = 1_000_000_000
)

func (v *values) roomFields(m *strictyaml.Map) {
	l := &v.room
	processes, files, seconds := int(l.Processes), int(l.Files), int(l.CPU/time.Second)
	m.Key("processes", "Processes and threads that exist at once; by default 4096.").Int(&processes, pawl.MinRoomProcesses, 4_194_304)
	m.Key("memory", "Memory of all processes and of the temporary folder together, as a size or as a part of the machine's; by default `80%`. In a repository, the lower of the given size and `80%` holds.").
		SizeOrPercent(&l.Memory, &l.MemoryPercent, pawl.MinRoomMemory, maxSize)
	m.Key("file_size", "Size of one file; by default `10GiB`.").Size(&l.FileSize, minSize, maxSize)
	m.Key("disk", "What is written to disk in addition to what was there when the room was opened, checked every second; by default `20GiB`.").Size(&l.Disk, minSize, maxSize)
	m.Key("files", "Files that are created on disk, checked every second; by default 2000000.").Int(&files, minFiles, maxFiles)
	m.Key("cpu_seconds", "Seconds of processor time for each process; without it, or with 0, only a command's timeout limits it.").Int(&seconds, 0, 604_800)
	l.Processes, l.Files, l.CPU = int64(processes), int64(files), time.Duration(seconds)*time.Second
}

func (v *values) recordingFields(m *strictyaml.Map) {
	l := &v.recording
	m.Key("max_file", "Size of a file; by default `50MB`.").Size(&l.MaxFile, 1, maxSize)
	m.Key("max_new_files", "Files that the worktree's commit does not have; by default 50000.").Int(&l.MaxNewFiles, 1, maxFiles)
	m.Key("max_new_bytes", "Size of all new and changed files together; by default `1GB`.").Size(&l.MaxNewBytes, 1, maxSize)
}

// maxUID is the largest user id that every system takes.
const maxUID = 1<<31 - 2

func (v *values) sandboxFields(m *strictyaml.Map) {
	m.Key("mode", "Whether commands are confined. Not `off` in a repository.").Word(&v.sandbox, "on", "off")
	m.Key("uid", "The user id, without an account, that commands run as if Pawl runs as root; by default 61184 or the next free one. Not in a repository.").
		Int(&v.confinement.UID, 1, maxUID)
	m.Key("profile", "The system calls that commands may make: `wide` also allows debuggers (ptrace) and System V shared memory; by default `default`. Not in a repository.").
		Word(&v.confinement.Profile, "default", "wide")
}

// evidenceModes are the modes of evidence, the strictest first.
var evidenceModes = []string{string(pawl.EvidenceStrict), string(pawl.EvidenceReview), string(pawl.EvidenceOff)}

func (v *values) evidenceFields(m *strictyaml.Map) {
	m.Key("mode", "A person (`strict`), the reviewer (`review`), or nobody, because nothing is looked for (`off`).").Word(&v.evidence, evidenceModes...)
	strictyaml.List(m.Key("classes", "What paths are to the gates, ahead of what Pawl knows of their ecosystem. A repository may not say of paths that nobody need look at them."), "class", &v.classes, readPathRule)
	m.Key("allow_paths", "Policy paths, such as `.github`, that the work may change. Not in a repository.").Texts(&v.allowPaths)
}

func readPathRule(m *strictyaml.Map, r *pawl.PathRule) {
	words := make([]string, len(pawl.PathClasses))
	for i, c := range pawl.PathClasses {
		words[i] = string(c)
	}
	m.Need("pattern", "The paths, as in .gitignore: `*` within a name, `**` across folders.").Text(&r.Pattern)
	m.Need("class", "What they are.").Word((*string)(&r.Class), words...)
	if err := class.Rule(*r).Check(); r.Pattern != "" && r.Class != "" && err != nil {
		m.Problem("pattern", "%s", err)
	}
}

func (v *values) approvalFields(m *strictyaml.Map) {
	m.Key("mode", "Nobody, a person for every task, or a person for work that the checks are not sure about; by default as the recipe says. Not `auto` in a repository.").
		Word(&v.approval.mode, approvalModes...)
	m.Key("threshold", "The lowest confidence, in percent, that needs no person; 0 means the recipe's. Not below 80 in a repository.").Int(&v.approval.threshold, 0, 100)
}

func (v *values) callbackFields(m *strictyaml.Map) {
	m.Key("url", "The address: https, or http with `allow_private`. It is kept in the run's log.").Text(&v.callback.URL)
	if err := checkCallback(v.callback.URL); err != nil {
		m.Problem("url", "%s", err)
	}
	m.Key("allow_private", "Whether the address may be on this machine or in a private network.").Bool(&v.callback.AllowPrivate)
}

func (v *values) machineFields(m *strictyaml.Map) {
	c := &v.machine
	m.Key("places", "Model calls, tool calls and gates at once; by default 4 for each processor, and at least 16.").Int(&c.Machine, 1, 4096)
	m.Key("calls", "Model calls at once for each provider's account; by default 10.").Int(&c.Calls, 1, 1000)
	m.Key("accounts", "Model calls at once for one provider's account; by default as `calls` says.").Map(func(m *strictyaml.Map) {
		for _, name := range v.modelProviders() {
			n := c.Accounts[name]
			m.Key(name, "For "+name+".").Int(&n, 1, 1000)
			if n > 0 {
				if c.Accounts == nil {
					c.Accounts = map[string]int{}
				}
				c.Accounts[name] = n
			}
		}
	})
	m.Key("no_net", "Tool calls without network at once; by default 10.").Int(&c.NoNet, 1, 1000)
	m.Key("net", "Tool calls with network at once; by default 5.").Int(&c.Net, 1, 1000)
	m.Key("heavy", "Command gates at once that took more than two seconds on the base; by default one for every two processors, and one more. If there are several, one repository has at most all but one.").Int(&c.Heavy, 1, 1000)
	m.Key("min_free", "The free space that the disks of a project's repository and state must have before a run starts anything; by default 64MB.").
		Size(&v.minFree, 0, maxSize)
}

func (v *values) cacheFields(m *strictyaml.Map) {
	m.Key("size", "How much disk the trusted cache of a project may take before its oldest layers are removed; by default 10GB.").
		Size(&v.cacheSize, minSize, maxSize)
}

func (v *values) announceFields(m *strictyaml.Map) {
	m.Key("command", "A shell line that runs with your rights outside the sandbox; it gets the question on standard input as JSON.").Text(&v.announce.command)
	if n := len(v.announce.command); n > maxAnnounce {
		m.Problem("command", "want a line of at most %d bytes, got %d; put more into a script", maxAnnounce, n)
	}
	m.Key("url", "The address: https, or http with `allow_private`. It is kept in the run's log.").Text(&v.announce.to.URL)
	if err := checkCallback(v.announce.to.URL); err != nil {
		m.Problem("url", "%s", err)
	}
	m.Key("allow_private", "Whether the address may be on this machine or in a private network.").Bool(&v.announce.to.AllowPrivate)
}

const maxAnnounce = 2000 // bytes

// checkCallback accepts what can be told anything at all.
func checkCallback(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || len(text) > maxCallback:
		return fmt.Errorf("want an address of at most %d bytes such as https://hooks.example/pawl", maxCallback)
	case u.User != nil || u.Fragment != "":
		return fmt.Errorf("an address with a password or fragment is not allowed; requests are signed with the key in $%s", CallbackSecret)
	}
	if err := egress.CheckURL(u); err != nil {
		return fmt.Errorf("%w, as in https://hooks.example:8443/pawl", err)
	}
	return nil
}

const maxCallback = 1000 // bytes

func (v *values) retryFields(m *strictyaml.Map) {
	m.Key("tries", "Attempts before a pause, including the first.").Int(&v.retry.Tries, 1, 10)
	m.Key("first_ms", "The first wait; each later one is twice as long.").Time(&v.retry.First, time.Millisecond, hour)
	m.Key("cap_ms", "The longest wait.").Time(&v.retry.Cap, time.Millisecond, hour)
	m.Key("pauses", "How often a pause and as many attempts follow.").Int(&v.retry.Pauses, 0, 100)
	m.Key("pause_ms", "The pause.").Time(&v.retry.Pause, time.Millisecond, 24*hour)
	m.Key("fallback_after_minutes", "How long a tier with several models waits at most for a provider that says when it can be called again, and for how long it uses the next model if the provider does not say so.").Time(&v.fallback, time.Minute, 7*24*60)
	if v.retry.Cap < v.retry.First {
		m.Problem("cap_ms", "the longest wait is shorter than the first")
	}
}
