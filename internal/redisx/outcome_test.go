package redisx_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// reply is an error reply, as go-redis returns one without a specific type.
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

var (
	refusedDial = &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	brokenRead  = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	brokenWrite = &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.EPIPE)}
)

// slowDial returns the error of a dial that exceeds the client's limit. It does not dial.
func slowDial(t *testing.T) error {
	t.Helper()
	_, err := (&net.Dialer{Timeout: 1}).Dial("tcp", "127.0.0.1:1")
	require.Error(t, err)
	return err
}

// judgement is the classification of an error.
type judgement struct {
	err     error
	outcome redisx.Outcome
	reason  error // of a command that did not run, or only read; not checked if Done
}

func replies() []judgement {
	return []judgement{
		// Redis
		{reply("NOSCRIPT No matching script. Please use EVAL."), redisx.NotDone, rmw.ErrUnavailable},
		{reply("NOAUTH Authentication required."), redisx.NotDone, rmw.ErrUnsupported},
		{reply("WRONGPASS invalid username-password pair or user is disabled."), redisx.NotDone, rmw.ErrUnsupported},
		{reply("NOPERM this user has no permissions to run the 'watch' command"), redisx.NotDone, rmw.ErrUnsupported},
		{reply("WRONGTYPE Operation against a key holding the wrong kind of value"), redisx.NotDone, rmw.ErrWrongKind},
		{reply("LOADING Redis is loading the dataset in memory"), redisx.NotDone, rmw.ErrUnavailable},
		{reply("READONLY You can't write against a read only replica."), redisx.NotDone, rmw.ErrUnavailable},
		{reply("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."), redisx.NotDone, rmw.ErrUnavailable},
		{reply("CLUSTERDOWN The cluster is down"), redisx.NotDone, rmw.ErrUnavailable},
		{reply("TRYAGAIN Multiple keys request during rehashing of slot"), redisx.NotDone, rmw.ErrUnavailable},
		{reply("MOVED 3999 192.0.2.1:6381"), redisx.NotDone, rmw.ErrUnavailable},
		{reply("ASK 3999 192.0.2.1:6381"), redisx.NotDone, rmw.ErrUnavailable},
		{reply("CROSSSLOT Keys in request don't hash to the same slot"), redisx.NotDone, rmw.ErrUnsupported},
		{reply("BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."), redisx.NotDone, rmw.ErrUnavailable},
		{reply("OOM command not allowed when used memory > 'maxmemory'."), redisx.NotDone, rmw.ErrUnavailable},
		{reply("MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk."), redisx.NotDone, rmw.ErrUnavailable},
		{reply("NOREPLICAS Not enough good replicas to write."), redisx.NotDone, rmw.ErrUnavailable},
		{reply("EXECABORT Transaction discarded because of previous errors."), redisx.NotDone, rmw.ErrUnavailable},
		{reply("EXECABORT Transaction discarded because of: NOPERM this user has no permissions to run the 'exec' command"), redisx.NotDone, rmw.ErrUnsupported},
		{reply("ERR max number of clients reached"), redisx.NotDone, rmw.ErrUnavailable},
		{reply("ERR unknown command 'WATCH', with args beginning with: 'k' "), redisx.NotDone, rmw.ErrUnsupported},
		{reply("ERR unknown command `watch`, with args beginning with: `k`, "), redisx.NotDone, rmw.ErrUnsupported},
		{reply("ERR unknown subcommand 'SETINFO'."), redisx.NotDone, rmw.ErrUnsupported},
		{reply("ERR wrong number of arguments for 'hset' command"), redisx.NotDone, rmw.ErrUnsupported},
		{reply("ERR syntax error"), redisx.NotDone, rmw.ErrUnsupported},
		// Redis, inside a script, which may have written before
		{reply("ERR Error running script (call to f_1): @user_script:1: boom"), redisx.Unknown, rmw.ErrUnavailable},
		{reply("WRONGTYPE Operation against a key holding the wrong kind of value script: 1, on @user_script:1."), redisx.Unknown, rmw.ErrWrongKind},
		{reply("ERR unknown command 'x' script: 1, on @user_script:1."), redisx.Unknown, rmw.ErrUnsupported},
		{reply("OOM command not allowed when used memory > 'maxmemory'. script: 1, on @user_script:1."), redisx.NotDone, rmw.ErrUnavailable},
		{reply("READONLY You can't write against a read only replica. script: 1, on @user_script:1."), redisx.NotDone, rmw.ErrUnavailable},
		{reply("ERR ACL failure in script: User u has no permissions to run the 'set' command script: 1, on @user_script:1."), redisx.Unknown, rmw.ErrUnsupported},
		{reply("ERR The user executing the script can't run this command or subcommand script: 1, on @user_script:1."), redisx.Unknown, rmw.ErrUnsupported},
		{reply("ERR Error running script (call to f_1): @user_script:9: @user_script: 9: The user executing the script can't run this command or subcommand "), redisx.Unknown, rmw.ErrUnsupported},
		{reply("ERR Error running script (call to f_1): @user_script:9: WRONGTYPE Operation against a key holding the wrong kind of value "), redisx.Unknown, rmw.ErrWrongKind},
		{reply("ERR Error running script (call to f_1): @user_script: 9: Wrong number of args calling Redis command From Lua script "), redisx.Unknown, rmw.ErrUnavailable},
		{reply("ERR user_script:9: after a write: READONLY You can't write script: 1, on @user_script:9."), redisx.Unknown, rmw.ErrUnavailable},
		{reply("ERR Error running script (call to f_1): @user_script:9: @user_script:9: after a write: @user_script: 9: -OOM x"), redisx.Unknown, rmw.ErrUnavailable},
		{reply("BUSY a module says so script: 1, on @user_script:1."), redisx.Unknown, rmw.ErrUnavailable},
		{reply("ERR x @user_script in a text of another form"), redisx.Unknown, rmw.ErrUnavailable},
		// uncaught, with the state of the server as the cause: Redis 3.2 to 6.2, then 7.0 to 8
		{reply("ERR Error running script (call to f_1): @user_script:1: @user_script: 1: -OOM command not allowed when used memory > 'maxmemory'.  "), redisx.NotDone, rmw.ErrUnavailable},
		{reply("ERR Error running script (call to f_1): @user_script:1: @user_script: 1: -READONLY You can't write against a read only slave.  "), redisx.NotDone, rmw.ErrUnavailable},
		{reply("ERR Error running script (call to f_1): @user_script:1: @user_script: 1: -MISCONF Redis is configured to save RDB snapshots, but is currently not able to persist on disk.  "), redisx.NotDone, rmw.ErrUnavailable},
		{reply("ERR Error running script (call to f_1): @user_script:1: @user_script: 1: -NOREPLICAS Not enough good replicas to write.  "), redisx.NotDone, rmw.ErrUnavailable},
		{reply("NOREPLICAS Not enough good replicas to write. script: 1, on @user_script:1."), redisx.NotDone, rmw.ErrUnavailable},
		{reply("ERR Can not execute the command on a stale replica script: 1, on @user_script:1."), redisx.NotDone, rmw.ErrUnavailable},
		{reply("READONLY You can't write against a read only replica. script: 1, on user_script:1."), redisx.NotDone, rmw.ErrUnavailable},
		// returned by a script that has written nothing: Redis 3.2 to 6.2, then 7.0 to 8
		{reply("@user_script: 93: -READONLY You can't write against a read only slave.  "), redisx.NotDone, rmw.ErrUnavailable},
		{reply("@user_script: 93: -OOM command not allowed when used memory > 'maxmemory'.  "), redisx.NotDone, rmw.ErrUnavailable},
		{reply("@user_script: 93: The user executing the script can't run this command or subcommand"), redisx.NotDone, rmw.ErrUnsupported},
		{reply("@user_script: 93: Unknown Redis command called from Lua script"), redisx.NotDone, rmw.ErrUnsupported},
		{reply("ERR The user executing the script can't run this command or subcommand"), redisx.NotDone, rmw.ErrUnsupported},
		{reply("ERR ACL failure in script: User u has no permissions to run the 'set' command"), redisx.NotDone, rmw.ErrUnsupported},
		{reply("ERR Unknown Redis command called from script"), redisx.NotDone, rmw.ErrUnsupported},
		{reply("ERR Can not execute the command on a stale replica"), redisx.NotDone, rmw.ErrUnavailable},
		// to a connection
		{reply("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?"), redisx.NotDone, rmw.ErrUnsupported},
		{reply("ERR Client sent AUTH, but no password is set"), redisx.NotDone, rmw.ErrUnsupported},
		{reply("ERR invalid password"), redisx.NotDone, rmw.ErrUnsupported},
		{reply("ERR DB index is out of range"), redisx.NotDone, rmw.ErrUnsupported},
		{reply("DENIED Redis is running in protected mode because protected mode is enabled"), redisx.NotDone, rmw.ErrUnsupported},
		{reply("EXECABORT Transaction discarded because of: READONLY You can't write against a read only replica."), redisx.NotDone, rmw.ErrUnavailable},
		{reply("EXECABORT Transaction discarded because of: an error of a module"), redisx.NotDone, rmw.ErrUnavailable},
		{reply("ERR Protocol error: unbalanced quotes in request"), redisx.Unknown, rmw.ErrUnavailable},
		{reply("UNKILLABLE Sorry the script already executed write commands"), redisx.Unknown, rmw.ErrUnavailable},

		// Codis
		{reply("ERR handle request, command 'WATCH' is not allowed"), redisx.NotDone, rmw.ErrUnsupported},
		{reply("ERR command 'watch' not support"), redisx.NotDone, rmw.ErrUnsupported},
		{reply("unsupported command 'watch'"), redisx.NotDone, rmw.ErrUnsupported},
		{reply("ERR forbid transaction in current server pool"), redisx.NotDone, rmw.ErrUnsupported},
		{reply("ERR handle request, slot is not ready, may be offline"), redisx.NotDone, rmw.ErrUnavailable},
		{reply("ERR handle request, bad slotsmgrt resp: should be integer"), redisx.NotDone, rmw.ErrUnavailable},
		{reply("ERR router is not online"), redisx.NotDone, rmw.ErrUnavailable},
		{reply("ERR unknown command 'hello'"), redisx.NotDone, rmw.ErrUnsupported},
		{reply("ERR handle request, backend conn reset"), redisx.Unknown, rmw.ErrUnavailable},
		{reply("ERR handle request, backend conn failure, EOF"), redisx.Unknown, rmw.ErrUnavailable},
		{reply("ERR handle response, backend conn failure, EOF"), redisx.Unknown, rmw.ErrUnavailable},
		{reply("ERR handle response, backend conn reset"), redisx.Unknown, rmw.ErrUnavailable},
		{reply("ERR handle request, command 'X' is broken"), redisx.NotDone, rmw.ErrUnavailable},
		{reply("ERR backend server 'x' not found"), redisx.Unknown, rmw.ErrUnavailable},

		// twemproxy: it has few error texts, and closes the connection instead of refusing
		{reply("ERR Connection timed out"), redisx.Unknown, rmw.ErrUnavailable},

		// Texts that only resemble those above.
		{reply("MOVEDAWAY"), redisx.Unknown, rmw.ErrUnavailable},
		{reply("ERR the key is BUSY "), redisx.Unknown, rmw.ErrUnavailable},
		{reply(""), redisx.Unknown, rmw.ErrUnavailable},
	}
}

