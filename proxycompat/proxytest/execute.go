package proxytest

import (
	"errors"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/proxycompat"
)

// execute handles a command as the profile's proxy does.
func (s *session) execute(args []string) outcome {
	rule := s.p.profile.RuleFor(args...)
	switch {
	case s.p.transparent():
		return s.relay(args, rule)
	case rule.Verdict == proxycompat.Refused, rule.Verdict == proxycompat.Closes:
		return s.refuse(args)
	case !s.p.codis() && !rule.ArgsFit(args):
		return s.wrongArgs(args)
	}
	if o, done := s.answer(args, rule); done {
		return o
	}
	if o, apart := s.crossSlot(args, rule); apart {
		return o
	}
	if rule.Verdict == proxycompat.HarmsOthers && harmful(args) {
		return s.harm(args, rule)
	}
	if a, newer := rule.TooNew(args); newer && a.Error != "" {
		return localError(a.Error).on(s.p.BackendOf(s.routed(args, rule)))
	}
	if o, done := s.transaction(args, rule); done {
		return o
	}
	if keys := rule.Keys(args); rule.Verdict == proxycompat.Split && len(keys) > 1 {
		return s.split(args, keys)
	}
	if rule.Everywhere() {
		return s.everywhere(args)
	}
	return s.forwardBy(s.routed(args, rule), args)
}

// routed returns the routing word of a command, "" if there is none.
func (s *session) routed(args []string, rule proxycompat.Rule) string {
	if i := rule.Route(args); i > 0 {
		return args[i]
	}
	return ""
}

// refuse answers a command that the proxy does not permit.
func (s *session) refuse(args []string) outcome {
	if text := s.p.profile.RefusalText(args...); text != "" {
		return localError(text)
	}
	return outcome{backend: Local, then: closeMute}
}

// wrongArgs answers a command with a number of arguments that the proxy rejects.
func (s *session) wrongArgs(args []string) outcome {
	if s.p.closes() {
		return outcome{backend: Local, then: closeMute}
	}
	name := strings.ToLower(args[0])
	if s.p.codis() {
		name = strings.ToUpper(name)
	}
	return localError("ERR wrong number of arguments for '" + name + "' command")
}

// crossSlot answers a command whose keys must be in one slot, but are not.
func (s *session) crossSlot(args []string, rule proxycompat.Rule) (o outcome, apart bool) {
	if rule.Verdict != proxycompat.SameSlot {
		return outcome{}, false
	}
	if c, _ := proxycompat.CommandOf(args...); s.p.transparent() {
		if n, counted := c.States(args); counted && n > len(args) { // the server rejects the count before it looks for keys
			return outcome{}, false
		}
	}
	var keys []string
	for _, i := range rule.Keys(args) {
		keys = append(keys, args[i])
	}
	if s.p.profile.SameSlot(keys...) {
		return outcome{}, false
	}
	if rule.Error == "" {
		return localError("CROSSSLOT Keys in request don't hash to the same slot"), true
	}
	return localError(s.p.profile.RefusalText(args[0])), true
}

// forward executes a command on one backend. If a link in a transaction fails, its watches and queued
// commands are lost, so the client is disconnected.
func (s *session) forward(backend int, args []string) outcome {
	if c := s.p.backends[backend].keep(s, args); c != nil {
		return outcome{backend: backend, late: c}
	}
	reply, err := s.do(backend, args)
	switch {
	case err == nil:
		return outcome{reply: reply, backend: backend}
	case s.pin.backend == backend:
		return outcome{backend: backend, then: closeAfter}
	}
	return localError(s.p.backendError(err)).on(backend)
}

func (o outcome) on(backend int) outcome {
	o.backend = backend
	return o
}

// do sends a command over the session's link to a backend. It opens the link if necessary.
func (s *session) do(backend int, args []string) (resp.Reply, error) {
	b := s.p.backends[backend]
	if err := b.awake(s, args); err != nil {
		return nil, err
	}
	l, err := s.link(backend)
	if err != nil {
		return nil, err
	}
	executed := [][]string{args}
	if is(args, "EXEC") {
		executed = s.pin.queued
	}
	var reply resp.Reply
	err = b.change(s.database, executed, func() (err error) {
		reply, err = s.p.cfg.Store.ask(l, args)
		return err
	})
	if err != nil {
		l.close()
		delete(s.links, backend)
	}
	return reply, err
}

// link returns the session's connection to a backend.
func (s *session) link(backend int) (*link, error) {
	if l := s.links[backend]; l != nil {
		return l, nil
	}
	l, err := s.p.backends[backend].connect(s.p.ctx, s.database)
	if err != nil {
		return nil, err
	}
	s.links[backend] = l
	return l, nil
}

// backendError returns the client's error text for a failed backend. No text tells whether the command was
// executed.
func (p *Proxy) backendError(err error) string {
	switch broke := errors.Is(err, errGone); {
	case p.codis() && broke:
		return "ERR handle response, backend conn failure, EOF"
	case p.codis():
		return "ERR handle response, backend conn reset"
	case broke:
		return "ERR Connection reset by peer"
	case errors.Is(err, errAsleep):
		return "ERR Connection timed out"
	}
	return "ERR Connection refused"
}

// everywhere executes a command on all backends. It returns the first error, or the reply of the first
// backend.
func (s *session) everywhere(args []string) outcome {
	first := s.forward(0, args)
	if first.then != goOn {
		return first
	}
	for backend := 1; backend < len(s.p.backends); backend++ {
		o := s.forward(backend, args)
		if o.then != goOn {
			return o
		}
		if _, bad := first.reply.ErrorText(); !bad {
			if _, bad := o.reply.ErrorText(); bad {
				first = o
			}
		}
	}
	return first.on(Several)
}

// split executes a command key by key and merges the replies: it joins arrays, adds integers, and keeps one
// of several equal statuses. It returns the first error regardless of the other keys.
func (s *session) split(args []string, keys []int) outcome {
	o := outcome{backend: s.p.BackendOf(args[keys[0]])}
	var sum int64
	var elements []byte
	var count int
	var failed resp.Reply
	for i, at := range keys {
		end := len(args)
		if i+1 < len(keys) {
			end = keys[i+1]
		}
		part := s.forwardBy(args[at], slices.Concat(args[:1], args[at:end]))
		if part.then != goOn {
			return part
		}
		if part.backend != o.backend {
			o.backend = Several
		}
		o.reply = part.reply
		if _, bad := part.reply.ErrorText(); bad && failed == nil {
			failed = part.reply
		}
		if n, ok := part.reply.Int(); ok {
			sum += n
		}
		if n, raw, ok := part.reply.Elements(); ok {
			count += n
			elements = append(elements, raw...)
		}
	}
	switch {
	case failed != nil:
		o.reply = failed
	case o.reply.Kind() == "integer":
		o.reply = resp.AppendInt(nil, sum)
	case o.reply.Kind() == "array":
		o.reply = append(resp.AppendArray(nil, count), elements...)
	}
	return o
}
