package integration

import (
	"testing"

	"github.com/redis/go-redis/v9/logging"
)

// The client logs every failed dial, and these tests fail thousands.
func TestMain(m *testing.M) {
	logging.Disable()
	if !runbookService() {
		m.Run()
	}
}
