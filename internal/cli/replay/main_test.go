package replay

import (
	"os"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC // what people read of a run has times of day
	os.Exit(m.Run())
}
