package torture

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/proxycompat"
)

// childEnv marks a process of a fleet, and contains its order.
const childEnv = "UNWATCH_TORTURE_CHILD"

// order is the task of a child.
type order struct {
	Stores  []address // one, or the two of a cut-over
	Nemesis string
	Control string // "": none
	Bank    bool
	Process int
	Prefix  string // of its ids
	Seed    uint64
}

// address is that of a store.
type address struct{ Addr, Profile string }

// Child must be called first in main or TestMain. In a child process of a fleet it works until standard
// input ends, and returns true.
func Child() (was bool, err error) {
	text := os.Getenv(childEnv)
	if text == "" {
		return false, nil
	}
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return true, err
	}
	nemesis, err := nemesisOf(o.Nemesis)
	if err != nil {
		return true, err
	}
	v, err := variantOf(o.Control)
	if err != nil {
		return true, err
	}
	v.bank = v.bank || o.Bank
	ctx, cancel := context.WithCancel(context.Background())
	out := &telling{to: json.NewEncoder(os.Stdout)}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	history := &History{sink: out.say} // its times are those of the machine
	f := &fleet{
		history: history, seed: o.Seed, clientFaults: nemesis.clientFaults, generation: timed,
		begin: out.say,
	}
	open := func(process int) (opened, error) {
		var clients []redis.UniversalClient
		for _, store := range o.Stores {
			profile, err := proxycompat.Lookup(store.Profile)
			if err != nil {
				return opened{}, err
			}
			clients = append(clients, newClient(profile, store.Addr))
		}
		return v.at(clients, process, o.Seed), nil
	}
	stepped := make(chan error, 1)
	go func() {
		defer close(stepped)
		if nemesis.clientFaults.steps {
			stepped <- stepClock(ctx, rand.New(rand.NewPCG(o.Seed, uint64(o.Process))), history.note)
			cancel()
		}
	}()
	return true, errors.Join(f.process(ctx, o.Process, o.Prefix, open), <-stepped, out.err)
}

// timed moves all processes to the next key at the same time, since they share no counter.
func timed(kind string) int64 {
	period := 400 * time.Millisecond
	if kind == sectionKind || kind == accountKind { // slower operations, so the key lasts longer
		period *= 4
	}
	return int64(monotonic() / period)
}

// telling writes lines under a mutex.
type telling struct {
	mu  sync.Mutex
	to  *json.Encoder
	err error
}

func (t *telling) say(s said) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = errors.Join(t.err, t.to.Encode(s))
}

// children runs the processes of a fleet as operating system processes.
type children struct {
	env     *Environment
	history *History
	seed    uint64
	nemesis Nemesis
	control string // "": none
	bank    bool

	mu      sync.Mutex
	running [processes]*os.Process // nil: not running
}

// run keeps all processes running until ctx ends. It replaces a killed process.
func (c *children) run(ctx context.Context) error {
	var all sync.WaitGroup
	errs := make([]error, processes)
	for i := range processes {
		all.Go(func() {
			for n := 0; ctx.Err() == nil && errs[i] == nil; n++ {
				errs[i] = c.one(ctx, i, fmt.Sprintf("%d-", n))
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// one starts a process and waits for its end.
func (c *children) one(ctx context.Context, number int, prefix string) error {
	var stores []address
	for _, side := range c.env.stores() {
		addr, err := side.relays.addr(number, side.addr)
		if err != nil {
			return err
		}
		stores = append(stores, address{addr, side.Profile.Name()})
	}
	text, err := json.Marshal(order{stores, c.nemesis.Name, c.control, c.bank, number, prefix, c.seed})
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(program) // the process ends with its input, after it has reported its last updates
	cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	var complaint strings.Builder
	cmd.Stderr = &complaint
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.set(number, cmd.Process)
	stop := context.AfterFunc(ctx, func() { _ = in.Close() })
	defer stop()
	c.listen(out)
	c.set(number, nil)
	_ = in.Close()
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return nil
	}
	if err != nil {
		return fmt.Errorf("process %d: %w: %s", number, err, complaint.String())
	}
	return nil
}

// killed is the reason of an unknown outcome.
const killed = "the process was killed"

// listen records the output of a process. The last line of a killed process may be incomplete.
func (c *children) listen(out io.Reader) {
	begun, joint := map[string]Operation{}, map[string]Joint{}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var s said
		if json.Unmarshal(lines.Bytes(), &s) != nil {
			break
		}
		if s.Note != nil {
			s.Note.At -= c.history.began
		}
		if s.Section != nil {
			s.Section.Enter -= c.history.began
			s.Section.Held -= c.history.began
		}
		if op := s.Op; op != nil {
			op.Call -= c.history.began
			op.Return -= c.history.began
			if s.Begin {
				begun[op.ID+op.Key] = *op
				continue
			}
			delete(begun, op.ID+op.Key)
		}
		if j := s.Joint; j != nil {
			j.Call -= int64(c.history.began)
			j.Return -= int64(c.history.began)
			id := fmt.Sprint(j.Process, " ", j.Call)
			if s.Begin {
				joint[id] = *j
				continue
			}
			delete(joint, id)
		}
		c.history.take(s)
	}
	for _, j := range joint {
		j.Outcome, j.Return, j.Err = Unknown, int64(c.history.now()), killed
		c.history.take(said{Joint: &j})
	}
	for _, op := range begun {
		op.Outcome, op.Return, op.Err = Unknown, c.history.now(), killed
		c.history.add(op)
	}
}

func (c *children) set(number int, p *os.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running[number] = p
}

// some calls fn with a random running process.
func (c *children) some(rng *rand.Rand, fn func(p *os.Process) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.running[rng.IntN(processes)]
	if p == nil {
		return nil
	}
	if err := fn(p); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}
