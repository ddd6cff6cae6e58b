package live

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/unwatch/unwatch/internal/resp"
)

func isRefusal(err error) bool  { return errors.As(err, new(resp.ErrorReply)) }
func lacksRight(err error) bool { return meaning(err) == resp.Forbidden }

// rejected reports whether a server has refused a command before its execution, so that it counts
// no call.
func rejected(err error) bool { return meaning(err).NotDone() }

// turnedAway reports whether a server has refused the connection, and not the command: it has
// too many clients, or is in protected mode.
func turnedAway(err error) bool {
	m := meaning(err)
	return m == resp.Full || m == resp.Denied
}

func meaning(err error) resp.Meaning {
	var r resp.ErrorReply
	if !errors.As(err, &r) {
		return resp.Unclear
	}
	return resp.MeaningOf(string(r))
}

// dial connects through the guard, and authenticates. sent is called for every command that was sent.
func dial(ctx context.Context, a Address, cfg Config, sent func(args []string, rejected bool)) (*resp.Conn, error) {
	d := resp.Dialer{Timeout: cfg.Timeout, TLS: cfg.TLS, Dial: cfg.Dial}
	if a.TLS {
		d.TLS = cmp.Or(cfg.TLS, &tls.Config{MinVersion: tls.VersionTLS12})
	}
	conn, err := d.Open(ctx, a.network(), a.Host)
	if err != nil {
		return nil, err
	}
	c := resp.NewConn(guard{conn}, cfg.Timeout)
	c.Sent = func(args []string, err error) {
		if !errors.As(err, new(*resp.WriteError)) { // after any other error, the server may have executed it
			sent(args, rejected(err))
		}
	}
	if err := greet(ctx, c, a, cfg); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// greet authenticates, if there is a password, and sets the name of the connection. A missing
// right to set the name is no error.
func greet(ctx context.Context, c *resp.Conn, a Address, cfg Config) error {
	if a.Username != "" || a.Password != "" {
		err := c.Auth(ctx, a.Username, a.Password)
		if isRefusal(err) && !turnedAway(err) {
			return fmt.Errorf("AUTH was refused: %w", err)
		}
		if err != nil {
			return err
		}
	}
	if _, err := c.Do(ctx, "CLIENT", "SETNAME", cfg.name); err != nil && (!isRefusal(err) || turnedAway(err)) {
		return err
	}
	return nil
}
