package cas

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/rmw"
)

// fieldExpiry tells whether the server has expiries of the fields of a hash: Redis since 7.4, Valkey since 9. There, EXEC
// does not notice a field that has expired and is not yet deleted, so that a script compares the number of fields.
type fieldExpiry struct{ known, expire atomic.Bool }

// ask sends a command that only such a server knows.
func (f *fieldExpiry) ask(ctx context.Context, tx *redis.Tx, name string) error {
	cmd := &redisx.Command{Cmd: redis.NewCmd(ctx, "hpexpiretime", name, "FIELDS", 1, "f")}
	err := tx.Process(ctx, cmd)
	switch {
	case err == nil || errors.Is(err, redis.Nil) || redisx.MeaningOf(err) == resp.Forbidden || redisx.IsWrongType(err):
		f.expire.Store(true)
	case !errors.Is(redisx.Reason(err), rmw.ErrUnsupported):
		return err
	}
	f.known.Store(true)
	return nil
}
