package config

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/recipe"
	"pawl/internal/strictyaml"
)

// resolve fills in the fields of Config.
func (c *Config) resolve() error {
	v := &c.values
	c.Recipe, c.Criteria, c.Unsandboxed = v.recipe, v.criteria, v.sandbox == "off"
	for path, mo := range v.allModels() {
		if mo.provider != "script" {
			continue
		}
		file := mo.script
		if file == "" {
			file = v.providers["script"].File
		}
		switch {
		case file == "":
			return problem(c.origins.Find(path), path, "the scripted model needs a file: script:FILE, or providers.script.file")
		case c.Script != "" && c.Script != file:
			return problem(c.origins.Find(path), path, "a run has one script, and another of its models uses %q", c.Script)
		}
		c.Script = file
	}
	return c.reachable()
}

// reachable reports an address that would be refused when it is told, whichever
// layers say so together.
func (c *Config) reachable() error {
	if err := c.reaches("callback", c.values.callback, "how runs end"); err != nil {
		return err
	}
	return c.reaches("announce", c.values.announce.to, "what runs ask")
}

func (c *Config) reaches(key string, to pawl.Callback, news string) error {
	if to.URL == "" || to.AllowPrivate {
		return nil
	}
	path := key + ".url"
	u, err := url.Parse(to.URL)
	switch {
	case err != nil || near(u.Hostname()):
		return problem(c.origins.Find(path), path, "this is an address of this machine or a private network; if that is meant, set %s.allow_private to true", key)
	case u.Scheme != "https":
		return problem(c.origins.Find(path), path, "http sends in the clear %s; use https, or for a private network set %s.allow_private to true", news, key)
	}
	return nil
}

func problem(pos strictyaml.Pos, path, format string, args ...any) error {
	var problems strictyaml.Problems
	problems.Add(pos, path, format, args...)
	return problems.Err()
}

// Provider tells how a provider is reached.
func (c *Config) Provider(name string) Provider { return c.values.providers[name] }

// KeyNames are the variables that hold the keys of providers and coding agents.
func (c *Config) KeyNames() []string {
	var out []string
	for i := range c.values.delegates {
		if k := c.values.delegates[i].Key; k != nil && k.KeyEnv != "" && !slices.Contains(out, k.KeyEnv) {
			out = append(out, k.KeyEnv)
		}
	}
	for _, p := range c.values.providers {
		if p.KeyEnv != "" && !slices.Contains(out, p.KeyEnv) {
			out = append(out, p.KeyEnv)
		}
	}
	slices.Sort(out)
	return out
}

