package proxytest

import (
	"strings"

	"github.com/unwatch/unwatch/internal/resp"
)

// handle executes one command with its armed fault, and records the call.
func (s *session) handle(args []string) outcome {
	f := s.p.fault(args)
	if f == nil {
		f = &Fault{}
	}
	o, done := s.before(f, args)
	if !done {
		o = s.execute(args)
		s.after(f, &o)
	}
	o.verdict = s.p.profile.RuleFor(args...).Verdict
	call := Call{Conn: s.id, Args: args, Backend: o.backend, Verdict: o.verdict, Fault: f.Action}
	if f.Action != DropReply && o.late == nil && (o.then == goOn || o.then == closeAfter) {
		call.Reply = replyKind(o.reply)
	}
	s.p.record(call)
	return o
}

// before applies a fault before, or instead of, the execution.
func (s *session) before(f *Fault, args []string) (o outcome, done bool) {
	o.backend = Local
	switch f.Action {
	case None, DropRequest, HangRequest, Delay, RefuseWith, ExecuteLater:
		if f.Do != nil {
			f.Do()
		}
	}
	switch f.Action {
	case DropRequest:
		o.then = closeAfter
	case HangRequest:
		o.then, o.hangs = hang, f.Delay
	case RefuseWith:
		o.reply = resp.AppendError(nil, f.Text)
	case ExecuteLater:
		if s.executeLater(f, args) || f.Text == "" {
			o.then = closeAfter
		} else {
			o.reply = resp.AppendError(nil, f.Text)
		}
	case Delay:
		if s.p.wait(f.Delay) {
			return o, false
		}
		o.then = closeAfter
	default:
		return o, false
	}
	return o, true
}

// after applies a fault to the reply of an executed command.
func (s *session) after(f *Fault, o *outcome) {
	switch f.Action {
	case DropReply, HangReply, DelayReply:
		if f.Do != nil {
			f.Do()
		}
	}
	switch f.Action {
	case DropReply:
		o.reply = o.reply[:min(max(f.Keep, 0), len(o.reply))]
		o.then = closeAfter
	case HangReply:
		o.then, o.hangs = hang, f.Delay
	case DelayReply:
		o.after = f.Delay
	}
}

// executeLater executes the command on its own connection after the client has received another reply. In a transaction, it
// is the connection of the transaction, so the client needs a new one, and a command that was to be queued has no effect.
func (s *session) executeLater(f *Fault, args []string) (pinnedToIt bool) {
	later := &session{
		p: s.p, id: s.id, links: map[int]*link{}, database: s.database, authed: s.authed, pin: pinned{backend: Local},
	}
	if pinnedToIt = s.pin.multi || s.pin.backend != Local; pinnedToIt {
		s.links, later.links = later.links, s.links
		s.pin, later.pin = later.pin, s.pin
	}
	s.p.wg.Go(func() {
		defer func() {
			for _, l := range later.links {
				l.close()
			}
		}()
		if !s.p.wait(f.Delay) {
			return
		}
		o := later.execute(args)
		s.p.record(Call{
			Conn: s.id, Args: args, Backend: o.backend, Verdict: s.p.profile.RuleFor(args...).Verdict,
			Fault: ExecuteLater, Reply: "",
		})
	})
	return pinnedToIt
}

// local is an outcome without a backend.
func local(reply []byte) outcome { return outcome{reply: reply, backend: Local} }

func localError(text string) outcome { return local(resp.AppendError(nil, text)) }

func is(args []string, name string) bool { return strings.EqualFold(args[0], name) }
