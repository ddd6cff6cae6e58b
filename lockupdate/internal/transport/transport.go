// Package transport sends the commands of a Store: concurrent ones share flushes, a
// circuit breaker fails them while the server does not answer, and calls with time left
// wait for the end of an outage. No command is ever sent twice by the client.
//
// A command goes from [Transport.Do] or [Transport.Send] to a batch, through the circuit
// breaker, into one flush.
package transport

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/rmw"
)

// Client sends one command, or several in one plain pipeline.
type Client interface {
	Process(ctx context.Context, cmd redis.Cmder) error
	Pipeline() redis.Pipeliner
}

// Transport sends commands through one client. It is safe for concurrent use.
type Transport struct {
	Driver driver.Driver
	client Client
	gate   *redisx.Gate

	// deadlines says that the client ends a command at the deadline of its ctx.
	deadlines bool

	batcher *batcher
	breaker *breaker
	options Options
	alone   bool // the client sends each flush alone
}

// New returns a Transport. Its goroutines belong to the gate.
func New(client Client, d driver.Driver, gate *redisx.Gate, o Options) *Transport {
	rdb, ok := client.(*redis.Client)
	deadlines := ok && rdb != nil && rdb.Options().ContextTimeoutEnabled
	return &Transport{
		Driver: d, client: client, deadlines: deadlines, alone: redisx.FlushesAlone(client), gate: gate,
		batcher: newBatcher(client), breaker: newBreaker(o), options: o,
	}
}

// Pause waits for RetryDelay, or for ctx.
func (t *Transport) Pause(ctx context.Context, try int) error {
	return redisx.Sleep(ctx, RetryDelay.Delay(try, Jitter()))
}

// Send sends the commands in one flush and returns when each has a reply or an error, even if Close no
// longer waits. ctx must be one that does not end.
func (t *Transport) Send(ctx context.Context, cmds ...*driver.Command) {
	err := t.send(ctx, ctx, cmds)
	if abandoned := (*redisx.Abandoned)(nil); errors.As(err, &abandoned) {
		<-abandoned.Finished
	} else if err != nil {
		refuse(ctx, err, cmds...)
	}
}

// Do sends the commands in one flush, as soon as the store can be reached, and waits for
// the replies. An error means that ctx or the Store ended first, or that the outage did
// not, or that Options.MaxWait is over; after an error the commands must not be touched.
func (t *Transport) Do(ctx context.Context, o *Outage, cmds ...*driver.Command) error {
	wait := ctx
	if limit := t.options.MaxWait; limit > 0 {
		if o.began.IsZero() {
			o.began = time.Now()
		}
		var cancel context.CancelFunc
		wait, cancel = context.WithDeadline(ctx, o.began.Add(limit))
		defer cancel()
	}
	for {
		sent := time.Now()
		if err := t.send(wait, ctx, cmds); err != nil {
			if wait.Err() != nil && redisx.EndOf(ctx) == nil {
				return NoAnswer(t.options.MaxWait)
			}
			return err
		}
		if !t.Unreached(cmds[0].Err()) {
			return nil
		}
		o.Failed(sent)
		if again, err := t.await(ctx, o); !again {
			return err
		}
	}
}

// NoAnswer is the error of a call that has waited for the store for Config.MaxWait.
func NoAnswer(limit time.Duration) error {
	return redisx.Because(rmw.ErrUnavailable, fmt.Errorf("no answer of the store within Config.MaxWait (%v)", limit))
}

// Query sends commands that only read, in one flush, up to three times while their replies get
// lost. read reads the replies. Query returns when it last sent.
func (t *Transport) Query(ctx context.Context, read func() error, cmds ...*driver.Command) (sent time.Time, err error) {
	var o Outage
	for try, again := 1, true; again; try++ {
		sent = time.Now()
		if err = t.Do(ctx, &o, cmds...); err != nil {
			break
		}
		again, err = t.Again(ctx, try, read())
	}
	return sent, err
}

// Again reports whether commands are to be sent again after the try that ended with err: after a
// pause, because the replies were lost. If not, it returns err, or the end of ctx.
func (t *Transport) Again(ctx context.Context, try int, err error) (again bool, end error) {
	if redisx.OutcomeOf(err) != redisx.Unknown || try == Tries {
		return false, err
	}
	end = t.Pause(ctx, try)
	return end == nil, end
}

// send has the commands sent in a batch, and waits no longer than wait lasts. values is
// the ctx that the client gets if the flush has no other commands.
func (t *Transport) send(wait, values context.Context, cmds []*driver.Command) error {
	if _, ends := values.Deadline(); ends && t.deadlines {
		values = context.WithoutCancel(values) // the end of one call says nothing about the store
	}
	how := t.batcher.join(values, cmds)
	switch {
	case how.lane != shared:
		return t.sendAlone(wait, how.lane, caller{ctx: values, cmds: cmds})
	case how.ticket == nil:
		if wait.Done() == nil || t.options.WaitForReply {
			t.sendSingle(values, how)
			return nil
		}
		done := make(chan struct{})
		t.gate.Go(func() {
			defer close(done)
			t.sendSingle(values, how)
		})
		return t.gate.Wait(wait, done)
	case how.leads:
		t.gate.Go(func() { t.lead(how.batch) }) // the leader may be answered before the others
	}
	return t.awaitBatch(wait, values, how, cmds)
}

