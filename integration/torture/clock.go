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

// step is what is to become of a process's wall clock.
const step = time.Hour

// onTheClock is what sets the wall clocks of processes. Leases are counted by the monotonic
// clock, which nobody sets. Functions stall past the lease, as whoever counts it by the other
// clock would be right by luck otherwise.
func onTheClock() []Nemesis {
	return []Nemesis{
		{Name: "clock", About: "a process's wall clock steps an hour forward or back; one call in eight of the user's function lasts up to four leases",
			every: 40 * time.Millisecond, mind: mind{stall: chance{8, 4 * lease}},
			children: true, stepped: true, least: 2 * time.Second,
			// Who answers has no part in it: with one proxy is as with another.
			needs:   clocks,
			strike:  func(_ context.Context, c *striking) error { return c.children.step(c.rng, c.note) },
			outcome: (*children).allStepped},
	}
}

// told is what a process is told while it works.
type told struct {
	Step int64 // seconds by which its wall clock is to step
}

// stepped is what a process says of a step of its clock.
type stepped struct {
	Asked  time.Duration
	Wall   time.Duration // between one time before and one after, by the wall clock
	Passed time.Duration // by the monotonic one
}

// stepper is the package time of a program whose clock can step, see buildStepped.
type stepper interface{ StepWall(seconds int64) }

// follow does what a process is told, until nothing more comes.
func follow(in io.Reader, out *telling) {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var t told
		if json.Unmarshal(lines.Bytes(), &t) != nil {
			return // nobody but this program writes here
		}
		s := stepBy(t.Step)
		out.say(said{Stepped: &s})
	}
}

// stepBy has the clock step, if it can, and looks at what came of it.
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

// check says how a clock failed to do as it was told.
func (s stepped) check() error {
	if off := s.Wall - s.Passed - s.Asked; off.Abs() > step/2 {
		return fmt.Errorf("a wall clock that was to step by %v has stepped by %v", s.Asked, s.Wall-s.Passed)
	}
	if s.Passed < 0 || s.Passed > step/2 {
		return fmt.Errorf("the monotonic clock has stepped by %v", s.Passed)
	}
	return nil
}

// step sets the clock of one.
func (c *children) step(rng *rand.Rand, note func(string, ...any)) error {
	return c.some(rng, func(p *running) error {
		by := step
		if rng.IntN(2) == 0 {
			by = -step
		}
		note("the wall clock of process %d steps by %v", p.Pid, by)
		_ = json.NewEncoder(p.in).Encode(told{Step: int64(by / time.Second)}) // it may be about to end
		return nil
	})
}

// hasStepped writes down what a process said of its clock.
func (c *children) hasStepped(s stepped) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := s.check(); err != nil {
		c.unstepped = err
		return
	}
	c.steps++
}

// allStepped tells why the clocks have not stepped as they were told. A cell in which they have not shows nothing.
func (c *children) allStepped() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unstepped == nil && c.steps == 0 {
		return errors.New("no clock has stepped")
	}
	return c.unstepped
}
