package cas_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/rmw"
)

// scripted is a server with given replies to each command. The last reply is repeated.
type scripted map[string][]string

// Dial fits redis.Options.
func (s scripted) Dial(context.Context, string, string) (net.Conn, error) {
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

func (s scripted) reply(args []string) string {
	command := strings.ToUpper(args[0])
	if command == "HELLO" || command == "CLIENT" || command == "HPEXPIRETIME" {
		return "-ERR unknown command '" + args[0] + "'\r\n"
	}
	if replies := s[command]; len(replies) > 0 {
		s[command] = replies[min(1, len(replies)-1):]
		return replies[0]
	}
	if command == "GET" {
		return "$1\r\nx\r\n"
	}
	return "+OK\r\n"
}

// test returns a test of a Store that talks to s.
func (s scripted) test(cfg cas.Config, test func(t *testing.T, s *cas.Store)) func(t *testing.T) {
	return func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			rdb := redis.NewClient(&redis.Options{Addr: "192.0.2.1:6379", Protocol: 2, Dialer: s.Dial, PoolSize: poolSize})
			defer rdb.Close()
			store := cas.New(rdb, cfg)
			defer store.Close()
			test(t, store)
		})
	}
}

const (
	queued  = "+QUEUED\r\n"
	noPerm  = "-NOPERM this user has no permissions to run the command\r\n"
	aborted = "-EXECABORT Transaction discarded because of previous errors.\r\n"
)

// Each reply to EXEC has its own result. A server executes the commands of a transaction that follow a failed one.
func TestAnswersOfExec(t *testing.T) {
	const hash = "*4\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$1\r\n2\r\n"
	text := func(set string, exec ...string) scripted { return scripted{"SET": {set}, "EXEC": exec} }
	for name, tc := range map[string]struct {
		server scripted
		want   error
	}{
		"written":                  {text(queued, "*1\r\n+OK\r\n"), nil},
		"changed (RESP2)":          {text(queued, "*-1\r\n"), rmw.ErrContended},
		"not permitted":            {text(noPerm, aborted), rmw.ErrUnsupported},
		"a replica":                {text("-READONLY You can't write against a read only replica.\r\n", aborted), rmw.ErrUnavailable},
		"out of memory":            {text("-OOM command not allowed when used memory > 'maxmemory'.\r\n", aborted), rmw.ErrUnavailable},
		"permission withdrawn":     {text(queued, "*1\r\n"+noPerm), rmw.ErrUnsupported},
		"refused for want of disk": {text(queued, "-MISCONF Errors writing to the AOF file\r\n"), rmw.ErrUnavailable},
		"nonsense":                 {text(queued, "$2\r\nhi\r\n"), rmw.ErrOutcomeUnknown},
		"ran in part": {scripted{
			"HGETALL": {hash}, "HMSET": {queued}, "HDEL": {queued}, "EXEC": {"*2\r\n+OK\r\n" + noPerm},
		}, rmw.ErrOutcomeUnknown},
	} {
		t.Run(name, tc.server.test(cas.Config{MaxAttempts: 1}, func(t *testing.T, s *cas.Store) {
			key := key
			if tc.server["HGETALL"] != nil {
				key.Kind = rmw.KindHash
			}
			_, err := s.Update(t.Context(), key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
				if cur.Kind() == rmw.KindHash {
					return cur.With("a", "x").Without("b"), nil
				}
				return rmw.String("y"), nil
			})
			if tc.want == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, tc.want)
			assert.Equal(t, errors.Is(tc.want, rmw.ErrOutcomeUnknown), errors.Is(err, rmw.ErrOutcomeUnknown))
		}))
	}
}

// Some forks refuse the SET when it is queued. The script is sent instead.
func TestKeepTTLRefusedWhenQueued(t *testing.T) {
	const again = "-ERR unexpected\r\n"
	server := scripted{"SET": {"-ERR syntax error\r\n", again}, "EVAL": {queued, again}, "EXEC": {aborted, "*1\r\n+OK\r\n", again}}
	server.test(cas.Config{}, func(t *testing.T, s *cas.Store) {
		res, err := s.Update(t.Context(), key, appendText("y"))
		require.NoError(t, err)
		assert.True(t, res.Written)
		for command, left := range server {
			assert.Equal(t, []string{again}, left, "replies left to %s", command)
		}
	})(t)
}

// A refused transaction says why, and not only that it was refused; and replies that do
// not fit each other are not believed.
func TestAnswersOfAPeek(t *testing.T) {
	for name, tc := range map[string]struct {
		pttl, get, exec string
		want            error
	}{
		"fine":               {queued, queued, "*2\r\n:5\r\n$1\r\nx\r\n", nil},
		"PTTL not permitted": {noPerm, queued, aborted, rmw.ErrUnsupported},
		"GET not permitted":  {queued, noPerm, aborted, rmw.ErrUnsupported},
		"withdrawn":          {queued, queued, "*2\r\n" + noPerm + "$1\r\nx\r\n", rmw.ErrUnsupported},
		"another type":       {queued, queued, "*2\r\n:5\r\n-WRONGTYPE Operation against a key\r\n", rmw.ErrWrongKind},
		"loading":            {queued, queued, "-LOADING Redis is loading the dataset in memory\r\n", rmw.ErrUnavailable},
		"value, but no key":  {queued, queued, "*2\r\n:-2\r\n$1\r\nx\r\n", rmw.ErrUnavailable},
		"nil":                {queued, queued, "*-1\r\n", rmw.ErrUnavailable},
		"nonsense":           {queued, queued, "$2\r\nhi\r\n", rmw.ErrUnavailable},
	} {
		server := scripted{"PTTL": {tc.pttl}, "GET": {tc.get}, "EXEC": {tc.exec}}
		t.Run(name, server.test(cas.Config{}, func(t *testing.T, s *cas.Store) {
			v, left, err := s.Peek(t.Context(), key)
			if tc.want == nil {
				require.NoError(t, err)
				assert.Equal(t, "x", v.Text())
				assert.Equal(t, 5*time.Millisecond, left)
				return
			}
			require.ErrorIs(t, err, tc.want)
			assert.False(t, v.Exists())
			assert.Zero(t, left)
		}))
	}
}
