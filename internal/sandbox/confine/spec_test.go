package confine_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/sandbox/confine"
)

func TestArgs(t *testing.T) {
	for name, spec := range map[string]confine.Spec{
		"Zero": {},
		"All": {
			ReadWrite: []string{"/a folder", "/b=c", "--"},
			NoNetwork: true,
			Profile:   confine.Wide,
			Limits:    confine.Limits{FileSize: 1, OpenFiles: 2, CPU: 3, Processes: 4, Data: 1 << 63},
			Accept:    []confine.Feature{confine.Seccomp, confine.LandlockScope},
			Report:    3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := []string{"sh", "--", "rw=/x"}
			got, argv, err := confine.Parse(spec.Args(want...))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(spec, got); diff != "" {
				t.Errorf("the Spec differs: %s", diff)
			}
			if diff := cmp.Diff(want, argv); diff != "" {
				t.Errorf("the command differs: %s", diff)
			}
		})
	}
}

// An argument that is not understood might have confined the command further.
func TestParseRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"":                      "no --",
		"rw=/x sh":              "unknown argument",
		"--":                    "no command",
		"rw=/x":                 "no --",
		"hide=/x -- sh":         "unknown argument",
		"profile=narrow -- sh":  "unknown profile",
		"profile= -- sh":        "unknown profile",
		"accept=anything -- sh": "unknown feature",
		"cpu=many -- sh":        "cpu=many",
		"cpu=-1 -- sh":          "cpu=-1",
		"report=2 -- sh":        "not a descriptor",
		"report=x -- sh":        "not a descriptor",
	} {
		if _, _, err := confine.Parse(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q): error %v, want one with %q", args, err, want)
		}
	}
}