// KeyFiles returns the sources of keys of providers and coding agents that are files.
func (c *Config) KeyFiles() []KeySource {
	var out []KeySource
	add := func(s KeySource) {
		if s.File != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, name := range providerNames {
		p := c.Provider(name)
		add(p.Key())
	}
	for _, d := range c.Delegates() {
		add(d.server.Key())
	}
	return out
}

// Machine tells how much is done at once. It is the process's, not a run's: a process
// reads it when it begins, without the file of any repository.
func (c *Config) Machine() Machine {
	m := c.values.machine
	m.Accounts = maps.Clone(m.Accounts)
	return m
}

// CacheSize is how many bytes the trusted cache of a project may take on disk. Like
// [Config.Machine] it is the process's, not a run's.
func (c *Config) CacheSize() int64 { return c.values.cacheSize }

// MinFree returns the free space that the disks of a project need before anything of a run
// begins. Like [Config.Machine], it is a setting of the process, not of a run.
func (c *Config) MinFree() pawl.Bytes { return pawl.Bytes(c.values.minFree) }

// Sandbox tells how commands are confined. Like [Config.Machine] it is the process's.
func (c *Config) Sandbox() Sandbox { return c.values.confinement }

// Settings are what a run freezes, every default filled in. Limits.Iterations is
// zero when no layer says it, which leaves it to the recipe.
func (c *Config) Settings() (pawl.Settings, error) {
	v := &c.values
	list := knownModels()
	out := pawl.Settings{
		Limits: v.limits, Session: v.session, Room: v.room, Recording: v.recording, Gates: slices.Clone(v.gates), Prepare: slices.Clone(v.prepare), PrepareTimeout: v.prepareTime, Egress: slices.Clone(v.egress), Retry: v.retry, FallbackAfter: v.fallback, AnswerTime: v.answer,
		NoStuckDetection: !v.stuck, NoCost: !v.cost, NoInstructions: v.instructions == "off", Council: v.council, Agent: v.agent,
		Scope: slices.Clone(v.scope), AllowMissingGates: slices.Clone(v.missing), OutputFloor: outputFloor,
		Evidence: pawl.EvidenceMode(v.evidence), PathClasses: slices.Clone(v.classes), AllowPaths: slices.Clone(v.allowPaths),
		Approval: v.approval.mode, ApprovalThreshold: v.approval.threshold, Parallel: v.parallel,
	}
	if len(out.Prepare) > 0 {
		out.PrepareFrom = pawl.FromUser
		if inRepository(c.origins["prepare"]) {
			out.PrepareFrom = pawl.FromRepository
		}
	}
	for i := range v.models {
		if v.models[i].name == "" {
			return pawl.Settings{}, pawl.Errorf(pawl.CodeInvalid, "no configuration was loaded")
		}
		out.Models[i] = v.choose(&v.models[i], list)
		for j := range v.fallbacks[i] {
			out.Fallbacks[i] = append(out.Fallbacks[i], v.choose(&v.fallbacks[i][j], list))
		}
	}
	for _, h := range v.haltOn {
		out.HaltOn = append(out.HaltOn, pawl.HaltCondition(h))
	}
	if _, given := c.origins["complexity"]; given {
		n := v.complexity
		out.Complexity = &n
	}
	if _, given := c.origins["replan_every"]; given {
		n := v.replanEvery
		out.ReplanEvery = &n
	}
	if v.callback.URL != "" {
		to := v.callback
		out.Callback = &to
	}
	if a := v.announce; a.command != "" || a.to.URL != "" {
		out.Announce = &pawl.Announcing{Command: a.command}
		if a.to.URL != "" {
			out.Announce.Callback = &a.to
		}
	}
	return out, nil
}

// Apply puts into a recipe what the configuration says about it: the limit on
// iterations, which is one on children where the root loop has them and does not
// begin anew with them, the patience of tiers 1 and 2, and the times of steps and gates. A time for a step or gate
// that the recipe does not have is an error.
func (c *Config) Apply(r *pawl.Recipe) error {
	v := &c.values
	if root := r.Kind(r.Start); root != nil {
		switch {
		case v.limits.Iterations > 0 && root.Children != nil && !root.Children.RestartsParent():
			root.Children.Limit = v.limits.Iterations
		case v.limits.Iterations > 0:
			root.Iterations = v.limits.Iterations
		}
		if root.Iterations == 0 {
			root.Iterations = pawl.DefaultLimits.Iterations
		}
	}
	for i := range r.Kinds {
		c.patience(&r.Kinds[i].Ladder)
		if !v.stuck {
			r.Kinds[i].Ladder.Stuck = 0
		}
	}
	return c.times(r)
}

// D-16 D-17 D-52
func (c *Config) patience(l *pawl.Ladder) {
	n := c.values.threshold
	if n == 0 {
		return
	}
	for i := range l.Rungs {
		if rung := &l.Rungs[i]; rung.Tier < 3 || rung.Failures < n {
			rung.Failures = n
		}
	}
}

// times sets the limits on time by the names of steps and gates.
func (c *Config) times(r *pawl.Recipe) error {
	parts := parts(r)
	var names []string
	for name := range parts {
		names = append(names, name)
	}
	slices.Sort(names)
	var problems strictyaml.Problems
	for _, name := range sorted(c.values.timeouts) {
		d := c.values.timeouts[name]
		if parts[name] == nil {
			path := "timeouts_ms." + name
			hint := ""
			if near := strictyaml.Nearest(name, names); near != "" {
				hint = " (did you mean " + near + "?)"
			}
			problems.Add(c.origins.Find(path), path, "recipe %s has no step or gate %s%s; it has %s", r.Name, name, hint, strings.Join(names, ", "))
			continue
		}
		for _, timeout := range parts[name] {
			*timeout = d
		}
	}
	return problems.Err()
}

// parts are the limits on time of all steps and gates, by their names.
func parts(r *pawl.Recipe) map[string][]*time.Duration {
	out := map[string][]*time.Duration{}
	recipe.Walk(r, func(s *pawl.Step) {
		if s.Repeat == nil { // a group has no time of its own
			out[s.Name] = append(out[s.Name], &s.Timeout)
		}
	}, func(*pawl.Review) {})
	stages := func(list []pawl.Stage) {
		for i := range list {
			out[list[i].Name] = append(out[list[i].Name], &list[i].Timeout)
		}
	}
	for i := range r.Kinds {
		stages(r.Kinds[i].Gates)
		stages(r.Kinds[i].FinalGates)
	}
	return out
}

// Value is one setting in force.
type Value struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin string `json:"origin"` // "default", a place in a file, a variable, a flag
}