func others(t *testing.T) []judgement {
	return []judgement{
		{nil, redisx.Done, nil},
		{redis.Nil, redisx.Done, nil},
		// errors of go-redis itself
		{redis.ErrClosed, redisx.NotDone, rmw.ErrClosed},
		{redis.ErrPoolTimeout, redisx.NotDone, rmw.ErrUnavailable},
		{redis.ErrPoolExhausted, redisx.NotDone, rmw.ErrUnavailable},
		{refusedDial, redisx.NotDone, rmw.ErrUnavailable},
		{redisx.Because(rmw.ErrUnavailable, redisx.ErrNotSent), redisx.NotDone, rmw.ErrUnavailable},
		{&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "redis"}}, redisx.NotDone, rmw.ErrUnavailable},
		{slowDial(t), redisx.NotDone, nil}, // Blame returns the reason
		{brokenRead, redisx.Unknown, rmw.ErrUnavailable},
		{brokenWrite, redisx.Unknown, rmw.ErrUnavailable},
		{&net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}, redisx.Unknown, rmw.ErrUnavailable},
		{os.ErrDeadlineExceeded, redisx.Unknown, rmw.ErrUnavailable},
		{io.EOF, redisx.Unknown, rmw.ErrUnavailable},
		{io.ErrUnexpectedEOF, redisx.Unknown, rmw.ErrUnavailable},
		{io.ErrClosedPipe, redisx.Unknown, rmw.ErrUnavailable},
		{errors.New(`redis: expected '*', but got line "$1"`), redisx.Unknown, rmw.ErrUnavailable},
		{errors.New("NOSCRIPT, but not from a server"), redisx.Unknown, rmw.ErrUnavailable},
		{context.Canceled, redisx.Unknown, nil},
		{context.DeadlineExceeded, redisx.Unknown, nil},
		// errors of this module
		{rmw.ErrUnsupported, redisx.NotDone, rmw.ErrUnsupported},
		{rmw.ErrWrongKind, redisx.NotDone, rmw.ErrUnavailable}, // Fail keeps it
	}
}