// sendSingle is the flight of one caller.
func (t *Transport) sendSingle(ctx context.Context, how joined) {
	t.sendGuarded(ctx, how.callers, shared, 0)
	t.batcher.finish(how.flight)
}

// awaitBatch waits for the replies to the commands of one caller in a batch. If the flush hangs, because of
// other commands perhaps, it sends those again that can be.
func (t *Transport) awaitBatch(wait, values context.Context, how joined, cmds []*driver.Command) error {
	select {
	case <-how.ticket.Done():
		return nil
	case <-how.batch.late:
	case <-wait.Done():
	case <-t.gate.GaveUp:
	}
	if wait.Err() == nil && !t.gate.GivenUp() && !how.batch.once {
		return t.sendAgain(wait, values, how.ticket, cmds)
	}
	return t.gate.Wait(wait, how.ticket.Done())
}

// BatchContext returns the ctx for commands of several callers, which does not end, and what to call
// after them. It has no values of any caller: a tracing hook would show the commands of one
// caller in the trace of another.
func (t *Transport) BatchContext(callers []context.Context) (ctx context.Context, end func(error)) {
	if t.options.BatchContext == nil {
		return context.Background(), func(error) {}
	}
	return t.options.BatchContext(callers)
}

// lead sends a batch as soon as it may be sent.
func (t *Transport) lead(b *batch) {
	t.batcher.await(b, func(probe *batch) { t.gate.Go(func() { t.sendBatch(probe) }) })
	for _, c := range b.alone {
		t.gate.Go(func() {
			c.ctx = context.WithoutCancel(c.ctx)
			if err := t.sendAlone(c.ctx, trial, c); err != nil {
				refuse(c.ctx, err, c.cmds...) // Close gave up
			}
			c.ticket.Finish()
		})
	}
	if len(b.callers) > 0 {
		t.sendBatch(b)
	}
}

// sendBatch is the flight of a batch.
func (t *Transport) sendBatch(b *batch) {
	switch len(b.callers) {
	case 1:
		t.sendGuarded(context.WithoutCancel(b.callers[0].ctx), b.callers, shared, 0)
	default:
		callers := make([]context.Context, len(b.callers))
		for i, c := range b.callers {
			callers[i] = c.ctx
		}
		ctx, end := t.BatchContext(callers)
		t.sendGuarded(ctx, b.callers, shared, 0)
		end(unanswered(b.callers))
	}
	t.batcher.finish(b.flight)
	for _, c := range b.callers {
		c.ticket.Finish()
	}
}

// sendGuarded flushes the commands, or only the urgent ones while the breaker is open. While a part
// of the store hangs, the breaker does not stop the keys that share flushes.
func (t *Transport) sendGuarded(ctx context.Context, callers []caller, l lane, limit time.Duration) {
	if t.breaker.try(func() error {
		began := time.Now()
		t.flush(ctx, callers, limit)
		err := unanswered(callers)
		if err != nil && (limit > 0 || t.batcher.answeredSince(began.Add(-silence))) {
			return errPartial
		}
		return err
	}) {
		return
	}
	if l == shared && t.batcher.toldApart() {
		t.flush(ctx, callers, limit)
		return
	}
	var urgent []*driver.Command
	for _, k := range callers {
		for _, c := range k.cmds {
			if c.Urgent {
				urgent = append(urgent, c)
				continue
			}
			refuse(ctx, t.breaker.refusal(), c)
		}
	}
	if len(urgent) > 0 {
		t.flush(ctx, []caller{{ctx: ctx, cmds: urgent}}, limit)
	}
}

// flush is one round trip, and a second one for scripts that the backend did not know,
// sent whole, and for the reads after them, so that the read of an acquire still comes
// after it. No proxy passes SCRIPT LOAD on. A panic of a hook of the client fails the
// commands, and does not end the process. limit bounds a round trip, if it is not 0.
func (t *Transport) flush(ctx context.Context, callers []caller, limit time.Duration) {
	defer func() {
		if p := recover(); p != nil {
			for c := range unsettled(callers) {
				if !c.Built() {
					c.Build(ctx, false)
				}
				c.SetErr(fmt.Errorf("the client, or a hook of it, panicked: %v", p))
			}
		}
	}()
	cmds := callers[0].cmds
	if len(callers) > 1 {
		cmds = slices.Collect(unsettled(callers))
	}
	t.roundTrip(ctx, limit, callers, cmds, false)
	var again []*driver.Command
	for c := range unsettled(callers) {
		if redisx.IsNoScript(c.Err()) || len(again) > 0 && c.Reads {
			again = append(again, c)
		}
	}
	if len(again) > 0 {
		t.roundTrip(ctx, limit, callers, again, true)
	}
}