// Explain lists every setting in force, in the units of its key, with where it
// comes from.
func (c *Config) Explain() []Value {
	const recipes = "the recipe's"
	var out []Value
	v := &c.values
	add := func(key, value string) {
		origin := "default"
		if pos, ok := c.origins[key]; ok {
			origin = pos.String()
		}
		out = append(out, Value{key, value, origin})
	}
	add("recipe", v.recipe)
	add("criteria", list(v.criteria))
	add("scope", list(v.scope))
	add("agent", none(v.agent))
	if _, given := c.origins["complexity"]; given {
		add("complexity", strconv.Itoa(v.complexity))
	} else {
		add("complexity", "assessed")
	}
	add("council", strconv.FormatBool(v.council))
	add("sandbox", v.sandbox)
	add("sandbox.uid", number(v.confinement.UID, "one without an account"))
	add("sandbox.profile", v.confinement.Profile)
	known := knownModels()
	for path, mo := range v.allModels() {
		add(path, mo.describe(v.choose(mo, known)))
	}
	for _, name := range providerNames {
		add("providers."+name, v.providers[name].describe())
	}
	for i := range v.delegates {
		add("delegates."+v.delegates[i].Name, v.delegates[i].describe())
	}
	add("allow_missing_gates", list(v.missing))
	for i, g := range v.gates {
		add(fmt.Sprintf("gates[%d]", i), fmt.Sprintf("%s (%s): %s", g.Name, g.Kind, g.Command))
	}
	if len(v.gates) == 0 {
		add("gates", "none")
	}
	add("prepare", list(v.prepare))
	add("prepare_timeout_ms", milliseconds(v.prepareTime))
	add("egress", list(v.egress))
	add("evidence", v.evidence)
	add("evidence.allow_paths", list(v.allowPaths))
	for i, r := range v.classes {
		add(fmt.Sprintf("evidence.classes[%d]", i), r.Pattern+": "+string(r.Class))
	}
	add("limits.money_usd", strings.TrimPrefix(v.limits.Money.String(), "$"))
	add("limits.tokens", strconv.FormatInt(v.limits.Tokens, 10))
	add("limits.time_minutes", strconv.FormatInt(int64(v.limits.Time/time.Minute), 10))
	add("limits.answer_seconds", strconv.FormatInt(int64(v.answer/time.Second), 10))
	add("limits.iterations", number(v.limits.Iterations, recipes))
	c.explainSession(add)
	c.explainRoom(add)
	add("retry.tries", strconv.Itoa(v.retry.Tries))
	add("retry.first_ms", milliseconds(v.retry.First))
	add("retry.cap_ms", milliseconds(v.retry.Cap))
	add("retry.pauses", strconv.Itoa(v.retry.Pauses))
	add("retry.pause_ms", milliseconds(v.retry.Pause))
	add("retry.fallback_after_minutes", strconv.FormatInt(int64(v.fallback/time.Minute), 10))
	add("halt_on", list(v.haltOn))
	for _, name := range sorted(v.timeouts) {
		add("timeouts_ms."+name, milliseconds(v.timeouts[name]))
	}
	add("instructions", v.instructions)
	add("stuck_detection", strconv.FormatBool(v.stuck))
	add("cost_tracking", strconv.FormatBool(v.cost))
	add("escalation_threshold", number(v.threshold, recipes))
	add("approval.mode", cmp.Or(v.approval.mode, recipes))
	add("approval.threshold", number(v.approval.threshold, recipes))
	add("parallel", number(v.parallel, recipes))
	if _, given := c.origins["replan_every"]; given {
		add("replan_every", number(v.replanEvery, "never"))
	} else {
		add("replan_every", recipes)
	}
	add("callback.url", none(v.callback.URL))
	add("callback.allow_private", strconv.FormatBool(v.callback.AllowPrivate))
	add("announce.command", none(v.announce.command))
	add("announce.url", none(v.announce.to.URL))
	add("announce.allow_private", strconv.FormatBool(v.announce.to.AllowPrivate))
	c.explainMachine(add)
	return out
}