func TestErrorsAreJudged(t *testing.T) {
	for _, j := range append(replies(), others(t)...) {
		forms := []error{j.err}
		if j.err != nil {
			forms = append(forms, fmt.Errorf("hook: %w", j.err), fmt.Errorf("a: %w", fmt.Errorf("b: %w", j.err)))
		}
		for _, err := range forms {
			assert.Equal(t, j.outcome, redisx.OutcomeOf(err), "outcome of %v", err)
			if j.outcome != redisx.Done {
				assert.Equal(t, j.reason, redisx.Reason(err), "reason of %v", err)
			}
		}
	}
}

// The same texts, parsed by go-redis, which has specific types for some.
func TestOutcomeOfRepliesParsedByGoRedis(t *testing.T) {
	for _, j := range replies() {
		if j.err.Error() == "" {
			continue
		}
		client, server := net.Pipe()
		rdb := redis.NewClient(&redis.Options{
			Addr: "192.0.2.1:1", MaxRetries: -1, Protocol: 2, DisableIdentity: true,
			Dialer: func(context.Context, string, string) (net.Conn, error) { return client, nil },
		})
		go answer(server, "-"+j.err.Error()+"\r\n")
		err := rdb.Do(t.Context(), "watch", "k").Err()
		require.EqualError(t, err, j.err.Error())
		assert.Equal(t, j.outcome, redisx.OutcomeOf(err), "outcome of %v", err)
		assert.Equal(t, j.reason, redisx.Reason(err), "reason of %v", err)
		require.NoError(t, rdb.Close())
	}
}

