package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/config"
)

// What a repository, which is a stranger, may not decide.
func TestRepositoryMayNot(t *testing.T) {
	for _, m := range []struct{ text, want string }{
		{"models: {fast: openai/gpt-6-luna}", ".pawl/config.yaml:1:1: models: a repository may not choose models; that belongs in your own file, a variable or a flag"},
		{"providers:\n  anthropic: {base_url: \"https://evil.example\"}", ".pawl/config.yaml:1:1: providers: a repository may not choose providers; that belongs in your own file, a variable or a flag"},
		{"delegates: {codex: {purse: login}}", ".pawl/config.yaml:1:1: delegates: a repository may not say how coding agents are run; that belongs in your own file"},
		{"allow_missing_gates: [lint]", ".pawl/config.yaml:1:1: allow_missing_gates: a repository may not leave out gates; that belongs in your own file, a variable or a flag"},
		{"sandbox: off", ".pawl/config.yaml:1:10: sandbox: a repository may not turn the sandbox off"},
		{"sandbox: {mode: off}", ".pawl/config.yaml:1:17: sandbox: a repository may not turn the sandbox off"},
		{"sandbox: {uid: 70000}", ".pawl/config.yaml:1:16: sandbox.uid: a repository may not choose who commands run as; that belongs in your own file or a variable"},
		{"sandbox:\n  mode: on\n  profile: default", ".pawl/config.yaml:3:12: sandbox.profile: a repository may not choose which system calls commands may make; that belongs in your own file or a variable"},
		{"limits: {session: {money_usd: 2.01}}", ".pawl/config.yaml:1:31: limits.session.money_usd: a repository may lower this limit, not raise it above $2.00; set it in your own file, a variable or a flag"},
		{"limits: {session: {tokens: 2000001}}", ".pawl/config.yaml:1:28: limits.session.tokens: a repository may lower this limit, not raise it above 2000000; set it in your own file, a variable or a flag"},
		{"limits: {session: {time_minutes: 46}}", ".pawl/config.yaml:1:34: limits.session.time_minutes: a repository may lower this limit, not raise it above 45; set it in your own file, a variable or a flag"},
		{"limits: {session: {silence_ms: 300001}}", ".pawl/config.yaml:1:32: limits.session.silence_ms: a repository may lower this limit, not raise it above 300000; set it in your own file, a variable or a flag"},
		{"limits: {session: {tool_time_ms: 900001}}", ".pawl/config.yaml:1:34: limits.session.tool_time_ms: a repository may lower this limit, not raise it above 900000; set it in your own file, a variable or a flag"},
		{"limits: {room: {processes: 4097}}", ".pawl/config.yaml:1:28: limits.room.processes: a repository may lower this limit, not raise it above 4096; set it in your own file, a variable or a flag"},
		{"limits: {room: {memory: 81%}}", ".pawl/config.yaml:1:25: limits.room.memory: a repository may lower this limit, not raise it above 80%; set it in your own file, a variable or a flag"},
		{"limits: {room: {file_size: 11GiB}}", ".pawl/config.yaml:1:28: limits.room.file_size: a repository may lower this limit, not raise it above 10GiB; set it in your own file, a variable or a flag"},
		{"limits: {room: {disk: 21GiB}}", ".pawl/config.yaml:1:23: limits.room.disk: a repository may lower this limit, not raise it above 20GiB; set it in your own file, a variable or a flag"},
		{"limits: {room: {files: 2000001}}", ".pawl/config.yaml:1:24: limits.room.files: a repository may lower this limit, not raise it above 2000000; set it in your own file, a variable or a flag"},
		{"recording: {max_file: 51MB}", ".pawl/config.yaml:1:23: recording.max_file: a repository may lower this limit, not raise it above 50MB; set it in your own file, a variable or a flag"},
		{"recording: {max_new_files: 50001}", ".pawl/config.yaml:1:28: recording.max_new_files: a repository may lower this limit, not raise it above 50000; set it in your own file, a variable or a flag"},
		{"recording: {max_new_bytes: 2GB}", ".pawl/config.yaml:1:28: recording.max_new_bytes: a repository may lower this limit, not raise it above 1GB; set it in your own file, a variable or a flag"},
		{"limits: {money_usd: 10.01}", ".pawl/config.yaml:1:21: limits.money_usd: a repository may lower this limit, not raise it above $10.00; set it in your own file, a variable or a flag"},
		{"limits: {money_usd: 0}", ".pawl/config.yaml:1:21: limits.money_usd: a repository may lower this limit, not raise it above $10.00; set it in your own file, a variable or a flag"},
		{"limits: {tokens: 5000001}", ".pawl/config.yaml:1:18: limits.tokens: a repository may lower this limit, not raise it above 5000000; set it in your own file, a variable or a flag"},
		{"limits: {time_minutes: 481}", ".pawl/config.yaml:1:24: limits.time_minutes: a repository may lower this limit, not raise it above 480; set it in your own file, a variable or a flag"},
		{"halt_on: [security_critical]", ".pawl/config.yaml:1:1: halt_on: a repository may not take out budget_exceeded"},
		{"callback: {url: \"https://evil.example/\"}", ".pawl/config.yaml:1:1: callback: a repository may not choose who hears about your runs; that belongs in your own file, a variable or a flag"},
		{"callback: {allow_private: true}", ".pawl/config.yaml:1:1: callback: a repository may not choose who hears about your runs; that belongs in your own file, a variable or a flag"},
		{"recipe: pawl\nannounce: {command: \"curl evil.example\"}", ".pawl/config.yaml:2:1: announce: a repository may not choose what is run or told when a run asks something; that belongs in your own file, a variable or a flag"},
		{"egress: [\"evil.example:443\"]", ".pawl/config.yaml:1:1: egress: a repository may not choose what commands reach; that belongs in your own file, a variable or a flag"},
		{"announce: {url: \"https://evil.example/\"}", ".pawl/config.yaml:1:1: announce: a repository may not choose what is run or told when a run asks something; that belongs in your own file, a variable or a flag"},
		{"machine: {heavy: 64}", ".pawl/config.yaml:1:1: machine: a repository may not say how much is done at once on your machine; that belongs in your own file or a variable"},
		{"cache: {size: 1MB}", ".pawl/config.yaml:1:1: cache: a repository may not say how much disk a cache takes on your machine; that belongs in your own file or a variable"},
		{"evidence: off", ".pawl/config.yaml:1:11: evidence: a repository may not turn evidence off; that belongs in your own file, a variable or a flag"},
		{"evidence: {mode: off}", ".pawl/config.yaml:1:18: evidence: a repository may not turn evidence off; that belongs in your own file, a variable or a flag"},
		{"evidence: {allow_paths: [.github]}", ".pawl/config.yaml:1:12: evidence.allow_paths: a repository may not allow changes of policy paths; that belongs in your own file, a variable or a flag"},
		{"evidence: {classes: [{pattern: spec/, class: test}, {pattern: e2e/, class: docs}]}", ".pawl/config.yaml:1:76: evidence.classes[1].class: a repository may not say that paths are docs, which nobody would look at; that belongs in your own file"},
		{"evidence: {classes: [{pattern: \"../x\", class: test}]}", ".pawl/config.yaml:1:32: evidence.classes[0].pattern: pattern \"../x\" has an empty part, . or .. in it: write it from the root, such as \"web/e2e/**\""},
		{"approval: {mode: auto}", ".pawl/config.yaml:1:18: approval.mode: a repository may not turn approval off; set it in your own file, a variable or a flag"},
		{"approval: {threshold: 79}", ".pawl/config.yaml:1:23: approval.threshold: a repository may raise this threshold, not lower it below 80; set it in your own file, a variable or a flag"},
		{"task_loop: {halt_conditions: []}", ".pawl/config.yaml:1:13: halt_on: a repository may not take out budget_exceeded"},
	} {
		_, err := config.Load(config.Sources{Repo: repo(config.RepoFile, m.text)})
		if err == nil || err.Error() != m.want || pawl.CodeOf(err) != pawl.CodeInvalid {
			t.Errorf("%s:\n got %v\nwant %s", m.text, err, m.want)
		}
	}
	// A stronger layer's own models do not hide a repository's.
	_, err := config.Load(config.Sources{Repo: repo(config.RepoFile, "providers: {anthropic: {base_url: \"https://evil.example\"}}"),
		Env: []string{"PAWL_PROVIDERS_OPENAI_KEY_ENV=MY_KEY"}})
	if err == nil {
		t.Error("a repository redirects a provider")
	}
	// Nor does a stronger layer's own callback.
	_, err = config.Load(config.Sources{Repo: repo(config.RepoFile, "callback: {url: \"https://evil.example/\"}"),
		Flags: []config.Flag{{Name: "--callback", Key: "callback.url", Value: "https://mine.example/"}}})
	if err == nil {
		t.Error("a repository names a callback")
	}
	// What the user says holds, whatever the repository wanted.
	s := MustSettings(t, config.Sources{Repo: repo(config.RepoFile, "limits: {money_usd: 500}"), Env: []string{"PAWL_LIMITS_MONEY_USD=20"}})
	if s.Limits.Money != 20*pawl.Dollars {
		t.Errorf("got %s", s.Limits.Money)
	}
	// The user may have no limit.
	s = MustSettings(t, config.Sources{Env: []string{"PAWL_LIMITS_MONEY_USD=0", "PAWL_SANDBOX=off"}})
	if s.Limits.Money != 0 {
		t.Errorf("got %s", s.Limits.Money)
	}
}

