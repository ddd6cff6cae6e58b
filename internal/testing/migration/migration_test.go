package migration

import (
	"fmt"
	"go/format"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// controlStep is the step after which the controls break rules: both rules hold there, and there are no
// transactions.
const controlStep = 7

// TestLongMigration plays the migration: the odd steps in one clone and the even ones in another, so that one
// is compiled while the other is tested.
func TestLongMigration(t *testing.T) {
	long.Only(t)
	m := newMigration(t)
	odd, even := newClone(t), newClone(t)
	before := odd.service(t)
	var lanes sync.WaitGroup
	lanes.Go(func() { m.play(t, odd, 1) })
	lanes.Go(func() { m.play(t, even, 0) })
	lanes.Wait()
	require.False(t, t.Failed(), "what follows rests on all steps")

	t.Run("the first and the last read the same", m.sameForAll)
	last := odd
	if len(m.steps)%2 == 0 {
		last = even
	}
	t.Run("nothing is left", func(t *testing.T) {
		for name, text := range last.service(t) {
			for _, habit := range []string{".Watch(", "TxPipeline", ".Publish(", ".Subscribe(", `unwatch/cas"`} {
				require.NotContains(t, text, habit, name)
			}
		}
	})
	t.Run("the way back", func(t *testing.T) {
		for _, step := range slices.Backward(m.steps) {
			for _, apply := range step.patches() {
				last.mustRun(t, strings.Replace(apply, "git apply ", "git apply -R ", 1))
			}
		}
		require.Equal(t, before, last.service(t))
	})
}

// migration is what both lanes share.
type migration struct {
	steps    []section
	redis    string        // the address of a Redis
	proxy    string        // and of a Codis proxy in front of it
	programs []chan string // the service after each step, once built; "" if the build failed

	mu    sync.Mutex
	known []string // the paths that callers know
}

func newMigration(t *testing.T) *migration {
	t.Helper()
	steps, _ := parse(readDocument(t))
	redis := miniredis.RunT(t)
	proxy, err := proxytest.Start(proxytest.Config{Backends: []string{redis.Addr()}})
	require.NoError(t, err)
	t.Cleanup(func() { proxy.Close() })
	m := &migration{steps: steps, redis: redis.Addr(), proxy: proxy.Addr()}
	for range len(steps) + 1 {
		m.programs = append(m.programs, make(chan string, 1))
	}
	return m
}

// play plays every second step from the first on. Step 0 is the original service.
func (m *migration) play(t *testing.T, c *clone, first int) {
	ok := true
	for n := first; n <= len(m.steps); n += 2 {
		program := ""
		ok = ok && t.Run(fmt.Sprintf("step %d", n), func(t *testing.T) {
			if n == 0 {
				c.mustRun(t, "go test -c ./"+serviceDir)
			} else {
				for _, between := range m.steps[max(0, n-2) : n-1] {
					between.apply(t, c)
				}
				m.steps[n-1].play(t, c)
			}
			program = c.keep(t, fmt.Sprint("step", n))
		})
		m.programs[n] <- program // also without a program, since the other lane waits
		ok = ok && (n == 0 || t.Run(fmt.Sprintf("steps %d and %d", n-1, n), func(t *testing.T) { m.sideBySide(t, n) }))
		ok = ok && (n != controlStep || t.Run("what breaks a rule is noticed", c.control))
	}
}

// patches returns the commands of a step that change the service.
func (s section) patches() []string {
	return slices.DeleteFunc(s.commands(), func(command string) bool { return !strings.HasPrefix(command, "git apply ") })
}

// apply changes the service.
func (s section) apply(t *testing.T, c *clone) {
	t.Helper()
	for _, command := range s.patches() {
		c.mustRun(t, command)
	}
}

// play runs the commands of a step and compares the document's quotations.
func (s section) play(t *testing.T, c *clone) {
	t.Helper()
	s.apply(t, c)
	commands := s.commands()
	printed := make([]string, len(commands))
	var running sync.WaitGroup
	for i, command := range commands {
		if slices.Contains(s.patches(), command) {
			continue
		}
		if isProbe(command) {
			codis, err := proxytest.Start(proxytest.Config{Engines: 2})
			require.NoError(t, err)
			defer codis.Close()
			command = strings.ReplaceAll(command, "HOST:PORT", "-timeout 1m "+codis.Addr()) // the machine may be busy
		}
		running.Go(func() { // the commands are independent
			output, err := c.run(t, command)
			assert.NoError(t, err, "%s\n%s", command, output)
			printed[i] = output
		})
	}
	running.Wait()
	require.False(t, t.Failed())
	for name, text := range c.service(t) {
		if strings.HasSuffix(name, ".go") {
			formatted, err := format.Source([]byte(text))
			require.NoError(t, err, name)
			require.Equal(t, string(formatted), text, "%s is not as gofmt has it", name)
		}
	}
	output := strings.Join(printed, "")
	require.Empty(t, s.misquoted("text", unindented(output)), output)
}

// program returns the service after a step.
func (m *migration) program(t *testing.T, step int) string {
	t.Helper()
	program := <-m.programs[step]
	m.programs[step] <- program // for the next caller
	if program == "" {
		t.Skipf("step %d has failed", step)
	}
	return program
}

// sideBySide runs a process of a step, and one of the step before, on the same data.
func (m *migration) sideBySide(t *testing.T, n int) {
	old, now := m.launch(t, n-1), m.launch(t, n)
	name := fmt.Sprint("step", n)
	rooms(t, [2]process{old, now}, name)
	paths := sessions(t, [2]process{now, old}, name)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known = append(m.known, paths...)
}

// launch starts the service of a step; that of the last step uses the proxy.
func (m *migration) launch(t *testing.T, step int) process {
	t.Helper()
	program := m.program(t, step)
	if step == len(m.steps) {
		return launch(t, program, "-redis", "redis://"+m.proxy, "-proxy", "codis")
	}
	return launch(t, program, "-redis", "redis://"+m.redis)
}

// sameForAll requires that the first and the last step read all data alike.
func (m *migration) sameForAll(t *testing.T) {
	first, last := m.launch(t, 0), m.launch(t, len(m.steps))
	require.NotEmpty(t, m.known)
	for _, path := range m.known {
		require.Equal(t, seen(t, first, path), seen(t, last, path), path)
	}
}

// seen returns a process's response. The order of an agent's sessions does not count.
func seen(t *testing.T, p process, path string) map[string]any {
	t.Helper()
	v := look[map[string]any](t, p, path)
	if list, ok := v["sessions"].([]any); ok {
		slices.SortFunc(list, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	return v
}