// answer sends text as the reply to every command but the handshake.
func answer(conn net.Conn, text string) {
	buf := make([]byte, 4096)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return
		}
		out := "-ERR unknown command 'hello'\r\n"
		if string(buf[:min(n, 12)]) == "*2\r\n$5\r\nwatc" {
			out = text
		}
		if _, err := io.WriteString(conn, out); err != nil {
			return
		}
	}
}

func TestIsNoScript(t *testing.T) {
	assert.True(t, redisx.IsNoScript(reply("NOSCRIPT No matching script. Please use EVAL.")))
	assert.True(t, redisx.IsNoScript(fmt.Errorf("hook: %w", reply("ERR NOSCRIPT some backends say it so"))))
	assert.False(t, redisx.IsNoScript(errors.New("NOSCRIPT")))
	assert.False(t, redisx.IsNoScript(reply("ERR handle response, backend conn reset")))
	assert.False(t, redisx.IsNoScript(nil))
}

func TestFailGivesOneReasonAndTheCause(t *testing.T) {
	wrapped := fmt.Errorf("%w: 3 conflicts", rmw.ErrContended)
	for name, tc := range map[string]struct{ err, reason, cause error }{
		"ours":             {redisx.Because(rmw.ErrOutcomeUnknown, io.EOF), rmw.ErrOutcomeUnknown, io.EOF},
		"ours, and a ctx":  {redisx.Because(rmw.ErrContended, context.Canceled), rmw.ErrContended, context.Canceled},
		"ours, wrapped":    {fmt.Errorf("x: %w", redisx.Because(rmw.ErrLockLost, io.EOF)), rmw.ErrLockLost, io.EOF},
		"named":            {rmw.ErrClosed, rmw.ErrClosed, nil},
		"named, with text": {wrapped, wrapped, nil},
		"invalid":          {rmw.ErrInvalid, rmw.ErrInvalid, nil},
		"wrong kind":       {rmw.ErrWrongKind, rmw.ErrWrongKind, nil},
		"ctx":              {context.Canceled, nil, context.Canceled},
		"abandoned":        {&redisx.Abandoned{Cause: context.DeadlineExceeded}, nil, &redisx.Abandoned{Cause: context.DeadlineExceeded}},
		"network":          {brokenRead, rmw.ErrUnavailable, brokenRead},
		"refused":          {reply("NOPERM no"), rmw.ErrUnsupported, reply("NOPERM no")},
	} {
		assert.Equal(t, &rmw.Error{Path: "cas", Op: "read", Key: "k", Attempts: 2, Reason: tc.reason, Cause: tc.cause},
			redisx.Fail("cas", "read", rmw.Key{Name: "k"}, 2, tc.err), name)
	}
}

