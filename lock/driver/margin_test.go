package driver_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/rmw"
)

// A lock counts as lost a margin before its lease ends: a tenth, or what the Service asks for.
func TestMargin(t *testing.T) {
	const lease = 10 * time.Second
	for margin, want := range map[time.Duration]time.Duration{0: 9 * time.Second, 3 * time.Second: 7 * time.Second} {
		t.Run(want.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				down := scripted{renew: func(context.Context, []*driver.Hold) error { return errors.New("down") }}
				l := driver.New(down, driver.Options{Package: "test", Margin: margin}, driver.Config{Lease: lease})
				err := l.WithLock(t.Context(), "a", func(ctx context.Context) error {
					began := time.Now()
					<-ctx.Done()
					assert.Equal(t, want, time.Since(began))
					return nil
				})
				require.ErrorIs(t, err, rmw.ErrLockLost)
			})
		})
	}
}
