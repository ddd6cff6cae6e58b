package chat_test

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/chat"
	"github.com/unwatch/unwatch/internal/paths"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// start is when the rooms of the tests are made.
var start = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

// op is an operation that happens some seconds after the start.
func op(id string, seconds int) domains.Op {
	return domains.Op{ID: id, At: start.Add(time.Duration(seconds) * time.Second)}
}

// sec is that moment as rooms store it.
func sec(seconds int) domains.Time { return op("", seconds).Time() }

// layouts are all that there are.
func layouts() []domains.Layout {
	return []domains.Layout{domains.JSON, domains.Hash, domains.HashByVersion}
}

// world is a path, a layout, and the rooms there.
type world struct {
	rmwtest.Target
	layout domains.Layout
	chat.Rooms
}

// another is the rooms as one more process sees them.
func (w world) another() chat.Rooms { return chat.New(w.Open(), chat.Config{Layout: w.layout}) }

// stored returns what lies under a room's key.
func (w world) stored(t testing.TB, id string) rmw.Value {
	t.Helper()
	v, _, err := w.Direct.Get(context.Background(), "chat:room:"+id)
	require.NoError(t, err)
	return v
}

// eachLayout runs test with all.
func eachLayout(t *testing.T, test func(t *testing.T, layout domains.Layout)) {
	t.Helper()
	for _, layout := range layouts() {
		t.Run(layout.String(), func(t *testing.T) { test(t, layout) })
	}
}

// everywhere runs test on every path and with all layouts.
func everywhere(t *testing.T, test func(t *testing.T, w world)) {
	t.Helper()
	eachLayout(t, func(t *testing.T, layout domains.Layout) {
		paths.Each(t, func(t *testing.T, target rmwtest.Target) {
			w := world{Target: target, layout: layout}
			w.Rooms = w.another()
			test(t, w)
		})
	})
}

// tidy is the room without the difference between no map and an empty one, and shares
// nothing with it.
func tidy(r chat.Room) chat.Room {
	r.Members = maps.Clone(r.Members)
	if len(r.Members) == 0 {
		r.Members = nil
	}
	return r
}
