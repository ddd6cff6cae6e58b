package torture

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"
)

// step is the size of a wall clock step.
const step = time.Hour

// onTheClock returns the nemeses that step the wall clocks of processes. Leases use the monotonic clock,
// which does not step. Functions stall past the lease, so that a lease measured by the wall clock fails.
func onTheClock() []Nemesis {
	return []Nemesis{
		{Name: "clock", About: "a process's wall clock steps an hour forward or back; one call in eight of the user's function lasts up to four leases",
			every: 40 * time.Millisecond, clientFaults: clientFaults{stall: chance{8, 4 * lease}},
			children: true, stepped: true, least: 2 * time.Second,
			// The servers and proxies have no effect on clocks.
			needs:   clocks,
			inject:  func(_ context.Context, c *injection) error { return c.children.step(c.rng, c.note) },
			outcome: (*children).allStepped},
	}
}

// told is a command to a running process.
type told struct {
	Step int64 // the size of a wall clock step in seconds
}

// stepped is a process's report on a clock step.
type stepped struct {
	Asked  time.Duration
	Wall   time.Duration // the difference of two readings around the step, by the wall clock
	Passed time.Duration // by the monotonic one
}

// stepper is package time in a program with a steppable clock, see buildStepped.
type stepper interface{ StepWall(seconds int64) }

// follow executes commands until the input ends.
func follow(in io.Reader, out *telling) {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var t told
		if json.Unmarshal(lines.Bytes(), &t) != nil {
			return // only this program writes here
		}
		s := stepBy(t.Step)
		out.say(said{Stepped: &s})
	}
}

// stepBy steps the clock if possible, and measures the result.
func stepBy(seconds int64) stepped {
	before := time.Now()
	if clock, can := any(time.UTC).(stepper); can {
		clock.StepWall(seconds)
	}
	after := time.Now()
	return stepped{
		Asked: time.Duration(seconds) * time.Second, Wall: after.Round(0).Sub(before.Round(0)), Passed: after.Sub(before),
	}
}

// check returns an error if the clock did not step as ordered.
func (s stepped) check() error {
	if off := s.Wall - s.Passed - s.Asked; off.Abs() > step/2 {
		return fmt.Errorf("a wall clock stepped by %v instead of %v", s.Wall-s.Passed, s.Asked)
	}
	if s.Passed < 0 || s.Passed > step/2 {
		return fmt.Errorf("the monotonic clock has stepped by %v", s.Passed)
	}
	return nil
}

// step steps the clock of one process.
func (c *children) step(rng *rand.Rand, note func(string, ...any)) error {
	return c.some(rng, func(p *running) error {
		by := step
		if rng.IntN(2) == 0 {
			by = -step
		}
		note("the wall clock of process %d steps by %v", p.Pid, by)
		_ = json.NewEncoder(p.in).Encode(told{Step: int64(by / time.Second)}) // the process may be ending
		return nil
	})
}

// hasStepped records a process's report.
func (c *children) hasStepped(s stepped) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := s.check(); err != nil {
		c.unstepped = err
		return
	}
	c.steps++
}

// allStepped returns an error if a clock did not step: then the cell proves nothing.
func (c *children) allStepped() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unstepped == nil && c.steps == 0 {
		return errors.New("no clock has stepped")
	}
	return c.unstepped
}
