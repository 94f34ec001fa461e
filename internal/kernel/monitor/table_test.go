package monitor

import (
	"fmt"
	"hash/fnv"
	"os"
	"strconv"
	"strings"
	"testing"

	"pawl"
)

// history is one of testdata: batches, and what is to be said after each.
type history struct {
	name, story string
	batches     []Batch
	labels      []pawl.Health
}

// After every batch of the written histories the monitor gives the verdict of the batch's
// label, without a false alarm and without a miss. V-44 V-45 V-46 V-47 V-48
func TestHistories(t *testing.T) {
	for _, c := range []struct {
		file  string
		least int
	}{{"tune.txt", 40}, {"heldout.txt", 20}, {"edges.txt", 1}} {
		t.Run(c.file, func(t *testing.T) {
			all := parse(t, "testdata/"+c.file)
			if len(all) < c.least {
				t.Errorf("%d histories, want at least %d", len(all), c.least)
			}
			var wrong mistakes
			judged := 0
			for _, h := range all {
				for i, want := range h.labels {
					judged++
					wrong.judge(t, tuned(h.batches[:i+1]), want, fmt.Sprintf("%s (%s)\n\tafter batch %d: ", h.name, h.story, h.batches[i].N))
				}
			}
			t.Logf("%s: %d histories, %d verdicts: %d false stops, %d missed", c.file, len(all), judged, wrong.falsely, wrong.missed)
		})
	}
}

// mistakes counts verdicts that are not the ones that are wanted.
type mistakes struct{ falsely, missed int }

// judge checks a verdict; at says which one it is.
func (m *mistakes) judge(t *testing.T, v Verdict, want pawl.Health, at string) {
	t.Helper()
	checkReason(t, v)
	if v.Health == want || want == pawl.HealthProgressing && v.Health == "" { // nothing is said of a batch that got nowhere
		return
	}
	if want == pawl.HealthProgressing {
		m.falsely++
	} else {
		m.missed++
	}
	t.Errorf("%s%s (%s), want %s", at, v.Health, v.Reason, want)
}

// Every health is wanted somewhere in both files.
func TestHistoriesHaveEveryHealth(t *testing.T) {
	for _, file := range []string{"tune.txt", "heldout.txt"} {
		seen := map[pawl.Health]int{}
		for _, h := range parse(t, "testdata/"+file) {
			for _, l := range h.labels {
				seen[l]++
			}
		}
		for _, want := range healths() {
			if seen[want] == 0 {
				t.Errorf("%s: no line wants %s", file, want)
			}
		}
		if len(seen) != len(healths()) {
			t.Errorf("%s: labels are %v", file, seen)
		}
	}
}

func healths() []pawl.Health {
	return []pawl.Health{pawl.HealthBlocked, pawl.HealthFlipFlop, pawl.HealthRegressing, pawl.HealthStalled, pawl.HealthProgressing}
}

func checkReason(t *testing.T, v Verdict) {
	t.Helper()
	if (v.Reason == "") != (v.Health == "") || len(v.Reason) > ReasonMax {
		t.Errorf("%s has a reason of %d bytes: %q", v.Health, len(v.Reason), v.Reason)
	}
}

func parse(t testing.TB, path string) []history {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []history
	for n, line := range strings.Split(string(src), "\n") {
		switch {
		case strings.HasPrefix(line, "== "):
			name, story, _ := strings.Cut(line[3:], ": ")
			all = append(all, history{name: name, story: story})
		case line != "" && !strings.HasPrefix(line, "#"):
			h := &all[len(all)-1]
			b, label, err := parseBatch(line)
			if err != nil {
				t.Fatalf("%s:%d: %v", path, n+1, err)
			}
			h.batches, h.labels = append(h.batches, b), append(h.labels, label)
		}
	}
	return all
}

// parseBatch reads a line: "1 P:40 | 1 ok | 2 rej e:panic = PROGRESSING".
func parseBatch(line string) (b Batch, label pawl.Health, err error) {
	facts, want, ok := strings.Cut(line, " = ")
	if !ok {
		return b, "", fmt.Errorf("no label: %q", line)
	}
	parts := strings.Split(facts, "|")
	head := strings.Fields(parts[0])
	b = Batch{N: number(head[0]), Passing: -1}
	for _, p := range parts[1:] {
		task, err := parseTask(strings.Fields(p))
		if err != nil {
			return b, "", err
		}
		b.Tasks = append(b.Tasks, task)
		switch task.Result {
		case Approved:
			b.Approved, b.Attempted = b.Approved+1, b.Attempted+1
		case Rejected, Failed:
			b.Attempted++
		}
	}
	for _, f := range head[1:] {
		key, value, ok := strings.Cut(f, ":")
		switch {
		case key == "P":
			b.Passing = number(value)
		case key == "T":
			b.Tree = print64(value)
		case key == "B":
			for _, w := range strings.Split(value, ",") {
				b.Broke = append(b.Broke, print64(w))
			}
		case key == "H":
			b.Hunks = parseHunks(value)
		case !ok && strings.Contains(key, "/"):
			approved, attempted, _ := strings.Cut(key, "/")
			b.Approved, b.Attempted = number(approved), number(attempted)
		default:
			return b, "", fmt.Errorf("unknown %q", f)
		}
	}
	return b, pawl.Health(want), nil
}

func parseTask(f []string) (Task, error) {
	results := map[string]Result{"ok": Approved, "rej": Rejected, "fail": Failed, "block": Blocked, "wait": Waiting}
	r, ok := results[f[1]]
	if !ok {
		return Task{}, fmt.Errorf("unknown result %q", f[1])
	}
	task := Task{Task: number(f[0]) - 1, Result: r, Passing: -1}
	for _, f := range f[2:] {
		key, value, _ := strings.Cut(f, ":")
		switch key {
		case "e":
			task.Error = print64(value)
		case "f":
			set, n, _ := strings.Cut(value, "/")
			task.Failing, task.Failed = print64(set), number(n)
		case "p":
			task.Passing = number(value)
		case "t":
			task.Tree = print64(value)
		case "h":
			task.Hunks = parseHunks(value)
		case "b":
			task.Blocker = value
		default:
			return Task{}, fmt.Errorf("unknown %q", f)
		}
	}
	return task, nil
}

func parseHunks(s string) (out []uint64) {
	for _, pair := range strings.Split(s, ",") {
		went, came, _ := strings.Cut(pair, ">")
		out = append(out, print64(went), print64(came))
	}
	return out
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

func print64(s string) uint64 {
	if s == "" {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	return h.Sum64() | 1
}