// unsettled returns the commands of callers that wait for a reply to any of them.
func unsettled(callers []caller) iter.Seq[*driver.Command] {
	return func(yield func(*driver.Command) bool) {
		for _, k := range callers {
			if k.ticket.State() != driver.Outstanding {
				continue
			}
			for _, c := range k.cmds {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// roundTripOf is roundTrip for one command. A commit is sent as a pipeline, too: go-redis has connections for
// pipelines, and the acquire or the read before has just used one of them. A connection that was idle for
// longer may be dead, and a commit over it has an unknown outcome.
func (t *Transport) roundTripOf(ctx context.Context, c *driver.Command, whole bool) {
	cmd := c.Build(ctx, whole)
	var err error
	if c.Once {
		pipe := t.client.Pipeline()
		if err = pipe.Process(ctx, cmd); err == nil {
			_, err = pipe.Exec(ctx)
		}
	} else {
		err = t.client.Process(ctx, cmd)
	}
	if err != nil && cmd.Err() == nil {
		cmd.SetErr(err)
	}
	if failed := redisx.FailedWrite(cmd.Err()); failed != nil && t.alone {
		cmd.SetErr(failed)
	}
}

func (t *Transport) roundTrip(ctx context.Context, limit time.Duration, callers []caller, cmds []*driver.Command, whole bool) {
	limited, cancel := t.limit(ctx, limit)
	defer cancel()
	if len(cmds) == 1 {
		t.roundTripOf(limited, cmds[0], whole)
	} else {
		t.pipeline(limited, callers, cmds, whole)
	}
	var elsewhere error
	for c := range unsettled(callers) {
		if whole && !slices.Contains(cmds, c) {
			continue
		}
		switch err := c.Err(); {
		case err == nil:
		case c.Unsent() && limit > 0 && limited.Err() != nil:
			c.SetErr(errBusy) // the limit is ours, and the call goes on
		case c.Unsent():
			c.SetErr(redisx.NotSent(err))
		case redisx.LeadsElsewhere(err):
			elsewhere = err
		}
	}
	redisx.DropIfElsewhere(ctx, t.client, cmds[0].Key(), len(cmds) > 1 || cmds[0].Once, elsewhere)
}

func (t *Transport) pipeline(ctx context.Context, callers []caller, cmds []*driver.Command, whole bool) {
	pipe := t.client.Pipeline()
	built := make([]redis.Cmder, len(cmds))
	for i, c := range cmds {
		built[i] = c.Build(ctx, whole)
	}
	for _, k := range callers {
		k.ticket.Sent()
	}
	err := pipe.BatchProcess(ctx, built...)
	if err == nil {
		_, err = pipe.Exec(ctx)
	}
	if err == nil {
		return
	}
	for c := range unsettled(callers) {
		switch failed := c.Err() != nil; {
		case whole && !slices.Contains(cmds, c):
		case failed && c.HasReply():
			// The connection broke after the reply, and go-redis marks all commands.
			c.SetErr(nil)
		case c.Empty() && errors.Is(err, redis.Nil):
			c.SetErr(c.Unexpected()) // redis.Nil is another command's reply
		case c.Empty():
			// A client over several servers may report an error that it does not set
			// on the commands concerned.
			c.SetErr(err)
		}
	}
}

// CircuitOpen reports whether the circuit breaker refuses commands now.
func (t *Transport) CircuitOpen() bool { return t.breaker.open() }

// Unreached reports whether a command that failed with err certainly did not run because the
// store was not reached, or only a server that cannot serve. Another try may reach the store.
func (t *Transport) Unreached(err error) bool {
	if t.options.MaxOutage < 0 || t.breaker.cb == nil {
		return false
	}
	return (errors.Is(err, errCircuitOpen) || errors.Is(err, errBusy)) && !errors.Is(err, rmw.ErrOutcomeUnknown) || redisx.Unreached(err)
}

// Left returns how long a call that began at began may still wait for the end of o.
func (t *Transport) Left(o *Outage, began time.Time) time.Duration {
	if began.Before(o.since) {
		began = o.since
	}
	return t.options.MaxOutage - time.Since(began)
}

// NextTry returns when to send again: after pause, or as soon as the circuit breaker
// closes, if closed is not nil. An open breaker lets one of the next commands pass as a
// try of its own, and refuses the others.
func (t *Transport) NextTry(o *Outage) (closed <-chan struct{}, pause time.Duration) {
	return t.breaker.nextTry(o.tries)
}

// await waits for the next try. It returns false if there is none: with an error if ctx
// or the Store ended, without one if the outage has lasted for MaxOutage.
func (t *Transport) await(ctx context.Context, o *Outage) (again bool, err error) {
	left := t.Left(o, o.since)
	if left <= 0 {
		return false, nil
	}
	closed, pause := t.NextTry(o)
	timer := time.NewTimer(min(pause, left))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-closed:
	case <-ctx.Done():
	case <-t.gate.Closing:
	}
	switch {
	case ctx.Err() != nil:
		return false, redisx.Because(rmw.ErrUnavailable, redisx.EndOf(ctx))
	case t.gate.Closed():
		return false, rmw.ErrClosed
	}
	return true, nil
}
