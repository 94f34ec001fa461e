package gitworktree_test

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"pawl/internal/sandbox/helper"
	"pawl/internal/testsize"
	"pawl/internal/workspace/workspacetest"
)

func TestMain(m *testing.M) {
	if code, ok := helper.Run(os.Args); ok {
		os.Exit(code)
	}
	if name := os.Getenv("PAWL_TEST_OPERATION"); name != "" {
		if err := perform(name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv("PAWL_TEST_RECORD") != "" {
		if err := recordAsChild(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv("PAWL_TEST_ROUNDS") != "" {
		if err := roundsAsChild(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "rapid.checks" })
	if !chosen {
		_ = flag.Set("rapid.checks", strconv.Itoa(testsize.Cases(15, 100))) // of which rapid makes a fifth with -short
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		templates.remove()
		os.Exit(code)
	}))
}

func TestWorkspaces(t *testing.T) {
	t.Parallel()
	for _, kind := range []struct {
		name    string
		options []string
	}{
		{"sha1", nil},
		{"sha256", []string{"--object-format=sha256"}},
	} {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && kind.options != nil {
				t.Skip("one kind of hash is enough for a short test")
			}
			workspacetest.Run(t, func(tb testing.TB, files map[string]string) workspacetest.Fixture {
				r := repositoryIn(tb.TempDir())
				r.copy(tb, fmt.Sprintf("with a store: %q %q", files, kind.options), func(r *repository) {
					r.begin(tb, files, kind.options...)
					f := r.fixture(tb)
					_, release, err := f.Checkout(tb.Context(), f.Base) // which builds the store
					if err != nil {
						tb.Fatal(err)
					}
					release()
				})
				r.joined = os.Getenv(joinedVariable) != ""
				before := r.users(tb)
				tb.Cleanup(func() {
					if after := r.users(tb); after != before {
						tb.Errorf("the user's checkout changed from\n%s\nto\n%s", before, after)
					}
					if !testing.Short() {
						r.git(tb, "fsck", "--strict", "--no-dangling")
					}
				})
				return r.fixture(tb)
			})
		})
	}
}
