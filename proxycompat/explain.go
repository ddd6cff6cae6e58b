package proxycompat

import (
	"fmt"
	"runtime"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Advice describes an option of a client that will cause trouble behind a proxy.
type Advice struct {
	Option  string // the field of redis.Options
	Fatal   bool   // every command fails, or other clients suffer
	Why     string // the consequence, in one sentence
	Instead string // the value to set
}

// String returns the advice in one line.
func (a Advice) String() string {
	grade := "costs"
	if a.Fatal {
		grade = "fatal"
	}
	return fmt.Sprintf("%s: %s: %s; instead: %s", grade, a.Option, a.Why, a.Instead)
}

// Explain lists the options that will cause trouble behind this proxy, with reasons. Fatal ones come first,
// the others in the order in which a connection uses them. It returns nothing for the result of [Options].
// Zero fields count as go-redis v9's defaults. A custom Dialer is assumed to be a [HelloDialer]. Commands
// sent by OnConnect are not examined.
//
// Nil options count as the zero Options, and a nil profile as [Redis].
func Explain(opts *redis.Options, p *Profile) []Advice {
	if opts == nil {
		opts = &redis.Options{}
	}
	if p == nil || p.permitsAll() {
		return nil
	}
	e := explainer{p: p, o: opts}
	if p.server {
		e.connection()
		return append(e.fatal, e.costs...)
	}
	e.tls()
	e.hello()
	e.credentials()
	e.connection()
	e.identity()
	e.commands()
	e.pool()
	return append(e.fatal, e.costs...)
}

type explainer struct {
	p            *Profile
	o            *redis.Options
	fatal, costs []Advice
}

func (e *explainer) add(fatal bool, option, instead, why string, args ...any) {
	a := Advice{Option: option, Fatal: fatal, Instead: instead, Why: fmt.Sprintf(why, args...)}
	if fatal {
		e.fatal = append(e.fatal, a)
	} else {
		e.costs = append(e.costs, a)
	}
}

// tls: go-redis uses TLSConfig only in the Dialer that it makes itself (options.go).
func (e *explainer) tls() {
	if e.o.TLSConfig != nil && e.o.Dialer != nil {
		e.add(true, "TLSConfig", "none, and Dialer: TLSDialer(config)",
			"it is not looked at once there is a Dialer: all is sent in clear text, the password included, unless that one encrypts")
	}
}

// hello: go-redis v9 opens every connection with HELLO and continues without it only after an error reply
// (redis.go, initConn).
func (e *explainer) hello() {
	resp3 := e.o.Protocol != 2
	rule := e.p.Rule("HELLO")
	if e.o.Dialer == nil {
		instead := "HelloDialer, as in Options"
		if e.o.TLSConfig != nil {
			instead = "TLSDialer(opts.TLSConfig)"
		}
		switch {
		case rule.Verdict == Closes:
			e.add(true, "Dialer", instead, "go-redis opens each connection with HELLO, and the proxy closes it for that")
		case rule.Verdict == HarmsOthers && resp3:
			e.add(true, "Dialer", instead, "HELLO 3 is %s", rule.Why)
		case !rule.passes():
			e.add(false, "Dialer", instead, "the HELLO of each new connection is refused: one round trip more")
		}
	}
	if resp3 {
		e.add(false, "Protocol", "2", "RESP3 is asked for, which proxies do not speak")
	}
	if m := e.o.MaintNotificationsConfig; resp3 && m != nil && m.Mode == maintnotifications.ModeEnabled {
		e.add(true, "MaintNotificationsConfig", "maintnotifications.ModeDisabled",
			"maintenance notifications need RESP3 and support by the server, so every connection fails")
	}
}

func (e *explainer) credentials() {
	auth := e.p.Rule("AUTH")
	if auth.ArgsFit([]string{"AUTH", "user", "password"}) {
		return
	}
	switch {
	case e.o.CredentialsProvider != nil || e.o.CredentialsProviderContext != nil || e.o.StreamingCredentialsProvider != nil:
		e.add(false, "CredentialsProvider", "a provider of a password alone", "if it returns a user name, AUTH is refused: %s", auth.Why)
	case e.o.Username != "" && e.o.Password != "": // without a password there is no AUTH
		e.add(true, "Username", "the Password alone", "AUTH with a user name is refused: %s", auth.Why)
	}
}

func (e *explainer) connection() {
	switch rule := e.p.Rule("SELECT"); {
	case e.o.DB <= 0: // go-redis sends no SELECT
	case !rule.passes():
		e.add(true, "DB", "0", "every connection fails with its SELECT: %s", rule.Why)
	case !e.p.server:
		e.add(false, "DB", "0, unless this database exists", "SELECT may be refused, and with it every connection: %s", rule.Why)
	}
	if rule := e.p.Rule("CLIENT SETNAME"); e.o.ClientName != "" && !rule.passes() {
		e.add(true, "ClientName", "none", "every connection, and so every command, fails with its CLIENT SETNAME: %s", rule.Why)
	}
}

func (e *explainer) identity() {
	rule := e.p.Rule("CLIENT SETINFO")
	//nolint:staticcheck // the misspelt option still works and is in use
	if e.o.DisableIdentity || e.o.DisableIndentity || rule.passes() {
		return
	}
	if rule.Verdict == Closes {
		e.add(true, "DisableIdentity", "true", "each new connection sends CLIENT SETINFO, and the proxy closes it for that")
		return
	}
	e.add(false, "DisableIdentity", "true", "each new connection sends two CLIENT SETINFO, which are refused")
}

func (e *explainer) commands() {
	if auto := e.o.AutoPipelineOptions; auto != nil && auto.FullDuplex {
		e.add(true, "AutoPipelineOptions", "FullDuplex false",
			"a command is on its way before hooks see it: Hook cannot refuse it alone, and other callers' commands fail along with it, executed or not")
	}
	if e.o.MaxRetries >= 0 {
		retries := e.o.MaxRetries
		if retries == 0 {
			retries = 3
		}
		e.add(false, "MaxRetries", "-1",
			"if the reply to a script is late or lost, the client sends it up to %d times, and each may be executed", retries+1)
	}
	if e.o.ReadTimeout < 0 {
		e.add(false, "ReadTimeout", "more than the longest stall while slots move, such as 5s",
			"an answer that never comes is waited for without end")
	}
}

func (e *explainer) pool() {
	idle := e.o.ConnMaxIdleTime
	if idle == 0 {
		idle = 30 * time.Minute
	}
	if limit := e.p.idle; limit > 0 && (idle < 0 || idle >= limit) {
		e.add(false, "ConnMaxIdleTime", (limit * 4 / 5).String(),
			"the proxy closes a connection that was idle for %v, and the next command on it fails", limit)
	}
	size, pipelines := e.o.PoolSize, e.o.PipelinePoolSize
	if size == 0 {
		size = 10 * runtime.GOMAXPROCS(0)
	}
	if pipelines == 0 {
		pipelines = 10
	}
	if limit := e.p.clients; limit > 0 && (size+max(pipelines, 0))*wantProcesses > limit {
		e.add(false, "PoolSize", fmt.Sprintf("%d or less", max(1, limit/wantProcesses-max(pipelines, 0))),
			"the proxy accepts %d clients in all, enough for %d processes with %d connections each",
			limit, limit/(size+max(pipelines, 0)), size+max(pipelines, 0))
	}
}

// wantProcesses is the number of processes that should be able to fill their pools at the same time.
const wantProcesses = 10
