package callback_test

import (
	"bytes"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/internal/callback"
)

// A function that panics or ends its goroutine is counted, and logged once with its stack.
func TestFuncThatDoesNotReturn(t *testing.T) {
	for name, harm := range map[string]func(){"panic": func() { panic("boom") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			f := callback.New("pkg: Config.Do", slog.New(slog.NewTextHandler(&log, nil)), func(harmful bool) {
				if harmful {
					harm()
				}
			})
			for range 3 {
				assert.False(t, f.Call(true))
				assert.True(t, f.Call(false))
			}
			assert.EqualValues(t, 3, f.Panics())
			assert.Equal(t, 1, strings.Count(log.String(), "level=ERROR"), log.String())
			assert.Contains(t, log.String(), "pkg: Config.Do panicked")
			assert.Contains(t, log.String(), "TestFuncThatDoesNotReturn", "the stack")
		})
	}
}

func TestCallAllocatesNothing(t *testing.T) {
	sum := 0
	f := callback.New("", nil, func(n [10]int) { sum += n[0] })
	assert.Zero(t, testing.AllocsPerRun(1000, func() { f.Call([10]int{1}) }))
	assert.Equal(t, 1001, sum)
}

func TestNilFunc(t *testing.T) {
	f := callback.New[int]("", nil, nil)
	assert.True(t, f.Call(1))
	assert.Zero(t, f.Panics())
}
