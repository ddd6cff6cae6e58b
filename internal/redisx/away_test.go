package redisx_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

func TestIsAway(t *testing.T) {
	for _, err := range []error{
		reply("LOADING Redis is loading the dataset in memory"), reply("ERR handle response, backend conn reset"),
		reply("ERR router is not online"), reply("ERR Connection refused"), reply("ERR max number of clients reached"),
		reply("READONLY You can't write against a read only replica."),
		io.EOF, redis.ErrPoolTimeout, net.ErrClosed, context.DeadlineExceeded,
		&net.OpError{Op: "dial", Err: errors.New("refused")}, fmt.Errorf("in a wrap: %w", io.ErrUnexpectedEOF),
	} {
		assert.True(t, redisx.IsAway(err), err)
	}
	for _, err := range []error{
		nil, redis.Nil, redis.ErrClosed, rmw.ErrUnsupported, reply("ERR unknown command"), reply("WRONGTYPE Operation"), reply("NOAUTH"),
		reply("OOM command not allowed when used memory > 'maxmemory'."), reply("MISCONF Redis is configured to save"), context.Canceled,
		reply("ERR Error running script (call to f_0): @user_script:1: user_script:1: attempt to index"), errors.New("another"),
	} {
		assert.False(t, redisx.IsAway(err), err)
	}
}
