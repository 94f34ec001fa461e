package local_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"pawl"
	"pawl/internal/driver/drivertest"
	"pawl/internal/driver/local"
	"pawl/internal/store/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDriver(t *testing.T) {
	drivertest.Run(t,
		func(testing.TB) pawl.Log { return mem.New() },
		func(_ testing.TB, o drivertest.Options) drivertest.Driver {
			return &local.Driver{Log: o.Log, Performer: o.Performer, Left: o.Left, AppendRetry: time.Millisecond}
		})
}
