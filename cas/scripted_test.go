package cas_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/rmw"
)

// scripted is a server that says what the test wants to hear.
type scripted struct {
	sent    []string // the commands of the Store, in order
	replies func(command string, args []string) string
}

// Dial fits redis.Options.
func (s *scripted) Dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	go func() {
		defer server.Close()
		br := bufio.NewReader(server)
		var out []byte
		for {
			args, err := resp.ReadCommand(br, resp.Limits{})
			if err != nil {
				return
			}
			out = append(out, s.reply(args)...)
			if br.Buffered() > 0 {
				continue // a pipe has no room: the client does not read yet
			}
			if _, err := server.Write(out); err != nil {
				return
			}
			out = nil
		}
	}()
	return client, nil
}

func (s *scripted) reply(args []string) string {
	command := strings.ToUpper(args[0])
	if command == "HELLO" || command == "CLIENT" {
		return "-ERR unknown command '" + args[0] + "'\r\n"
	}
	s.sent = append(s.sent, command)
	if r := s.replies(command, args); r != "" {
		return r
	}
	if command == "GET" {
		return "$1\r\nx\r\n"
	}
	return "+OK\r\n"
}

// open returns a Store that talks to s, and what closes it.
func (s *scripted) open(cfg cas.Config) (*cas.Store, func()) {
	rdb := redis.NewClient(&redis.Options{Addr: "192.0.2.1:6379", Protocol: 2, Dialer: s.Dial, PoolSize: poolSize})
	store := cas.New(rdb, cfg)
	return store, func() { _, _ = store.Close(), rdb.Close() }
}

// Some forks refuse the SET when it is queued.
func TestAServerThatRefusesKeepTTLWhenItIsQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := false
		s := &scripted{replies: func(command string, args []string) string {
			switch command {
			case "SET":
				refused = true
				return "-ERR syntax error\r\n"
			case "EVAL":
				refused = false
				return "+QUEUED\r\n"
			case "EXEC":
				if refused {
					return "-EXECABORT Transaction discarded because of previous errors.\r\n"
				}
				return "*1\r\n+OK\r\n"
			}
			return ""
		}}
		store, end := s.open(cas.Config{})
		defer end()
		res, err := store.Update(t.Context(), rmw.Key{Name: "k"}, appendText("y"))
		require.NoError(t, err)
		assert.True(t, res.Written)
	})
}

// What an EXEC may answer, and what it means.
func TestAnswersOfExec(t *testing.T) {
	const aborted = "-EXECABORT Transaction discarded because of previous errors.\r\n"
	for name, tc := range map[string]struct {
		queued, exec string
		want         error
	}{
		"written":                  {"+QUEUED\r\n", "*1\r\n+OK\r\n", nil},
		"changed (RESP2)":          {"+QUEUED\r\n", "*-1\r\n", rmw.ErrContended},
		"not permitted":            {"-NOPERM this user has no permissions to run the 'set' command\r\n", aborted, rmw.ErrUnsupported},
		"a replica":                {"-READONLY You can't write against a read only replica.\r\n", aborted, rmw.ErrUnavailable},
		"out of memory":            {"-OOM command not allowed when used memory > 'maxmemory'.\r\n", aborted, rmw.ErrUnavailable},
		"permission withdrawn":     {"+QUEUED\r\n", "*1\r\n-NOPERM ACLs rules changed\r\n", rmw.ErrUnsupported},
		"refused for want of disk": {"+QUEUED\r\n", "-MISCONF Errors writing to the AOF file\r\n", rmw.ErrUnavailable},
		"something unheard of":     {"+QUEUED\r\n", "-WHAT is this\r\n", rmw.ErrOutcomeUnknown},
		"nonsense":                 {"+QUEUED\r\n", "$2\r\nhi\r\n", rmw.ErrOutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{replies: func(command string, _ []string) string {
					switch command {
					case "SET":
						return tc.queued
					case "EXEC":
						return tc.exec
					}
					return ""
				}}
				store, end := s.open(cas.Config{MaxAttempts: 1})
				defer end()
				_, err := store.Update(t.Context(), rmw.Key{Name: "k"}, appendText("y"))
				if tc.want == nil {
					require.NoError(t, err)
					return
				}
				require.ErrorIs(t, err, tc.want)
				if !errors.Is(tc.want, rmw.ErrOutcomeUnknown) {
					require.NotErrorIs(t, err, rmw.ErrOutcomeUnknown)
				}
			})
		})
	}
}

// A transaction goes on after a command that failed: what the others wrote is
// written.
func TestATransactionThatRanInPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{replies: func(command string, _ []string) string {
			switch command {
			case "HGETALL":
				return "*4\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$1\r\n2\r\n"
			case "HMSET", "HDEL":
				return "+QUEUED\r\n"
			case "EXEC":
				return "*2\r\n+OK\r\n-NOPERM ACLs rules changed\r\n"
			}
			return ""
		}}
		store, end := s.open(cas.Config{})
		defer end()
		key := rmw.Key{Name: "k", Kind: rmw.KindHash}
		_, err := store.Update(t.Context(), key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			return cur.With("a", "x").Without("b"), nil
		})
		require.ErrorIs(t, err, rmw.ErrOutcomeUnknown)
	})
}
