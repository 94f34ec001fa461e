package config

import (
	"fmt"
	"slices"
	"time"

	"pawl"
	"pawl/internal/strictyaml"
)

// forbidden reports what a repository's file may not say at all, whatever
// stronger layers say: where code, money and news of runs go, what of the machine is
// used, and what runs unconfined.
func forbidden(where strictyaml.Where, v *values) error {
	var problems strictyaml.Problems
	const (
		inFile = "your own file or a variable"
		inFlag = "your own file, a variable or a flag"
	)
	for _, f := range []struct{ key, may, place string }{
		{"models", "choose models", inFlag},
		{"providers", "choose providers", inFlag},
		{"delegates", "say how coding agents are run", "your own file"},
		{"allow_missing_gates", "leave out gates", inFlag},
		{"callback", "choose who hears about your runs", inFlag},
		{"announce", "choose what is run or told when a run asks something", inFlag},
		{"egress", "choose what commands reach", inFlag},
		{"machine", "say how much is done at once on your machine", inFile},
		{"cache", "say how much disk a cache takes on your machine", inFile},
		{"evidence.allow_paths", "allow changes of policy paths", inFlag},
		{"sandbox.uid", "choose who commands run as", inFile},
		{"sandbox.profile", "choose which system calls commands may make", inFile},
	} {
		if pos, ok := where[f.key]; ok {
			problems.Add(pos, f.key, "a repository may not %s; that belongs in %s", f.may, f.place)
		}
	}
	if v.sandbox == "off" {
		problems.Add(where.Find("sandbox.mode"), "sandbox", "a repository may not turn the sandbox off")
	}
	if v.evidence == string(pawl.EvidenceOff) {
		problems.Add(where.Find("evidence.mode"), "evidence", "a repository may not turn evidence off; that belongs in your own file, a variable or a flag")
	}
	for i, r := range v.classes {
		if !slices.Contains(strictClasses, r.Class) {
			path := fmt.Sprintf("evidence.classes[%d].class", i)
			problems.Add(where.Find(path), path, "a repository may not say that paths are %s, which nobody would look at; that belongs in your own file", r.Class)
		}
	}
	return problems.Err()
}

// strictClasses are the classes of paths that more is looked at than of code.
var strictClasses = []pawl.PathClass{pawl.ClassTest, pawl.ClassSupport, pawl.ClassGateInput, pawl.ClassVendored, pawl.ClassPolicy}

// excessive reports limits of a repository that nobody stronger has replaced
// and that are looser than without it, and consent it gives in your place.
func (c *Config) excessive() error {
	var problems strictyaml.Problems
	limit := func(path string, now, most int64, words string) {
		if pos := c.origins[path]; inRepository(pos) && (now == 0 || now > most) {
			problems.Add(pos, path, "a repository may lower this limit, not raise it above %s; set it in your own file, a variable or a flag", words)
		}
	}
	l, d := c.values.limits, pawl.DefaultLimits
	limit("limits.money_usd", int64(l.Money), int64(d.Money), d.Money.String())
	limit("limits.tokens", l.Tokens, d.Tokens, fmt.Sprint(d.Tokens))
	limit("limits.time_minutes", int64(l.Time), int64(d.Time), fmt.Sprint(int(d.Time/time.Minute)))
	limit("limits.answer_seconds", int64(c.values.answer), int64(pawl.DefaultAnswerTime), fmt.Sprint(int(pawl.DefaultAnswerTime/time.Second)))
	limit("prepare_timeout_ms", int64(c.values.prepareTime), int64(pawl.DefaultPrepareTime), milliseconds(pawl.DefaultPrepareTime))
	session, longest := c.values.session, pawl.DefaultSessionLimits
	limit("limits.session.money_usd", int64(session.Money), int64(longest.Money), longest.Money.String())
	limit("limits.session.tokens", session.Tokens, longest.Tokens, fmt.Sprint(longest.Tokens))
	limit("limits.session.time_minutes", int64(session.Time), int64(longest.Time), fmt.Sprint(int(longest.Time/time.Minute)))
	limit("limits.session.silence_ms", int64(session.Silence), int64(longest.Silence), milliseconds(longest.Silence))
	limit("limits.session.tool_time_ms", int64(session.ToolTime), int64(longest.ToolTime), milliseconds(longest.ToolTime))
	room, most := &c.values.room, pawl.DefaultRoomLimits
	limit("limits.room.processes", room.Processes, most.Processes, fmt.Sprint(most.Processes))
	limit("limits.room.file_size", room.FileSize, most.FileSize, strictyaml.FormatSize(most.FileSize))
	limit("limits.room.disk", room.Disk, most.Disk, strictyaml.FormatSize(most.Disk))
	limit("limits.room.files", room.Files, most.Files, fmt.Sprint(most.Files))
	if room.Memory == 0 {
		limit("limits.room.memory", int64(room.MemoryPercent), int64(most.MemoryPercent), fmt.Sprintf("%d%%", most.MemoryPercent))
	} else if inRepository(c.origins["limits.room.memory"]) {
		room.MemoryPercent = most.MemoryPercent // the lower one holds
	}
	recording, largest := c.values.recording, pawl.DefaultRecordingLimits
	limit("recording.max_file", recording.MaxFile, largest.MaxFile, strictyaml.FormatSize(largest.MaxFile))
	limit("recording.max_new_files", int64(recording.MaxNewFiles), int64(largest.MaxNewFiles), fmt.Sprint(largest.MaxNewFiles))
	limit("recording.max_new_bytes", recording.MaxNewBytes, largest.MaxNewBytes, strictyaml.FormatSize(largest.MaxNewBytes))
	if pos := c.origins["approval.mode"]; inRepository(pos) && c.values.approval.mode == "auto" {
		problems.Add(pos, "approval.mode", "a repository may not turn approval off; set it in your own file, a variable or a flag")
	}
	if pos, n := c.origins["approval.threshold"], c.values.approval.threshold; inRepository(pos) && n > 0 && n < pawl.DefaultThreshold {
		problems.Add(pos, "approval.threshold", "a repository may raise this threshold, not lower it below %d; set it in your own file, a variable or a flag", pawl.DefaultThreshold)
	}
	if pos := c.origins["halt_on"]; inRepository(pos) && !slices.Contains(c.values.haltOn, string(pawl.HaltBudget)) {
		problems.Add(pos, "halt_on", "a repository may not take out %s", pawl.HaltBudget)
	}
	return problems.Err()
}

func inRepository(pos strictyaml.Pos) bool {
	return pos.Line > 0 && (pos.Origin == RepoFile || pos.Origin == TaskLoopFile)
}
