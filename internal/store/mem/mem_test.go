package mem

import (
	"testing"

	"pawl"
	"pawl/internal/store/storetest"
)

func TestLog(t *testing.T) {
	logs := map[string]*Log{}
	storetest.Run(t, func(_ testing.TB, dir string) pawl.Log {
		log := New()
		if old := logs[dir]; old != nil {
			log = old.Reopen()
		}
		logs[dir] = log
		return log
	})
}
