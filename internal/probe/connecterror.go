package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/unwatch/unwatch/internal/resp"
)

// Reason classifies a failure to probe an address.
type Reason string

// The reasons of a [ConnectError].
const (
	BadAddress     Reason = "bad address"      // not HOST:PORT
	UnknownHost    Reason = "unknown host"     // the host has no address
	NotListening   Reason = "not listening"    // the connection was refused
	Unreachable    Reason = "unreachable"      // a network error, or no answer of the network
	NoAnswer       Reason = "no answer"        // the peer accepts connections and sends nothing
	Hangs          Reason = "hangs"            // the peer stopped answering
	WantsTLS       Reason = "wants TLS"        // the peer requires TLS
	WantsPlain     Reason = "wants plain"      // the peer does not support TLS
	BadCertificate Reason = "bad certificate"  // the certificate is not trusted, or a client certificate is required
	NotRedis       Reason = "not Redis"        // another protocol
	HangsUp        Reason = "hangs up"         // the peer closes the connection
	WantsPassword  Reason = "wants a password" // AUTH is required
	BadPassword    Reason = "bad password"     // AUTH failed
	NotReady       Reason = "not ready"        // a Redis that cannot serve now, as while it loads
	NotWritable    Reason = "not writable"     // SET failed, so that nothing else can be tested
	LacksRight     Reason = "lacks a right"    // the user may not SET the probe's keys
)

// ConnectError reports that an address could not be probed, the reason, and the remedy. It never shows a
// key, a value or a password.
type ConnectError struct {
	Addr   string
	Reason Reason
	Err    error // may be nil

	what string
}

func (e *ConnectError) Error() string {
	text := fmt.Sprintf("probe: %q: %s", e.Addr, e.what)
	if advice := e.Reason.Advice(); advice != "" {
		text += "; " + advice
	}
	return text
}

func (e *ConnectError) Unwrap() error { return e.Err }

// Advice returns the remedy, in one sentence.
func (r Reason) Advice() string {
	switch r {
	case BadAddress:
		return "want HOST:PORT, such as codis-proxy:19000 or [::1]:6379"
	case UnknownHost:
		return "check the spelling, and whether this machine sees that name"
	case NotListening:
		return "is it running, and is this its port?"
	case Unreachable:
		return "is there a firewall between, and is this the right network?"
	case NoAnswer:
		return "it may be overloaded, or speak another protocol; try again with more time"
	case Hangs:
		return "it may be overloaded, or delay refused commands; try again with a longer timeout"
	case WantsTLS:
		return "use TLS"
	case WantsPlain:
		return "disable TLS, or use the TLS port"
	case BadCertificate:
		return "give the authority that signed it; and a certificate of your own, if it wants one"
	case NotRedis:
		return "is this the right port?"
	case HangsUp:
		return "it may want TLS, be full, or not accept this address"
	case WantsPassword, BadPassword:
		return "give the password that clients of this address use, and a user name only where there are users"
	case NotReady:
		return "try again when it is"
	case LacksRight:
		return "give the user the right to SET, or a Prefix that this user's keys begin with"
	case NotWritable:
		return "use a master with free memory, and a user that may write"
	}
	return ""
}

// dialError classifies an error of dialling. It contains no secrets, since nothing was sent.
func dialError(addr string, err error, within time.Duration) error {
	e := &ConnectError{Addr: addr, Err: err}
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		e.Reason, e.what = UnknownHost, "there is no such host"
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Reason, e.what = NotListening, "no process listens there"
	case isTimeout(err):
		e.Reason, e.what = Unreachable, fmt.Sprintf("no connection within %v", within)
	default:
		e.Reason, e.what = Unreachable, clean(err.Error())
	}
	return e
}

// handshakeError classifies an error of a TLS handshake.
func handshakeError(addr string, err error, within time.Duration) error {
	e := &ConnectError{Addr: addr, Err: err}
	var record tls.RecordHeaderError
	var verify *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &record):
		e.Reason, e.what = WantsPlain, "it does not speak TLS"
	case errors.As(err, &verify), errors.As(err, &unknown):
		e.Reason, e.what = BadCertificate, "its certificate is not trusted: "+clean(err.Error())
	case isAlert(err):
		e.Reason, e.what = BadCertificate, "it refused the TLS handshake: "+clean(err.Error())
	case isTimeout(err):
		e.Reason, e.what = WantsPlain, fmt.Sprintf("no answer to a TLS handshake within %v", within)
	case resp.IsClosed(err):
		e.Reason, e.what = WantsPlain, "it closed the connection at the TLS handshake"
	default:
		e.Reason, e.what = BadCertificate, "no TLS: "+clean(err.Error())
	}
	return e
}

// greetingError classifies the first bytes of a server that is not a Redis, or that requires TLS or AUTH.
func greetingError(addr string, err error, within time.Duration) *ConnectError {
	e := &ConnectError{Addr: addr, Err: err}
	var foreign *resp.ProtocolError
	isForeign := errors.As(err, &foreign)
	switch {
	case isAlert(err): // with TLS 1.3 a server rejects a missing or invalid certificate only now
		e.Reason, e.what = BadCertificate, "it refused the TLS handshake: "+clean(err.Error())
	case isForeign && strings.HasPrefix(foreign.First, "\x15"): // a TLS alert
		e.Reason, e.what = WantsTLS, "it speaks TLS"
	case isForeign && strings.HasPrefix(foreign.First, "HTTP/"):
		e.Reason, e.what = NotRedis, "it answers as a web server, not as a Redis"
	case isTimeout(err):
		e.Reason, e.what = NoAnswer, fmt.Sprintf("it accepts connections, and does not answer PING within %v", within)
	case resp.IsClosed(err):
		e.Reason, e.what = HangsUp, "it closes the connection without an answer to PING"
	default:
		e.Reason, e.what = NotRedis, "it does not answer as a Redis"
	}
	return e
}

// isAlert reports whether the peer sent a TLS alert. The type of an alert is exported for QUIC only.
func isAlert(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error"
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &n) && n.Timeout()
}
