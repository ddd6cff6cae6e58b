package driver

import (
	"math"
	"slices"
	"sync/atomic"
)

// Ticket counts the outstanding replies of one caller, in a flush of several callers. The caller
// goes on after its last reply, while the replies of other callers may be outstanding.
type Ticket struct {
	left atomic.Int32
	sent atomic.Bool // the commands are built
	done chan struct{}
}

// NewTicket returns the Ticket of commands that are to be built.
func NewTicket(cmds []*Command) *Ticket {
	t := &Ticket{done: make(chan struct{})}
	t.left.Store(int32(len(cmds)))
	for _, c := range cmds {
		c.ticket = t
		c.replied.Store(false)
	}
	return t
}

// NoTicket prepares commands for a flush of one caller.
func NoTicket(cmds []*Command) {
	for _, c := range cmds {
		c.ticket = nil
	}
}

// expect counts a reply again if its command is sent once more.
func (t *Ticket) expect(c *Command) {
	if c.replied.Swap(false) {
		t.left.Add(1)
	}
}

// Replied is called at the reply to a command with a Ticket. An error reply counts at the end of the flush.
func (c *Command) Replied() {
	c.replied.Store(true)
	if c.ticket.left.Add(-1) == 0 {
		close(c.ticket.done)
	}
}

// HasReplied reports whether Replied was called.
func (c *Command) HasReplied() bool { return c.replied.Load() }

// Done is closed after the last reply, or by Finish. From then on the commands belong to the caller.
func (t *Ticket) Done() <-chan struct{} { return t.done }

// State tells to whom the commands belong: to the flush, or to the caller again, after all
// replies or after Claim.
func (t *Ticket) State() State {
	if t == nil {
		return Outstanding
	}
	switch n := t.left.Load(); {
	case n > 0:
		return Outstanding
	case isClaimed(n):
		return Claimed
	}
	return Settled
}

// State is the state of a Ticket.
type State uint8

// The states.
const (
	Outstanding State = iota
	Settled
	Claimed
)

const (
	finished = math.MinInt32 / 4 // far from 0, as replies count down
	claimed  = math.MinInt32 / 2
)

// isClaimed reports whether left was claimed. Later replies count down from there, and a command that is built again up.
func isClaimed(left int32) bool { return left < (finished+claimed)/2 }

// Sent records that the commands are built.
func (t *Ticket) Sent() {
	if t != nil {
		t.sent.Store(true)
	}
}

// Claim returns copies of the commands of a caller that does not wait for the flush any longer, or
// nil if they may not be sent twice, are not sent yet, or are answered. The caller sends the copies, and then calls Adopt.
func (t *Ticket) Claim(cmds []*Command) []*Command {
	if !t.sent.Load() || slices.ContainsFunc(cmds, func(c *Command) bool { return c.Once }) {
		return nil
	}
	for {
		n := t.left.Load()
		if n <= 0 {
			return nil
		}
		if t.left.CompareAndSwap(n, claimed) {
			break
		}
	}
	copies := make([]*Command, len(cmds))
	for i, c := range cmds {
		copies[i] = c.copy()
	}
	return copies
}

// copy returns the command as it was before it was built.
func (c *Command) copy() *Command {
	n := &Command{script: c.script, key: c.key, args: slices.Clone(c.args), Urgent: c.Urgent, Reads: c.Reads}
	switch {
	case c.script != nil:
		n.args[0], n.args[1] = nil, nil
	case c.word != nil:
		n.word = &n.sha
		n.word.Set(c.word.Peek(), nil, c.word.String())
		n.args[2] = n.word
	}
	return n
}

// Adopt takes the reply of a copy. The command itself may still be executed.
func (c *Command) Adopt(from *Command) { c.cmd, c.word = from.cmd, from.word }

// FirstEnded is closed at the end of the flush of a command that is Doubled: it has run by then, or its reply is lost.
func (c *Command) FirstEnded() <-chan struct{} { return c.ticket.done }

// Finish ends the wait at the end of the flush. It is called once.
func (t *Ticket) Finish() {
	for {
		n := t.left.Load()
		if isClaimed(n) {
			close(t.done)
			return
		}
		if n <= 0 {
			return
		}
		if t.left.CompareAndSwap(n, finished) {
			close(t.done)
			return
		}
	}
}
