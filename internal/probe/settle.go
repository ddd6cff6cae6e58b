package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"strings"

	"github.com/unwatch/unwatch/internal/resp"
)

// greeting is the first contact; it fails if the peer is not a Redis.
func (p *prober) greeting(ctx context.Context) error {
	c, err := p.dial(ctx)
	if err != nil {
		return err
	}
	p.report.Sent++
	_, err = c.Do(ctx, "PING")
	var refused resp.ErrorReply
	if err != nil && !errors.As(err, &refused) {
		c.Close()
		return p.explain(ctx, err)
	}
	p.main, p.used, p.failed = c, true, err != nil
	text := string(refused)
	if err == nil || lacksRight(text) {
		return nil // it is a Redis; later answers show the permissions
	}
	e := &ConnectError{Addr: p.addr, Reason: NotReady, what: "PING is answered with an error: " + p.mask(text)}
	lower := strings.ToLower(text)
	switch means := resp.MeaningOf(text); {
	case means == resp.Password, strings.Contains(lower, "auth") && strings.Contains(lower, "required"):
		e.Reason, e.what = WantsPassword, "it wants a password"
	case means == resp.Denied:
		e.Reason, e.what = NotReady, "it is a Redis in protected mode, which accepts its own machine only: set a password there"
	case means == resp.Full:
		e.Reason, e.what = NotReady, "it has as many clients as it accepts"
	}
	return e
}

// explain returns the error of a first command as a ConnectError. It examines a server that closed the connection:
// most TLS servers do that without an answer to plain text.
func (p *prober) explain(ctx context.Context, err error) error {
	var refused resp.ErrorReply
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &refused): // only AUTH; its text does not contain the password
		return &ConnectError{Addr: p.addr, Reason: BadPassword, what: "AUTH failed: " + p.mask(string(refused))}
	}
	e := greetingError(p.addr, err, p.cfg.Timeout)
	switch {
	case e.Reason != HangsUp:
		return e
	case p.cfg.TLS != nil && len(p.cfg.TLS.Certificates) == 0 && p.cfg.TLS.GetClientCertificate == nil:
		// In TLS 1.3 the handshake ends before the server notices a missing client certificate.
		e.Reason, e.what = BadCertificate, "it closes the connection after the TLS handshake"
		return e
	case p.cfg.TLS != nil:
		return e
	}
	secure := p.cfg
	secure.TLS = &tls.Config{InsecureSkipVerify: true} // it only detects TLS, and sends no data
	c, err := connect(ctx, p.addr, secure)
	if err == nil {
		c.Close()
	}
	if err == nil || isAlert(err) {
		e.Reason, e.what = WantsTLS, "it speaks TLS"
	}
	return e
}

// candidates limits the tags that are tried to find one on this node: enough for a cluster of a few hundred
// nodes.
const candidates = 2048

// settle finds tags whose keys the address accepts. A proxy accepts all; a node of a cluster owns a part of
// the slots, and redirects the others.
func (p *prober) settle(ctx context.Context) error {
	var moved string
	for tried := 0; tried < candidates && len(p.keys.homes) < homes; tried += 64 {
		batch := homes
		if moved != "" {
			batch = 64
		}
		tags, commands := make([]string, batch), make([][]string, batch)
		for i := range tags {
			tags[i] = newTag()
			commands[i] = set(p.keys.prefix+"{"+tags[i]+"}home", "probe")
		}
		replies, outcome, err := p.do(ctx, commands...)
		if err != nil {
			return err
		}
		for i, reply := range replies {
			text, failed := reply.ErrorText()
			switch means := resp.MeaningOf(text); {
			case !failed:
				p.keys.homes = append(p.keys.homes, tags[i])
				p.keys.home(len(p.keys.homes)-1, "home")
			case means == resp.Moved, means == resp.Asked:
				moved = text
			default:
				return p.notWritable(text)
			}
		}
		if outcome != OK {
			return &ConnectError{Addr: p.addr, Reason: NotWritable, what: "SET is not answered: " + string(outcome)}
		}
	}
	if len(p.keys.homes) == 0 {
		return &ConnectError{Addr: p.addr, Reason: NotWritable, what: "this node of a cluster has no slots; it is a replica, or new"}
	}
	return nil
}

func (p *prober) notWritable(text string) error {
	e := &ConnectError{Addr: p.addr, Reason: NotWritable, what: "SET fails: " + p.mask(text)}
	switch means := resp.MeaningOf(text); {
	case means == resp.Forbidden:
		e.Reason = LacksRight
	case means == resp.Password:
		e.Reason, e.what = WantsPassword, "it wants a password"
	case means == resp.Loading, means == resp.Elsewhere, means == resp.Passing:
		e.Reason = NotReady
	}
	return e
}
