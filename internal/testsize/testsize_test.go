package testsize_test

import (
	"flag"
	"testing"

	"pawl/internal/testsize"
)

func TestOf(t *testing.T) {
	was := flag.Lookup("test.short").Value.String()
	t.Cleanup(func() {
		if err := flag.Set("test.short", was); err != nil {
			t.Fatal(err)
		}
	})
	for _, tt := range []struct{ short, soak, want string }{
		{"false", "", "usual"}, {"false", "1", "soak"}, {"true", "", "short"}, {"true", "1", "short"},
	} {
		if err := flag.Set("test.short", tt.short); err != nil {
			t.Fatal(err)
		}
		t.Setenv(testsize.SoakVar, tt.soak)
		if got := testsize.Of("short", "usual", "soak"); got != tt.want {
			t.Errorf("with -short=%s and %s=%q the size is %s, want %s", tt.short, testsize.SoakVar, tt.soak, got, tt.want)
		}
	}
}
