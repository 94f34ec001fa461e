package git_test

import (
	"testing"
	"time"
)

// A commit that is made here is the one that git makes, or is left to git.
func TestNewCommit(t *testing.T) {
	t.Parallel()
	r := mustRepo(t, mustFind(t))
	mustCommit(t, r, map[string]string{"a": "1\n"})
	tree, err := r.WriteTree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	left := 0
	at := time.Unix(1_780_000_000, 0)
	for _, message := range []string{"", "a", "a\n\n\nb", "\u00fc\n", "a\ufffeb\n", "\U0001ffff\n", "\ufdd0\n", "bad\xff\n", "\xed\xa0\x80\n", "\ufffd\n", "\U0010fffd\r\n"} {
		want, err := r.WriteCommit(t.Context(), tree, nil, message, at)
		if err != nil {
			t.Fatal(err)
		}
		got, ok, err := r.NewCommit(tree, nil, message, at)
		if err != nil || ok && got.Hash != want {
			t.Errorf("%q: the commit is %s, %v; git makes %s", message, got.Hash, err, want)
		}
		if !ok {
			left++
		}
	}
	if left != 5 {
		t.Errorf("%d commits were left to git, want 5", left)
	}
}