// net reports a dial that exceeds the client's limit as context.DeadlineExceeded, but no ctx has ended: the
// caller may retry.
func TestBlameSeparatesClientTimeoutFromCallersCtx(t *testing.T) {
	slow := slowDial(t)
	require.ErrorIs(t, slow, context.DeadlineExceeded, "else all this is for nothing")

	err := redisx.Fail("cas", "read", rmw.Key{Name: "k"}, 0, redisx.Blame(t.Context(), slow))
	require.ErrorIs(t, err, rmw.ErrUnavailable)
	require.NotErrorIs(t, err, context.DeadlineExceeded)
	assert.True(t, rmw.Retryable(err))
	assert.ErrorContains(t, err, slow.Error())
	require.ErrorAs(t, err, new(*net.OpError), "the cause can still be looked at")

	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	past, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	for _, ctx := range []context.Context{canceled, past} {
		assert.Equal(t, slow, redisx.Blame(ctx, slow), "that may have been the ctx")
	}
	for _, other := range []error{nil, io.EOF, refusedDial, redisx.Because(rmw.ErrOutcomeUnknown, slow)} {
		assert.Equal(t, other, redisx.Blame(t.Context(), other))
	}
}

// Only a failed write proves that a command was not sent.
func TestNotSent(t *testing.T) {
	require.ErrorIs(t, redisx.FailedWrite(brokenWrite), redisx.ErrNotSent)
	require.ErrorIs(t, redisx.FailedWrite(fmt.Errorf("hook: %w", brokenWrite)), brokenWrite)
	for _, err := range []error{nil, io.EOF, io.ErrClosedPipe, net.ErrClosed, brokenRead, context.Canceled, reply("ERR write")} {
		assert.NoError(t, redisx.FailedWrite(err), err)
	}
}

// An AutoPipeliner puts commands of several callers into one flush.
func TestFlushesAlone(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: "192.0.2.1:1"})
	auto, err := rdb.AutoPipeline()
	require.NoError(t, err)
	assert.True(t, redisx.FlushesAlone(rdb))
	assert.False(t, redisx.FlushesAlone(auto))
	assert.False(t, redisx.FlushesAlone(struct{ *redis.Client }{rdb}), "a wrapper may batch, too")
	require.NoError(t, errors.Join(auto.Close(), rdb.Close()))
}