func TestMistakes(t *testing.T) {
	for _, m := range []struct {
		text, want string
		semantic   bool // the published schema cannot know
	}{
		{text: "recipes: x", want: "1:1: recipes: unknown key (did you mean recipe?); known here: recipe, criteria, scope, agent, complexity, council, sandbox, delegates, models, providers, gates, prepare, prepare_timeout_ms, allow_missing_gates, instructions, evidence, egress, limits, recording, retry, halt_on, timeouts_ms, stuck_detection, cost_tracking, escalation_threshold, approval, parallel, replan_every, callback, announce, machine, cache, task_loop"},
		{text: "machine: {places: 0}", want: "1:19: machine.places: want a whole number from 1 to 4096, got 0"},
		{text: "machine: {accounts: {antropic: 3}}", want: "1:22: machine.accounts.antropic: unknown key (did you mean anthropic?); known here: anthropic, openai, openai-chat, openrouter, ollama, lmstudio, vllm, script, claude-code, codex, opencode, gemini, copilot, qwen, kimi, goose, cursor, agy, claude-code-acp, codex-acp"},
		{text: "cache: {size: 999999}", want: "1:15: cache.size: want a size from 1MB to 1000TB, such as 500MB or 2GiB, got 999999"},
		{text: "cache: {size: 2000TB}", semantic: true, want: `1:15: cache.size: want a size from 1MB to 1000TB, such as 500MB or 2GiB, got "2000TB"`},
		{text: "cache: {limit: 5GB}", want: "1:9: cache.limit: unknown key; known here: size"},
		{text: "sandbox: maybe", want: `1:10: sandbox: want one of on, off, got "maybe"`},
		{text: "sandbox: {uid: 0}", want: "1:16: sandbox.uid: want a whole number from 1 to 2147483646, got 0"},
		{text: "sandbox: {uid: -1}", want: "1:16: sandbox.uid: want a whole number from 1 to 2147483646, got -1"},
		{text: "sandbox: {uid: 4294967295}", want: "1:16: sandbox.uid: want a whole number from 1 to 2147483646, got 4294967295"},
		{text: "sandbox: {profile: wild}", want: `1:20: sandbox.profile: want one of default, wide, got "wild" (did you mean wide?)`},
		{text: "sandbox: {user: 5}", want: "1:11: sandbox.user: unknown key; known here: mode, uid, profile"},
		{text: "limits: {session: {money_usd: 0}}", semantic: true, want: "1:31: limits.session.money_usd: want more than 0 dollars"},
		{text: "limits: {session: {tokens: 0}}", want: "1:28: limits.session.tokens: want a whole number from 1 to 1000000000000, got 0"},
		{text: "limits: {session: {time_minutes: 45m}}", want: `1:34: limits.session.time_minutes: want a whole number from 1 to 1440, got "45m"`},
		{text: "limits: {session: {silence_ms: 0}}", want: "1:32: limits.session.silence_ms: want a whole number from 1 to 86400000, got 0"},
		{text: "limits: {session: {tool_time: 1}}", want: "1:20: limits.session.tool_time: unknown key (did you mean tool_time_ms?); known here: money_usd, tokens, time_minutes, silence_ms, tool_time_ms"},
		{text: "limits: {room: {processes: 63}}", want: "1:28: limits.room.processes: want a whole number from 64 to 4194304, got 63"},
		{text: "limits: {room: {memory: 0%}}", want: `1:25: limits.room.memory: want a size from 64MiB to 1000TB, such as 500MB or 2GiB, or a percentage such as 80%, got "0%"`},
		{text: "limits: {room: {memory: 63MiB}}", semantic: true, want: `1:25: limits.room.memory: want a size from 64MiB to 1000TB, such as 500MB or 2GiB, or a percentage such as 80%, got "63MiB"`},
		{text: "limits: {room: {memory: 2000}}", want: `1:25: limits.room.memory: want a size from 64MiB to 1000TB, such as 500MB or 2GiB, or a percentage such as 80%, got 2000`},
		{text: "limits: {room: {file_size: 10 GB}}", want: `1:28: limits.room.file_size: want a size from 1MB to 1000TB, such as 500MB or 2GiB, got "10 GB"`},
		{text: "limits: {room: {disk: 80%}}", want: `1:23: limits.room.disk: want a size from 1MB to 1000TB, such as 500MB or 2GiB, got "80%"`},
		{text: "limits: {room: {files: 1}}", want: "1:24: limits.room.files: want a whole number from 100 to 1000000000, got 1"},
		{text: "limits: {room: {cpu_seconds: -1}}", want: "1:30: limits.room.cpu_seconds: want a whole number from 0 to 604800, got -1"},
		{text: "recording: {max_file: 0}", want: `1:23: recording.max_file: want a size from 1B to 1000TB, such as 500MB or 2GiB, got 0`},
		{text: "recording: {max_new_files: many}", want: `1:28: recording.max_new_files: want a whole number from 1 to 1000000000, got "many"`},
		{text: "recording: {max_bytes: 1GB}", want: "1:13: recording.max_bytes: unknown key; known here: max_file, max_new_files, max_new_bytes"},
		{text: "- a", want: "1:1: want a mapping (key: value), got a list"},
		{text: "complexity: 15", want: "1:13: complexity: want a whole number from 0 to 14, got 15"},
		{text: "complexity: -1", want: "1:13: complexity: want a whole number from 0 to 14, got -1"},
		{text: "escalation_threshold: 0", want: "1:23: escalation_threshold: want a whole number from 1 to 100, got 0"},
		{text: "task_loop: {escalation_threshold: 0}", want: "1:35: task_loop.escalation_threshold: want a whole number from 1 to 100, got 0"},
		{text: "task_loop: {max_iterations: 0}", want: "1:29: task_loop.max_iterations: want a whole number from 1 to 1000, got 0"},
		{text: "task_loop: {timeouts: {implementation: -5}}", want: "1:40: task_loop.timeouts.implementation: want a whole number from 1 to 86400, got -5"},
		{text: "task_loop: {timeouts: {implement: 5}}", want: "1:24: task_loop.timeouts.implement: unknown key; known here: implementation, quality_gates, requirements"},
		{text: "task_loop: {halt_conditions: [security]}", want: `1:31: task_loop.halt_conditions[0]: want one of security_critical, max_iterations_reached, budget_exceeded, got "security"`},
		{text: "task_loop: {max_iterations: 3}\nlimits: {iterations: 4}", semantic: true, want: "1:29: task_loop.max_iterations: the file says this in limits.iterations too; keep one of them"},
		{text: "limits: {money_usd: -1}", want: "1:21: limits.money_usd: want dollars from 0 to 1000000, such as 2.50, got -1"},
		{text: "limits: {money_usd: $5}", want: `1:21: limits.money_usd: want dollars from 0 to 1000000, such as 2.50, got "$5"`},
		{text: "limits: {money_usd: 0.0000001}", semantic: true, want: "1:21: limits.money_usd: want dollars from 0 to 1000000, such as 2.50, got 0.0000001"},
		{text: "limits: {tokens: lots}", want: `1:18: limits.tokens: want a whole number from 0 to 1000000000000, got "lots"`},
		{text: "limits: {time_minutes: 1.5}", want: "1:24: limits.time_minutes: want a whole number from 0 to 100000, got 1.5"},
		{text: "limits: {iterations: 0}", want: "1:22: limits.iterations: want a whole number from 1 to 1000, got 0"},
		{text: "retry: {tries: 0}", want: "1:16: retry.tries: want a whole number from 1 to 10, got 0"},
		{text: "retry: {first_ms: 60000}", semantic: true, want: "1:1: retry.cap_ms: the longest wait is shorter than the first"},
		{text: "stuck_detection: maybe", want: `1:18: stuck_detection: want true or false, got "maybe"`},
		{text: "timeouts_ms: {Implement: 5}", want: `1:15: timeouts_ms.Implement: want a name of lower-case letters, digits, - and _, got "Implement"`},
		{text: "timeouts_ms: {implement: 5s}", want: `1:26: timeouts_ms.implement: want a whole number from 1 to 86400000, got "5s"`},
		{text: "models: {fast: claude}", semantic: true, want: `1:16: models.fast: want PROVIDER/NAME or script:FILE, got "claude"`},
		{text: "models: {fast: antropic/claude}", semantic: true, want: `1:16: models.fast: there is no provider "antropic" (did you mean anthropic?); known: anthropic, openai, openai-chat, openrouter, ollama, lmstudio, vllm, script, claude-code, codex, opencode, gemini, copilot, qwen, kimi, goose, cursor, agy, claude-code-acp, codex-acp`},
		{text: "models: {fast: ollama}", semantic: true, want: `1:16: models.fast: want PROVIDER/NAME or script:FILE, got "ollama"; name the model too: ollama/NAME`},
		{text: "models: {fast: mistral/large}", semantic: true, want: `1:16: models.fast: there is no provider "mistral"; known: anthropic, openai, openai-chat, openrouter, ollama, lmstudio, vllm, script, claude-code, codex, opencode, gemini, copilot, qwen, kimi, goose, cursor, agy, claude-code-acp, codex-acp; for another server that speaks Chat Completions, openai-chat and providers.openai-chat.base_url`},
		{text: "models: {fast: codex}", semantic: true, want: `1:16: models.fast: want PROVIDER/NAME or script:FILE, got "codex"; name the model too, or let the agent choose it: codex/default`},
		{text: "delegates: {codex: {purses: key}}", want: "1:21: delegates.codex.purses: unknown key (did you mean purse?); known here: title, untested, protocol, command, purse, version, provider, aliases, tiers, max_output, modes, meta, hides, hide, hears, args, settings, environ, files, model, needs_model, method, key, login"},
		{text: "delegates: {codex: {purse: plan}}", want: `1:28: delegates.codex.purse: want one of auto, login, key, got "plan"`},
		{text: "delegates: {qwen: {purse: login}}", semantic: true, want: "1:27: delegates.qwen.purse: Qwen Code cannot be given a login"},
		{text: "delegates: {Mine: {protocol: acp}}", want: `1:13: delegates.Mine: want a name of lower-case letters, digits, - and _, got "Mine"`},
		{text: "delegates: {mine: {protocol: acp}}", semantic: true, want: "1:13: delegates.mine.command: is missing"},
		{text: "delegates: {mine: {command: [mine]}}", semantic: true, want: "1:13: delegates.mine.protocol: is missing: claude, codex or acp"},
		{text: "delegates: {mine: {protocol: acp, command: [mine]}}", semantic: true, want: "1:13: delegates.mine: has neither key nor login, so nothing could pay for it"},
		{text: "delegates: {mine: {protocol: acp, command: [mine], key: {environ: [A=b]}}}", semantic: true, want: "1:52: delegates.mine.key: needs an address, or a provider whose address it uses"},
		{text: "delegates: {mine: {protocol: acp, command: [mine], login: {file: .mine/auth}}}", semantic: true, want: "1:52: delegates.mine.login: hosts is missing: without them the agent reaches nobody"},
		{text: "delegates: {mine: {protocol: acp, command: [mine], login: {file: ../auth}}}", semantic: true, want: "1:52: delegates.mine.login: hosts is missing: without them the agent reaches nobody\n1:66: delegates.mine.login.file: want a path that stays inside, such as .agent/settings.json"},
		{text: "delegates: {openai: {protocol: acp}}", semantic: true, want: "1:13: delegates.openai: there is a provider of this name; choose another one"},
		{text: "delegates: {claude-code: {environ: [\"A B=c\"]}}", semantic: true, want: `1:27: delegates.claude-code.environ: want NAME=VALUE, and "A B" is not the name of a variable`},
		{text: "delegates: {claude-code: {aliases: [best]}}", semantic: true, want: `1:27: delegates.claude-code.aliases: want NAME=VALUE, got "best"`},
		{text: "delegates: {claude-code: {settings: [a=1]}}", semantic: true, want: "1:27: delegates.claude-code.settings: are for the protocol codex only"},
		{text: "delegates: {codex: {meta: \"{}\"}}", semantic: true, want: "1:27: delegates.codex.meta: is for the protocol acp only"},
		{text: "delegates: {codex: {meta: x}}", semantic: true, want: "1:27: delegates.codex.meta: want JSON, such as {\"key\": true}"},
		{text: "delegates: {codex: {version: {min: new}}}", want: `1:36: delegates.codex.version.min: want a version such as 1.2.3, got "new"`},
		{text: "delegates: {codex: {login: {hosts: [chatgpt.com]}}}", semantic: true, want: `1:29: delegates.codex.login.hosts: egress rule "chatgpt.com": "chatgpt.com" has no port: want HOST:PORT or HOST:PORT=ADDRESS, such as "registry.npmjs.org:443" or "npm.corp:443=10.0.0.5"`},
		{text: "delegates: {codex: {key: {address: \"http://api.example\"}}}", semantic: true, want: "1:36: delegates.codex.key.address: http sends the key and your code in the clear; use https, except for this machine and private networks"},
		{text: "delegates: {codex: {key: {key_env: K, key_file: /k}}}", semantic: true, want: "1:49: delegates.codex.key.key_file: the key is said to be in key_env, too: want one of them"},
		{text: "models: {fast: []}", semantic: true, want: `1:16: models.fast: want at least one, got a list`},
		{text: "models: {fast: [openai/a, mistral]}", semantic: true, want: `1:27: models.fast[1]: want PROVIDER/NAME or script:FILE, got "mistral"`},
		{text: "models: {fast: [openai/a, {max_output: 2000}]}", semantic: true, want: `1:28: models.fast[1].name: provider is missing; known: anthropic, openai, openai-chat, openrouter, ollama, lmstudio, vllm, script, claude-code, codex, opencode, gemini, copilot, qwen, kimi, goose, cursor, agy, claude-code-acp, codex-acp`},
		{text: "models: {fast: script/x}", semantic: true, want: `1:16: models.fast: want script:FILE, got "script/x"`},
		{text: "models: {small: openai/gpt-5}", want: "1:10: models.small: unknown key; known here: fast, medium, large"},
		{text: "models: {fast: {name: gpt-5}}", semantic: true, want: "1:23: models.fast.name: provider is missing; known: anthropic, openai, openai-chat, openrouter, ollama, lmstudio, vllm, script, claude-code, codex, opencode, gemini, copilot, qwen, kimi, goose, cursor, agy, claude-code-acp, codex-acp"},
		{text: "models: {fast: {provider: openai}}", semantic: true, want: "1:27: models.fast.provider: names no model: name is missing"},
		{text: "models: {fast: {max_output: 100}}", want: "1:29: models.fast.max_output: want a whole number from 1024 to 1000000, got 100"},
		{text: "models: {fast: {price: {input: 1}}}", want: "1:25: models.fast.price.output: is missing"},
		{text: "models: {large: {provider: script}}", semantic: true, want: "1:10: models.large: the scripted model needs a file: script:FILE, or providers.script.file"},
		{text: "models: {fast: \"script:a\", large: \"script:b\"}", semantic: true, want: `1:35: models.large: a run has one script, and another of its models uses "a"`},
		{text: "providers: {gemini: {}}", want: "1:13: providers.gemini: unknown key; known here: anthropic, openai, openai-chat, openrouter, ollama, lmstudio, vllm, script"},
		{text: "providers: {openai: {key_file: key}}", semantic: true, want: "1:32: providers.openai.key_file: want an absolute path, or one below ~/"},
		{text: "providers: {openai: {keyring: pawl}}", semantic: true, want: "1:31: providers.openai.keyring: want SERVICE/ACCOUNT, such as pawl/anthropic"},
		{text: "providers: {openai: {key_env: K, key_command: pass show k}}", semantic: true, want: "1:47: providers.openai.key_command: the key is said to be in key_env, too: want one of them"},
		{text: "providers: {openai: {api_key: sk-secret}}", want: "1:22: providers.openai.api_key: unknown key; known here: base_url, key_env, key_file, key_command, keyring"},
		{text: "providers: {openai: {key_env: sk-secret}}", semantic: true, want: "1:31: providers.openai.key_env: want the name of an environment variable, such as ANTHROPIC_API_KEY; if this is a key, take it out of the file and replace it with the provider"},
		{text: "providers: {openai: {base_url: api.example}}", semantic: true, want: "1:32: providers.openai.base_url: want an address such as https://proxy.example/v1 or http://localhost:11434/v1"},
		{text: "providers: {openai: {base_url: \"http://api.example\"}}", semantic: true, want: "1:32: providers.openai.base_url: http sends the key and your code in the clear; use https, except for this machine and private networks"},
		{text: "providers: {openai: {base_url: \"https://u:secret@api.example\"}}", semantic: true, want: "1:32: providers.openai.base_url: an address with a password, query or fragment is not allowed; name the key's variable in key_env"},
		{text: "approval: auto", want: "1:11: approval: want a mapping, got \"auto\""},
		{text: "approval: {mode: human}", want: `1:18: approval.mode: want one of auto, manual, confidence_threshold, got "human"`},
		{text: "approval: {threshold: 101}", want: "1:23: approval.threshold: want a whole number from 0 to 100, got 101"},
		{text: "parallel: 0", want: "1:11: parallel: want a whole number from 1 to 64, got 0"},
		{text: "replan_every: -1", want: "1:15: replan_every: want a whole number from 0 to 1000, got -1"},
		{text: "callback: {key: sk-secret}", want: "1:12: callback.key: unknown key; known here: url, allow_private"},
		{text: "egress: [npm.test]", semantic: true, want: "1:1: egress: egress rule \"npm.test\": \"npm.test\" has no port: want HOST:PORT or HOST:PORT=ADDRESS, such as \"registry.npmjs.org:443\" or \"npm.corp:443=10.0.0.5\""},
		{text: "announce: {command: \"" + strings.Repeat("x", 2001) + "\"}", semantic: true, want: "1:21: announce.command: want a line of at most 2000 bytes, got 2001; put more into a script"},
		{text: "announce: {url: \"http://hooks.example/\"}", semantic: true, want: "1:17: announce.url: http sends in the clear what runs ask; use https, or for a private network set announce.allow_private to true"},
		{text: "callback: {url: hooks.example}", semantic: true, want: "1:17: callback.url: want an address of at most 1000 bytes such as https://hooks.example/pawl"},
		{text: "callback: {url: \"https://u:secret@hooks.example/\"}", semantic: true, want: "1:17: callback.url: an address with a password or fragment is not allowed; requests are signed with the key in $PAWL_CALLBACK_SECRET"},
		{text: "callback: {url: \"http://hooks.example/\"}", semantic: true, want: "1:17: callback.url: http sends in the clear how runs end; use https, or for a private network set callback.allow_private to true"},
		{text: "callback: {url: \"https://10.0.0.1/\"}", semantic: true, want: "1:17: callback.url: this is an address of this machine or a private network; if that is meant, set callback.allow_private to true"},
		{text: "callback: {url: \"http://localhost:8080/\", allow_private: false}", semantic: true, want: "1:17: callback.url: this is an address of this machine or a private network; if that is meant, set callback.allow_private to true"},
		// F-123: nothing can be reached there.
		{text: "callback: {url: \"https://hooks.example:65536/x\"}", semantic: true, want: `1:17: callback.url: "65536" is not a port: want a number from 1 to 65535, as in https://hooks.example:8443/pawl`},
		{text: "callback: {url: \"https://hooks.example:0/x\"}", semantic: true, want: `1:17: callback.url: "0" is not a port: want a number from 1 to 65535, as in https://hooks.example:8443/pawl`},
		{text: "callback: {url: \"https://hooks..example/x\"}", semantic: true, want: `1:17: callback.url: "hooks..example" is not a host name, as in https://hooks.example:8443/pawl`},
		{text: "callback: {url: \"https://256.1.1.1/x\"}", semantic: true, want: `1:17: callback.url: "256.1.1.1" is a number and not an address as 192.0.2.1 is, as in https://hooks.example:8443/pawl`},
		{text: "announce: {url: \"https://hooks.example:99999/x\"}", semantic: true, want: `1:17: announce.url: "99999" is not a port: want a number from 1 to 65535, as in https://hooks.example:8443/pawl`},
		{text: "providers: {ollama: {base_url: \"http://localhost:70000/v1\"}}", semantic: true, want: `1:32: providers.ollama.base_url: "70000" is not a port: want a number from 1 to 65535, as in https://proxy.example:8443/v1`},
		{text: "delegates: {codex: {key: {address: \"https://api.example:0\"}}}", semantic: true, want: `1:36: delegates.codex.key.address: "0" is not a port: want a number from 1 to 65535, as in https://proxy.example:8443/v1`},
		{text: "gates: {name: a}", want: "1:9: gates: want a list, got a mapping"},
		{text: "gates: [{name: a, kind: unit, command: x}]", want: `1:25: gates[0].kind: want one of tests, types, lint, security, format, got "unit"`},
		{text: "gates: [{name: a, kind: tests}]", want: "1:10: gates[0].command: is missing"},
		{text: "gates: [{name: a, kind: tests, command: \"\"}]", want: "1:41: gates[0].command: is empty"},
		{text: "gates: [{name: a, kind: tests, command: x, file: ../r.xml}]", semantic: true, want: "1:50: gates[0].file: want a path inside the checkout, such as build/report.xml"},
		{text: "gates: [{name: a, kind: tests, command: x}, {name: a, kind: lint, command: y}]", semantic: true, want: `1:52: gates[1].name: two gates are called "a"`},
	} {
		t.Run(m.text, func(t *testing.T) {
			user := MustWrite(t, m.text)
			_, err := config.Load(config.Sources{UserFile: user})
			if err == nil {
				t.Fatal("it was accepted")
			}
			got := strings.ReplaceAll(err.Error(), user+":", "")
			if diff := cmp.Diff(m.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if pawl.CodeOf(err) != pawl.CodeInvalid || strings.Contains(got, "secret") {
				t.Errorf("got %v", err)
			}
			if refused := schemaError(t, m.text) != nil; refused == m.semantic {
				t.Errorf("the schema refuses it: %v, want %v", refused, !m.semantic)
			}
		})
	}
}

func TestMistakesOutsideOfFiles(t *testing.T) {
	for _, m := range []struct {
		src  config.Sources
		want string
	}{
		{config.Sources{Env: []string{"PAWL_LIMIT_MONEY_USD=5"}}, "$PAWL_LIMIT_MONEY_USD: there is no such setting; did you mean PAWL_LIMITS_MONEY_USD?"},
		{config.Sources{Env: []string{"PAWL_LIMITS_MONEY_USD=five"}}, `$PAWL_LIMITS_MONEY_USD: limits.money_usd: want dollars from 0 to 1000000, such as 2.50, got "five"`},
		{config.Sources{Env: []string{"PAWL_MODEL=small=openai/gpt-5"}}, "$PAWL_MODEL: models.small: unknown key; known here: fast, medium, large"},
		{config.Sources{Flags: []config.Flag{{Name: "--model", Key: "model", Value: "gpt-5"}}},
			`--model: models.fast: want PROVIDER/NAME or script:FILE, got "gpt-5"`},
		{config.Sources{Flags: []config.Flag{{Name: "--callback", Key: "callback.url", Value: "https://hooks.example:123456"}}}, // F-123
			`--callback: callback.url: "123456" is not a port: want a number from 1 to 65535, as in https://hooks.example:8443/pawl`},
		{config.Sources{Env: []string{"ANTHROPIC_BASE_URL=https://proxy.example:65536"}}, // F-123
			`$ANTHROPIC_BASE_URL: providers.anthropic.base_url: "65536" is not a port: want a number from 1 to 65535, as in https://proxy.example:8443/v1`},
		{config.Sources{Flags: []config.Flag{{Name: "--recipe", Key: "recipe", Value: "My Recipe"}}},
			`--recipe: recipe: want a name of lower-case letters, digits, - and _, got "My Recipe"`},
		{config.Sources{Repo: repo(config.RepoFile+"/x", "")}, "read .pawl/config.yaml: .pawl/config.yaml is not a regular file"},
	} {
		_, err := config.Load(m.src)
		if err == nil || err.Error() != m.want {
			t.Errorf("got %v, want %s", err, m.want)
		}
	}
	// The highest port and addresses in numbers are as good as others.
	for _, url := range []string{"https://hooks.example:65535/", "https://hooks.example:1/", "https://1.2.3.4:443/", "https://[2001:db8::1]:8443/", "https://hooks.example./x", "https://höoks.example/x", "https://my_hooks.example/"} {
		MustLoad(t, config.Sources{Flags: []config.Flag{{Name: "--callback", Key: "callback.url", Value: url}}})
	}
	// Variables that are someone else's are left alone.
	MustLoad(t, config.Sources{Env: []string{"PAWL_TASK_ID=3", "PAWL_PROJECT_ROOT=/x", "PAWL_CHANGED_FILES=/y", "PAWLX=1", "PAWL=1",
		"PAWL_CALLBACK_SECRET=s", "PAWL_LOCAL=1"}})
}

// The commands that prepare a checkout are the repository's unless a stronger layer
// replaces them, whatever else that layer says.
func TestPrepareOrigin(t *testing.T) {
	theirs := repo(config.RepoFile, "prepare: [make deps]\ncriteria: [it works]\n")
	user := MustWrite(t, "criteria: [mine]\n")
	for name, test := range map[string]struct {
		src      config.Sources
		commands []string
		from     pawl.Origin
	}{
		"None":              {config.Sources{Repo: repo(), UserFile: user}, nil, ""},
		"Repository":        {config.Sources{Repo: theirs, UserFile: user}, []string{"make deps"}, pawl.FromRepository},
		"UserFile":          {config.Sources{Repo: repo(), UserFile: MustWrite(t, "prepare: [npm ci]\n")}, []string{"npm ci"}, pawl.FromUser},
		"UserFileSaysSame":  {config.Sources{Repo: theirs, UserFile: MustWrite(t, "prepare: [make deps]\n")}, []string{"make deps"}, pawl.FromUser},
		"UserFileWantsNone": {config.Sources{Repo: theirs, UserFile: MustWrite(t, "prepare: []\n")}, nil, ""},
		"Variable":          {config.Sources{Repo: theirs, Env: []string{"PAWL_PREPARE=npm ci"}}, []string{"npm ci"}, pawl.FromUser},
		"Flag": {config.Sources{Repo: theirs, Flags: []config.Flag{{Name: "--prepare", Key: "prepare", Value: "npm ci"}}},
			[]string{"npm ci"}, pawl.FromUser},
	} {
		t.Run(name, func(t *testing.T) {
			s := MustSettings(t, test.src)
			if !slices.Equal(s.Prepare, test.commands) || s.PrepareFrom != test.from {
				t.Errorf("got %q from %q, want %q from %q", s.Prepare, s.PrepareFrom, test.commands, test.from)
			}
		})
	}
}
