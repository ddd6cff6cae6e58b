package redisx

import (
	"errors"
	"io"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/rmw"
)

// IsAway reports whether err means that a server or a proxy could not be reached, or cannot serve now, as while it
// restarts. It says nothing of the command, which may have run. A full memory or disk does not pass by itself.
func IsAway(err error) bool {
	var reply redis.Error
	var broken net.Error
	switch {
	case err == nil, errors.Is(err, rmw.ErrUnsupported), errors.Is(err, redis.Nil):
		return false
	case errors.As(err, &reply):
		m := resp.MeaningOf(reply.Error())
		return m.Temporary() && m != resp.NoSpace
	case errors.As(err, &broken):
		return true
	}
	for _, cause := range []error{
		io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed, redis.ErrPoolTimeout, redis.ErrPoolExhausted,
	} {
		if errors.Is(err, cause) {
			return true
		}
	}
	// go-redis does not export these errors of clients that look for a server.
	return strings.Contains(err.Error(), "redis: all sentinels") || strings.Contains(err.Error(), "redis: cluster has no nodes")
}
