package torture_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/integration/internal/torture"
)

func TestMain(m *testing.M) {
	logging.Disable() // go-redis logs every connection that a nemesis cuts
	torture.KeepClock()
	if was, err := torture.Child(); was {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func TestNoSuchCell(t *testing.T) {
	_, err := torture.Run(t.Context(), torture.Config{Duration: time.Second, Only: "redis/flood"})
	assert.EqualError(t, err, `no cell has "redis/flood" in its name; see -list`)
}
