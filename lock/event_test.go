package lock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/lock"
)

func TestEventString(t *testing.T) {
	for want, e := range map[string]lock.Event{
		`lock acquired "room:7" label="room" service=redis took=1ms`: {
			Kind: lock.EventAcquired, Service: "redis", Lock: "room:7", Label: "room", Took: time.Millisecond,
		},
		`lock lost "room:7" service=etcd took=2s loss=session err="session ended"`: {
			Kind: lock.EventLost, Service: "etcd", Lock: "room:7", Took: 2 * time.Second,
			Loss: lock.LossSession, Err: errors.New("session ended"),
		},
	} {
		assert.Equal(t, want, e.String())
	}
}
