package sandbox

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/room"
)

// F-23: on macOS a room is the same as elsewhere, as far as a profile can say it.
func TestSeatbelt(t *testing.T) {
	d := &room.Description{
		Dir: "/Users/u/work", Writable: []string{"/Users/u/work", `/Users/u/odd "name"`}, Readable: []string{"/Users/u/sdk"},
		Protected: []string{"/Users/u/work/.git"},
	}
	profile := seatbelt(d)
	if opened, closed := strings.Count(profile, "("), strings.Count(profile, ")"); opened != closed {
		t.Errorf("%d brackets are opened and %d closed:\n%s", opened, closed, profile)
	}
	lines := strings.Split(strings.TrimSpace(profile), "\n")
	if diff := cmp.Diff([]string{"(version 1)", "(deny default)"}, lines[:2]); diff != "" {
		t.Errorf("the profile begins otherwise (-want +got):\n%s", diff)
	}
	at := func(line string) int {
		for i, l := range lines {
			if l == line {
				return i
			}
		}
		t.Errorf("the profile has no line %s:\n%s", line, profile)
		return -1
	}
	write := at(`(allow file-read* file-write* (subpath "/Users/u/work"))`)
	at(`(allow file-read* file-write* (subpath "/Users/u/odd \"name\""))`)
	at(`(allow file-read* (subpath "/Users/u/sdk"))`)
	if protect := at(`(deny file-write* (subpath "/Users/u/work/.git"))`); protect < write {
		t.Error("what is protected can be written to: the last rule that fits holds")
	}
	at(`(allow network-outbound (remote ip "localhost:*"))`)
	for _, l := range lines {
		if strings.HasPrefix(l, "(allow file-write*") || strings.Contains(l, "(allow network*)") || strings.Contains(l, `(subpath "/Users")`) ||
			strings.Contains(l, `(subpath "/")`) || l == "(allow default)" {
			t.Errorf("without a network the profile has the line %s", l)
		}
	}
	if strings.Contains(profile, "unix-socket") {
		t.Errorf("without a folder of sockets commands may connect to one:\n%s", profile)
	}
	d.ProxyPort, d.Sockets = 4321, "/private/tmp/pawl-1"
	var outbound []string
	for l := range strings.Lines(seatbelt(d)) {
		if strings.Contains(l, "network-outbound") || strings.Contains(l, "network*") {
			outbound = append(outbound, strings.TrimSpace(l))
		}
	}
	want := []string{`(allow network-outbound (remote unix-socket (subpath "/private/tmp/pawl-1")))`, `(allow network-outbound (remote ip "localhost:4321"))`}
	if diff := cmp.Diff(want, outbound); diff != "" {
		t.Errorf("a room with a proxy reaches something else (-want +got):\n%s", diff)
	}
}
