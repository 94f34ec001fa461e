package sandbox

import (
	"errors"
	"strings"
	"testing"

	"pawl/internal/room"
)

// Whoever asks a room for something after its holder was ended for want of a control group learns why. It is
// said once, and then another holder is started.
func TestOpenAfterAHolderWithoutAGroup(t *testing.T) {
	box, err := Probe(t.Context())
	if err != nil {
		t.Skipf("there is no sandbox: %v", err)
	}
	r := &heldRoom{box: box, d: &room.Description{Name: "room"}}
	defer r.Close()
	h, err := r.open(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	<-h.enclosed
	h.groupErr = errors.New("no group")
	h.close()
	if _, err := r.open(t.Context(), true); err == nil || !strings.Contains(err.Error(), "open the room room: no group") {
		t.Errorf("error is %v", err)
	}
	if again, err := r.open(t.Context(), true); err != nil || again == h {
		t.Errorf("the next attempt gives the same holder: %v, %v", again == h, err)
	}
}
