package view

import (
	"os"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC // stories have times of day
	os.Exit(m.Run())
}
