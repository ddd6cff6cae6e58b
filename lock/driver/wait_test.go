package driver_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/rmw"
)

// A wait has events if it takes longer than lock.WaitingAfter, whether the service answers or not.
func TestWaitsAreTold(t *testing.T) {
	type waitCase struct {
		after time.Duration
		want  []string
	}
	inBubbles(t, map[string]waitCase{
		"short":   {lock.WaitingAfter - 1, []string{"acquired 9.999999ms", "released 0s"}},
		"long":    {time.Second, []string{"waiting 0s", "wait ended 1s", "acquired 1s", "released 0s"}},
		"in vain": {time.Minute, []string{"waiting 0s", "wait ended 20s", "refused 20s"}},
	}, func(t *testing.T, c waitCase) {
		var mu sync.Mutex
		var told []string
		l := open(scripted{acquire: func(ctx context.Context, _ driver.Request) (driver.Grant, error) {
			select {
			case <-time.After(c.after):
				return driver.Grant{Token: 1}, nil
			case <-ctx.Done():
				return driver.Grant{}, rmw.ErrContended
			}
		}}, driver.Config{MaxWait: 20 * time.Second, Lease: 5 * time.Minute, Observer: func(_ context.Context, e lock.Event) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, fmt.Sprint(e.Kind, " ", e.Took))
		}})
		_ = l.WithLock(t.Context(), "a", nothing)
		require.NoError(t, l.Close())
		mu.Lock()
		defer mu.Unlock()
		assert.Equal(t, c.want, told)
	})
}

// A caller may ask the Hold alone: it is nil if there is an error.
func TestLockReturnsNoHoldWithAnError(t *testing.T) {
	l := open(scripted{}, driver.Config{})
	defer func() { require.NoError(t, l.Close()) }()
	h, err := l.Lock(t.Context(), "")
	require.ErrorIs(t, err, rmw.ErrInvalid)
	if h != nil {
		t.Errorf("Lock returns a %T with its error, want nil", h)
	}
}

// The first panic of an Observer is logged, with its stack. Stats count all.
func TestObserversPanicIsLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	synctest.Test(t, func(t *testing.T) {
		l := open(scripted{}, driver.Config{Observer: func(context.Context, lock.Event) { panic("boom") }})
		for range 3 {
			require.NoError(t, l.WithLock(t.Context(), "a", nothing))
		}
		require.NoError(t, l.Close())
		assert.EqualValues(t, 6, l.Stats().ObserverPanics)
	})
	assert.Equal(t, 1, strings.Count(log.String(), "level=ERROR"), log.String())
	assert.Contains(t, log.String(), "TestObserversPanicIsLoggedOnce")
}
