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

// ask sends a command that only such a server knows. A failure of the connection is that of the reading.
func (f *fieldExpiry) ask(ctx context.Context, tx *redis.Tx, r reading) {
	cmd := &redisx.Command{Cmd: redis.NewCmd(ctx, "hpexpiretime", r.key.Name, "FIELDS", 1, "f")}
	err := tx.Process(ctx, cmd)
	switch {
	case err == nil || errors.Is(err, redis.Nil) || redisx.MeaningOf(err) == resp.Forbidden:
		f.expire.Store(true)
	case !errors.Is(redisx.Reason(err), rmw.ErrUnsupported):
		r.cmd.SetErr(err)
		return
	}
	f.known.Store(true)
}
