package view

import (
	"encoding/json"
	"strings"
	"testing"

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
