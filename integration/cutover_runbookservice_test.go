package integration

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/rmw"
)

// serviceEnv marks a process of the runbook's service, and contains its serviceOrder.
const serviceEnv = "UNWATCH_RUNBOOK_SERVICE"

// serviceOrder is the task of a process of the service.
type serviceOrder struct {
	Addrs   [2]string
	Profile string // of the new store
	Process int
}

const serviceKeys = 20

func serviceKey(i int) rmw.Key {
	label := []string{"room", "visitor"}[i%2]
	return rmw.Key{Name: fmt.Sprintf("%s:%d", label, i), Label: label}
}

func plusOne(_ context.Context, cur rmw.Value) (rmw.Value, error) {
	n, err := strconv.Atoi("0" + cur.Text())
	return rmw.String(strconv.Itoa(n + 1)), err
}

// openSides returns a client and a Store of each side.
func (o serviceOrder) openSides() (sides [2]cutover.Side, stores [2]*lockupdate.Store, closeAll func() error) {
	var clients [2]*redis.Client
	for i, name := range []string{"redis", o.Profile} {
		profile, err := proxycompat.Lookup(name)
		if err != nil {
			panic(err) // the test names it
		}
		clients[i] = redis.NewClient(proxycompat.Options(profile, o.Addrs[i]))
		stores[i] = lockupdate.New(clients[i], lockupdate.Config{})
		sides[i] = cutover.Side{Store: stores[i], Redis: clients[i]}
	}
	return sides, stores, func() error {
		return errors.Join(stores[0].Close(), stores[1].Close(), clients[0].Close(), clients[1].Close())
	}
}

// runbookService is a process of the service, until its standard input ends, if this process was started as one. It
// adds 1 to one key after another, and writes the outcome of each update.
func runbookService() bool {
	text := os.Getenv(serviceEnv)
	if text == "" {
		return false
	}
	var o serviceOrder
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		panic(err)
	}
	sides, stores, closeAll := o.openSides()
	stage := cutover.FromKey("desk", stores[0], stores[1])
	heartbeat, err := cutover.StartHeartbeat("desk", stores[0], stage)
	if err != nil {
		panic(err)
	}
	store := cutover.New(sides[0], sides[1], cutover.Config{Stage: stage, Heartbeat: heartbeat})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	pace := time.NewTicker(20 * time.Millisecond)
	for n := o.Process; ; n++ {
		select {
		case <-pace.C:
		case <-ended:
			if err := errors.Join(store.Close(), heartbeat.Close(), stage.Close(), closeAll()); err != nil {
				fmt.Println("other", 0, err)
			}
			return true
		}
		i := n % serviceKeys
		fmt.Println("begin", i)
		_, err := store.Update(context.Background(), serviceKey(i), plusOne)
		fmt.Println(outcomeOf(err), i, err)
	}
}

// outcomeOf names the outcome of an update. Failures other than those of a store that is away, or that has lost its
// stage document, are "other".
func outcomeOf(err error) string {
	switch {
	case err == nil:
		return "acknowledged"
	case errors.Is(err, rmw.ErrOutcomeUnknown):
		return "unknown"
	case errors.Is(err, rmw.ErrUnavailable):
		return "unavailable"
	case errors.Is(err, rmw.ErrInvalid) && strings.Contains(err.Error(), "stage document"):
		return "lost"
	}
	return "other"
}

// member is a process of the service.
type member struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	read  chan struct{} // closed after its last line
}

// service is the processes of the service, and the outcomes of their updates.
type service struct {
	t       *testing.T
	order   serviceOrder
	members [2]member

	mu       sync.Mutex
	outcomes map[string]int // of all keys
	acked    [serviceKeys]int
	unknown  [serviceKeys]int
}

// start starts a process.
func (s *service) start(process int) {
	order := s.order
	order.Process = process
	text, err := json.Marshal(order)
	require.NoError(s.t, err)
	cmd := exec.CommandContext(s.t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), serviceEnv+"="+string(text))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(s.t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(s.t, err)
	require.NoError(s.t, cmd.Start())
	m := member{cmd, in, make(chan struct{})}
	s.members[process] = m
	go func() {
		defer close(m.read)
		s.read(out)
	}()
}

// read counts the outcomes of a process. An update that has begun when the process is killed is unknown.
func (s *service) read(out io.Reader) {
	pending := -1
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var outcome string
		var i int
		if n, _ := fmt.Sscan(lines.Text(), &outcome, &i); n < 2 {
			continue // the process was killed within the line
		}
		if pending = -1; outcome == "begin" {
			pending = i
			continue
		}
		assert.NotEqual(s.t, "other", outcome, lines.Text())
		s.count(outcome, i)
	}
	if pending >= 0 {
		s.count("unknown", pending)
	}
}

func (s *service) count(outcome string, i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.outcomes[outcome]++; outcome {
	case "acknowledged":
		s.acked[i]++
	case "unknown":
		s.unknown[i]++
	}
}

// kill kills a process with SIGKILL.
func (s *service) kill(process int) (pid int) {
	m := s.members[process]
	_ = m.cmd.Process.Kill()
	<-m.read
	_ = m.cmd.Wait()
	return m.cmd.Process.Pid
}

// stop ends the processes after their last updates.
func (s *service) stop() {
	for _, m := range s.members {
		_ = m.stdin.Close()
	}
	for _, m := range s.members {
		<-m.read
		_ = m.cmd.Wait()
	}
}
