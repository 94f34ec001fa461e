package view

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
)

// A run's page and its report name the commands that prepare checkouts, whose they are
// and what they reach. What a command says of itself stays quoted.
func TestPrepareIsNamed(t *testing.T) {
	commands := []string{"make deps", "your own commands, \"with\nthe network"}
	const quoted = `"make deps", "your own commands, \"with\nthe network"`
	for name, test := range map[string]struct {
		from     pawl.Origin
		confined bool
		want     string
		network  bool
	}{
		"User":                 {pawl.FromUser, true, "your own commands, through the egress proxy to npm.test:443, pypi.test:443: ", true},
		"Repository":           {pawl.FromRepository, true, "the repository's commands, through the egress proxy to npm.test:443, pypi.test:443: ", true},
		"RepositoryUnconfined": {pawl.FromRepository, false, "the repository's commands, with all rights of the user and no egress proxy (--unsandboxed): ", true},
		"NotRecorded":          {"", true, "without a network: ", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t, 6, 2, func(set *pawl.Settings, b *pawl.RunStarted) {
				set.Prepare, set.PrepareFrom, b.Confined = commands, test.from, test.confined
				if test.from != "" {
					set.Egress = []string{"npm.test:443", "pypi.test:443"}
				}
			})
			s.iterate(2, "")
			r := fold(s.events)
			if page := Show(r, s.read); !strings.Contains(page, "\n  Prepare    "+test.want+quoted+"\n") {
				t.Errorf("the page says\n%s", page)
			}
			report, err := CompletionReport(r, s.read)
			if err != nil || !strings.Contains(report, "\nPrepare: "+test.want+quoted+"\n") {
				t.Errorf("the report says, %v\n%s", err, report)
			}
			data, err := ShowJSON(r, s.read)
			if err != nil {
				t.Fatal(err)
			}
			var got struct{ Prepare SummaryPrepare }
			if err := json.Unmarshal(data, &got); err != nil || got.Prepare.From != test.from || got.Prepare.Network != test.network || len(got.Prepare.Commands) != 2 {
				t.Errorf("as JSON: %+v, %v", got, err)
			}
		})
	}
	t.Run("OfATree", func(t *testing.T) {
		s := loomParallel(t)
		r := fold(s.events)
		r.Settings.Prepare, r.Settings.PrepareFrom = commands, pawl.FromUser
		report, err := CompletionReport(r, s.read)
		if err != nil || !strings.Contains(report, "\nPrepare: your own commands, ") {
			t.Errorf("the report says, %v\n%s", err, report)
		}
	})
	t.Run("None", func(t *testing.T) {
		s := escalated(t)
		r := fold(s.events)
		report, err := CompletionReport(r, s.read)
		if err != nil || strings.Contains(report+Show(r, s.read), "Prepare") || Summarize(r, s.read).Prepare != nil {
			t.Errorf("a run without such commands names some, %v", err)
		}
	})
}

// How often commands ran, how long they took and whom they were in contact with is in the run's
// lines, on its page and in its report. What was used again counts apart. What a host is called
// may come from the commands.
func TestPreparationsAreToldAndCounted(t *testing.T) {
	s := begin(t, 6, 2, func(set *pawl.Settings, _ *pawl.RunStarted) {
		set.Prepare, set.PrepareFrom = []string{"npm ci"}, pawl.FromUser
	})
	for _, row := range []struct {
		answer pawl.Prepared
		line   string
	}{
		{pawl.Prepared{Key: "a", Duration: time.Minute, Requests: 3, Received: 2 << 10, Hosts: []string{"npm.test:443"}},
			"Prepared in 1m · 3 requests to npm.test:443, 2 kB"},
		{pawl.Prepared{Key: "a", Reused: true, Duration: time.Hour}, "Prepared: what an earlier commit needs is there already"},
		{pawl.Prepared{Key: "b", Duration: 30 * time.Second, Failed: "prepare \"npm ci\" failed\x1b[2J", Requests: 1, Hosts: []string{"npm.test:443", "b", "c", "d", "e\x1b[2J", "f"},
			Refused: 2, RefusedHosts: []string{"evil.test:443"}},
			"Not prepared: prepare \"npm ci\" failed · 1 request to npm.test:443, b, c, d and 2 more, 0 bytes · the egress proxy refused 2 requests to evil.test:443"},
	} {
		id := s.ask(0, s.place("prepare", "", 0), &pawl.Prepare{Commit: s.head})
		row.answer.Effect = id
		s.add(1, &row.answer)
		if got := preparedText(&row.answer); got != row.line {
			t.Errorf("its line is %q, want %q", got, row.line)
		}
	}
	s.iterate(2, "")
	r := fold(s.events)
	p := r.Preparations
	if d := cmp.Diff(Preparations{Ran: 2, Reused: 1, Failed: 1, Time: 90 * time.Second, Requests: 4, Received: 2 << 10,
		Hosts: []string{"npm.test:443", "b", "c", "d", "e", "f"}, Refused: 2, RefusedHosts: []string{"evil.test:443"}}, p); d != "" {
		t.Errorf("the sums (-want +got):\n%s", d)
	}
	const want = "2 preparations in 1m30s · 1 failed · 1 used again · 4 requests to npm.test:443, b, c, d and 2 more, 2 kB · the egress proxy refused 2 requests to evil.test:443"
	report, err := CompletionReport(r, s.read)
	if page := Show(r, s.read); err != nil || !strings.Contains(page, want) || !strings.Contains(report, want) {
		t.Errorf("want %s\n%s\n%s\n%v", want, page, report, err)
	}
	var many Preparations
	for i := range 3 * maxHosts {
		many.add(&pawl.Prepared{Hosts: []string{fmt.Sprintf("host-%d", i)}})
	}
	if n := len(many.Hosts); n != maxHosts {
		t.Errorf("%d hosts are kept, want %d", n, maxHosts)
	}
}
