package redisx

import (
	"errors"
	"fmt"
	"net"

	"github.com/redis/go-redis/v9"
)

// FailedWrite marks the error of a flush as [ErrNotSent], if it proves that the last command of the flush
// was not executed: the write failed, so the server never gets the end of that command. It returns nil
// for other errors. The commands before the last one may have been executed.
func FailedWrite(err error) error {
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "write" {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrNotSent, err)
}

// FlushesAlone reports whether a client sends the commands of one call in a flush of their own. Another
// client may put commands of other callers behind them, as an AutoPipeliner does: then a failed write
// tells nothing about them.
func FlushesAlone(client any) bool {
	switch client.(type) {
	case *redis.Client, *redis.ClusterClient:
		return true
	}
	return false
}
