package lockupdate_test

import (
	"bytes"
	"context"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	locking "github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// A function of the Config that panics, ends its goroutine or returns nil harms no update. Stats count
// each time, and the first one is logged.
func TestFunctionsOfTheConfigAreContained(t *testing.T) {
	type ender = func(error)
	none := func(error) {}
	harms := map[string]func(){"panic": func() { panic("boom") }, "goexit": runtime.Goexit}
	cfgs := map[string]lockupdate.Config{
		"nil ctx": {BatchContext: func([]context.Context) (context.Context, ender) { return nil, none }},
		"nil end": {BatchContext: func(callers []context.Context) (context.Context, ender) { return callers[0], nil }},
	}
	for name, harm := range harms {
		cfgs["Observer "+name] = lockupdate.Config{Observer: func(context.Context, locking.Event) { harm() }}
		cfgs["OnEvent "+name] = lockupdate.Config{OnEvent: func(lockupdate.Event) { harm() }}
		cfgs["BatchContext "+name] = lockupdate.Config{
			BatchContext: func([]context.Context) (context.Context, ender) { harm(); return t.Context(), none },
		}
		cfgs["end "+name] = lockupdate.Config{
			BatchContext: func([]context.Context) (context.Context, ender) { return t.Context(), func(error) { harm() } },
		}
	}
	for name, cfg := range cfgs {
		bubble(t, name, func(t *testing.T) {
			var log bytes.Buffer
			cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
			f := newFixture(t, cfg)
			for range 2 { // each time one commit for all, and a wait
				for _, call := range f.runBatch(rmw.Key{Name: "s"}, appendText("a"), appendText("b"), appendText("c")) {
					require.NoError(t, call.err)
				}
			}
			f.waitReleases()
			assert.Equal(t, "abcabc", f.text(rmw.Key{Name: "s"}))
			assert.Greater(t, f.store.Stats().ObserverPanics, uint64(1))
			assert.Equal(t, 1, strings.Count(log.String(), "level=ERROR"), log.String())
			if !strings.HasPrefix(name, "nil") {
				assert.Contains(t, log.String(), "TestFunctionsOfTheConfigAreContained", "the stack")
			}
		})
	}
}
