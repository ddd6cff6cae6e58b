package proxytest

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strconv"

	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/proxycompat"
)

// execute does with a command what the profile's proxy does with it.
func (s *session) execute(args []string) outcome {
	if s.p.transparent() {
		return s.relay(args)
	}
	rule := s.p.profile.Rule(args[0])
	switch rule.Verdict {
	case proxycompat.Refused, proxycompat.Closes:
		return s.refuse(args[0])
	}
	if !s.p.codis() && !rule.ArgsFit(args) {
		return outcome{backend: Local, then: closeMute}
	}
	if o, done := s.answer(args); done {
		return o
	}
	if rule.Verdict == proxycompat.Split {
		if keys := rule.Keys(args); len(keys) > 1 {
			return s.split(args, keys)
		}
	}
	key := ""
	if i := rule.Route(args); i > 0 {
		key = args[i]
	}
	return s.forward(s.p.BackendOf(key), args)
}

// refuse answers a command that the proxy does not permit.
func (s *session) refuse(name string) outcome {
	if text := s.p.profile.RefusalText(name); text != "" {
		return localError(text)
	}
	return outcome{backend: Local, then: closeMute}
}

// answer gives the answers that are the proxy's own.
func (s *session) answer(args []string) (o outcome, done bool) {
	codis := s.p.codis()
	switch {
	case is(args, "QUIT"):
		if codis {
			o = local(resp.AppendStatus(nil, "OK"))
		}
		o.backend, o.then = Local, closeAfter
		return o, true
	case is(args, "AUTH"):
		return s.auth(args), true
	case !s.authed:
		return localError("NOAUTH Authentication required"), true
	case is(args, "PING") && !codis:
		return local(resp.AppendStatus(nil, "PONG")), true
	case (is(args, "PING") || is(args, "INFO")) && len(args) > 1:
		return localError(fmt.Sprintf("ERR backend server '%s' not found", args[1])), true
	case is(args, "SELECT") && codis:
		return s.selectDatabase(args), true
	case is(args, "HELLO") && codis:
		// What codis-server 3.2 says; it repeats the name as it was sent.
		return localError(fmt.Sprintf("ERR unknown command '%s'", args[0])), true
	}
	return outcome{}, false
}

func (s *session) auth(args []string) outcome {
	switch {
	case len(args) != 2:
		return localError("ERR wrong number of arguments for 'AUTH' command")
	case s.p.cfg.Password == "":
		return localError("ERR Client sent AUTH, but no password is set")
	case s.p.cfg.Password != args[1]:
		s.authed = false
		return localError("ERR invalid password")
	}
	s.authed = true
	return local(resp.AppendStatus(nil, "OK"))
}

func (s *session) selectDatabase(args []string) outcome {
	if len(args) != 2 {
		return localError("ERR wrong number of arguments for 'SELECT' command")
	}
	const databases = 16
	n, err := strconv.Atoi(args[1])
	switch {
	case err != nil:
		return localError("ERR invalid DB index")
	case n < 0 || n >= databases:
		return localError(fmt.Sprintf("ERR invalid DB index, only accept DB [0,%d)", databases))
	}
	if db := strconv.Itoa(n); db != s.database {
		s.database = db
		for _, l := range s.links { // the proxy keeps connections by database
			l.close()
		}
		clear(s.links)
	}
	return local(resp.AppendStatus(nil, "OK"))
}

// BackendOf returns the index of the backend that owns a key. Codis spreads
// its 1024 slots over the backends in contiguous ranges; twemproxy hashes the
// whole key, as it does without the hash_tag setting.
func (p *Proxy) BackendOf(key string) int {
	if slot := p.profile.Slot(key); slot >= 0 {
		return slot * len(p.backends) / p.profile.Slots()
	}
	h := fnv.New64a()
	_, _ = io.WriteString(h, key)
	return int(h.Sum64() % uint64(len(p.backends)))
}

// forward executes a command on one backend.
func (s *session) forward(backend int, args []string) outcome {
	reply, err := s.do(backend, args)
	if err != nil {
		return localError(s.p.backendError(err)).on(backend)
	}
	return outcome{reply: reply, backend: backend}
}

func (o outcome) on(backend int) outcome {
	o.backend = backend
	return o
}

// do sends a command over the session's link to a backend, opening it first if
// need be.
func (s *session) do(backend int, args []string) (resp.Reply, error) {
	l, err := s.link(backend)
	if err != nil {
		return nil, err
	}
	reply, err := s.p.cfg.Store.ask(l, args)
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

// backendError is what the client is told about a backend that failed. None of
// these texts says whether the command was executed.
func (p *Proxy) backendError(err error) string {
	broke := errors.Is(err, errGone)
	switch {
	case p.codis() && broke:
		return "ERR handle response, backend conn failure, EOF"
	case p.codis():
		return "ERR handle response, backend conn reset"
	case broke:
		return "ERR Connection reset by peer"
	}
	return "ERR Connection refused"
}

// split executes a command key by key and merges the replies: arrays are
// joined, integers added, of equal statuses one is left. The first error is
// the answer, whatever the other keys did.
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
		backend := s.p.BackendOf(args[at])
		if backend != o.backend {
			o.backend = Several
		}
		part := s.forward(backend, slices.Concat(args[:1], args[at:end]))
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
