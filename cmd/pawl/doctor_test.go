package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/store/sqlite"
	"pawl/internal/store/storetest"
)

// Damage that doctor finds in a store is reported with the runs that have it. F-16 F-18
func TestCheckStore(t *testing.T) {
	slots := func(change func(name string) error) func(string) error {
		return func(dir string) error { return change(filepath.Join(dir, "pawl.slots")) }
	}
	for _, c := range []struct {
		what   string
		damage func(dir string) error
		code   pawl.Code // of the error
		reason string    // of the run that is damaged; empty = none is
		warns  string
		note   bool
	}{
		{what: "nothing", damage: func(string) error { return nil }},
		{what: "a blob", damage: func(dir string) error { return os.RemoveAll(filepath.Join(dir, "blobs")) }, reason: "is missing"},
		{what: "the database", damage: func(dir string) error { return os.Truncate(filepath.Join(dir, "pawl.db"), 8192) }, code: pawl.CodeDamaged},
		{what: "no slots", damage: slots(os.Remove), note: true},
		{what: "empty slots", damage: slots(func(name string) error { return os.Truncate(name, 0) }), warns: "the end of run 001-a cannot be checked"},
	} {
		p := project.Project{Dir: t.TempDir()}
		log, err := sqlite.Open(p.Dir)
		if err != nil {
			t.Fatal(err)
		}
		u := storetest.Unit("001-a", 0, 3, storetest.Noise(1, 100_000))
		u.Info = &pawl.RunInfo{ID: "001-a", Status: pawl.StatusEnded, Outcome: pawl.OutcomeComplete}
		storetest.MustAppend(t, log, u)
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		if err := c.damage(p.Dir); err != nil {
			t.Fatal(err)
		}
		found, err := checkStore(t.Context(), p)
		if c.code != "" {
			if pawl.CodeOf(err) != c.code || !strings.Contains(err.Error(), "run 001-a of 3 events") || strings.Contains(err.Error(), "(11)") {
				t.Errorf("%s: %v", c.what, err)
			}
			continue
		}
		if err != nil || len(found.Runs) != 1 || !found.Read {
			t.Errorf("%s: %+v, %v", c.what, found, err)
			continue
		}
		r := found.Runs[0]
		if damaged := r.Status == pawl.StatusQuarantined; damaged != (c.reason != "") || damaged && !strings.Contains(r.Reason, c.reason) {
			t.Errorf("%s: the run is %s: %s", c.what, r.Status, r.Reason)
		}
		if got := strings.Join(found.Warnings, "\n"); (got == "") != (c.warns == "") || !strings.Contains(got, c.warns) || c.note != (found.Note != "") {
			t.Errorf("%s: it warns of %q and notes %q", c.what, got, found.Note)
		}
	}
}