func (c *Config) explainSession(add func(key, value string)) {
	l := c.values.session
	add("limits.session.money_usd", strings.TrimPrefix(l.Money.String(), "$"))
	add("limits.session.tokens", strconv.FormatInt(l.Tokens, 10))
	add("limits.session.time_minutes", strconv.FormatInt(int64(l.Time/time.Minute), 10))
	add("limits.session.silence_ms", milliseconds(l.Silence))
	add("limits.session.tool_time_ms", milliseconds(l.ToolTime))
}

func (c *Config) explainRoom(add func(key, value string)) {
	l := c.values.room
	add("limits.room.processes", strconv.FormatInt(l.Processes, 10))
	memory := strconv.Itoa(l.MemoryPercent) + "%"
	switch {
	case l.Memory > 0 && l.MemoryPercent > 0:
		memory = strictyaml.FormatSize(l.Memory) + ", at most " + memory
	case l.Memory > 0:
		memory = strictyaml.FormatSize(l.Memory)
	}
	add("limits.room.memory", memory)
	add("limits.room.file_size", strictyaml.FormatSize(l.FileSize))
	add("limits.room.disk", strictyaml.FormatSize(l.Disk))
	add("limits.room.files", strconv.FormatInt(l.Files, 10))
	add("limits.room.cpu_seconds", number(int(l.CPU/time.Second), "none"))
	r := c.values.recording
	add("recording.max_file", strictyaml.FormatSize(r.MaxFile))
	add("recording.max_new_files", strconv.Itoa(r.MaxNewFiles))
	add("recording.max_new_bytes", strictyaml.FormatSize(r.MaxNewBytes))
}

func (c *Config) explainMachine(add func(key, value string)) {
	m := c.values.machine
	add("machine.places", strconv.Itoa(m.Machine))
	add("machine.calls", strconv.Itoa(m.Calls))
	for _, name := range sorted(m.Accounts) {
		add("machine.accounts."+name, strconv.Itoa(m.Accounts[name]))
	}
	add("machine.no_net", strconv.Itoa(m.NoNet))
	add("machine.net", strconv.Itoa(m.Net))
	add("machine.heavy", strconv.Itoa(m.Heavy))
	add("machine.min_free", strictyaml.FormatSize(c.values.minFree))
	add("cache.size", strictyaml.FormatSize(c.values.cacheSize))
}

func (mo *model) describe(c pawl.ModelChoice) string {
	s := mo.provider + "/" + mo.name
	if mo.script != "" {
		s = "script:" + mo.script
	}
	if c.Plan {
		return s + ", paid by a plan"
	}
	s += fmt.Sprintf(", %s in and %s out per million tokens", c.Price.Input, c.Price.Output)
	if c.PriceGuess {
		s += " (not known: the dearest known price)"
	}
	return s
}

func (p Provider) describe() string {
	if p.Name == "script" {
		return none(p.File)
	}
	key := "no key"
	switch {
	case p.Key().Stored():
		key = "key from " + p.Key().String()
	case p.KeyEnv != "":
		key = "key in $" + p.KeyEnv
	}
	return p.Address() + ", " + key
}

func (d *Delegate) describe() string {
	return strings.Join(d.Command, " ") + ", purse " + string(d.Pays)
}

func none(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// number is n in digits; other when it is zero.
func number(n int, other string) string {
	if n == 0 {
		return other
	}
	return strconv.Itoa(n)
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

func list(words []string) string { return none(strings.Join(words, ", ")) }

func sorted[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
