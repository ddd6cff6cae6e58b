package main

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Processes stop at each command of a post. A Transact stores both keys or none, once.
func TestPosts(t *testing.T) {
	t.Parallel()
	cfg := small(t, "codis", "C")
	cfg.prefix = "test:"
	code, out, errs := played(t, context.Background(), cfg)
	require.Equal(t, exitOK, code, out+errs)
	assert.Regexp(t, `two Updates +killed +last=hello +posts=1 +at command 1: no key\n`+
		` +killed +last=world +posts=1 +at command [0-9]+: ONE KEY\n`, out)
	assert.Regexp(t, `Transact +killed +last=hello +posts=1 +at command 1: no key\n`+
		` +killed +last=world +posts=2 +at command 3: both keys\n`+
		` +retried +last=world +posts=2 +one post, counted once\n +12 stopped: 0 posts seen half, 0 lost, 0 doubled\n`, out)
	assert.Regexp(t, `C  post, Transact, stopped +30 +0 +0   kept`, out)
	assert.Contains(t, unwrapped(out), "processes stopped in the middle of a Transact: no post was seen half, lost or counted twice.")
}

// Negative control: two Updates are seen half and counted twice, and reported as broken promises.
func TestPostsInTwoUpdates(t *testing.T) {
	t.Parallel()
	r, _ := opened(t, small(t, "codis", ""))
	x, err := r.stopPosts(t.Context(), postHelpers[0])
	require.NoError(t, err)
	assert.NotZero(t, x.half)
	for i, how := range []string{"killed", "stalled"} {
		half := 0
		for _, p := range x.all[i*8 : (i+1)*8] {
			if p.half() {
				half++
			}
		}
		assert.NotZero(t, half, how)
	}
	assert.NotZero(t, x.doubled)
	assert.Zero(t, x.lost)
	r.judgePosts(&x)
	assert.Equal(t, "BROKEN", x.row.verdict)
	assert.Len(t, r.broken, 2)
}

// A process stops at its second command with the prefix, between those of a pipeline, and goes on at the end.
func TestCut(t *testing.T) {
	for name, tt := range map[string]struct {
		kills bool
		sent  int // before the end
		lost  error
	}{"killed": {true, 3, errKilled}, "stalled": {false, 2, nil}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &cut{at: 2, prefix: "p:", kills: tt.kills, happened: make(chan struct{}), over: make(chan struct{})}
				var sent []string
				pipeline := c.ProcessPipelineHook(func(_ context.Context, cmds []redis.Cmder) error {
					for _, cmd := range cmds {
						sent = append(sent, commandOf(cmd).key)
					}
					return nil
				})
				all, done := []string{"p:a", "index", "p:b", "p:c"}, make(chan error, 1)
				flush := cmds([]any{"get", "p:a"}, []any{"get", "index"}, []any{"get", "p:b"}, []any{"get", "p:c"})
				go func() { done <- pipeline(t.Context(), flush) }()
				<-c.happened
				synctest.Wait()
				require.Equal(t, all[:tt.sent], sent)
				close(c.over)
				require.Equal(t, tt.lost, <-done)
				require.Equal(t, tt.lost, flush[2].Err())
				require.Equal(t, all, sent)
				require.NoError(t, pipeline(t.Context(), flush[:1]))
			})
		})
	}
}
