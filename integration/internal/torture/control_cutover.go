package torture

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/rmw"
)

// cutoverControls returns the negative controls of a cut-over.
func cutoverControls(lost func(v *Verdict) bool) []Control {
	return []Control{
		{"fill of an old marker", "a move whose fill does not compare the nonce of the marker", "old>codis", "codis-late", lost,
			variant{open: openLockupdate, across: func(clients [2]redis.UniversalClient, process int, stage cutover.Source) rmw.Store {
				for _, rdb := range clients {
					rdb.AddHook(looseFill{})
				}
				return openAcross(clients, process, stage)
			}}},
		{"write to old and new", "the store of the stage is updated, then the other one is set to the result", "old>nutcracker", "none", lost,
			variant{open: openLockupdate, across: func(clients [2]redis.UniversalClient, process int, stage cutover.Source) rmw.Store {
				both := openAcross(clients, process, stage).(crossing)
				return dual{both, stage}
			}}},
	}
}

// looseFill removes a comparison from the script of a move.
type looseFill struct{}

// DialHook implements redis.Hook.
func (looseFill) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook implements redis.Hook.
func (looseFill) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook implements redis.Hook. It answers a step of a move by NOSCRIPT, so that the script is sent
// whole.
func (looseFill) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	steps := []any{"look", "reserve", "seal", "fill", "mark", "unseal", "unreserve"}
	return func(ctx context.Context, cmd redis.Cmder) error {
		args := cmd.Args()
		if len(args) < 6 || !slices.Contains(steps, args[4]) {
			return next(ctx, cmd)
		}
		if args[0] == "evalsha" {
			cmd.SetErr(noScript{})
			return noScript{}
		}
		const exact = "step == 'fill' and state == 'away' and ours"
		source, _ := args[1].(string)
		if !strings.Contains(source, exact) {
			panic("the script of a move has changed")
		}
		args[1] = strings.Replace(source, exact, "step == 'fill' and state == 'away'", 1)
		return next(ctx, cmd)
	}
}

type noScript struct{}

func (noScript) Error() string { return "NOSCRIPT" }
func (noScript) RedisError()   {}

// dual writes to both stores, first to that of the stage.
type dual struct {
	crossing
	stage cutover.Source
}

func (d dual) order(ctx context.Context) (first, second rmw.Store) {
	if stage, _ := d.stage.Stage(ctx); stage.Phase == cutover.Copying {
		return d.sides[1], d.sides[0]
	}
	return d.sides[0], d.sides[1]
}

func (d dual) Read(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	first, _ := d.order(ctx)
	return first.Read(ctx, key)
}

func (d dual) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	first, second := d.order(ctx)
	result, err := first.Update(ctx, key, fn)
	if err != nil {
		return result, err
	}
	_, err = second.Update(ctx, key, func(context.Context, rmw.Value) (rmw.Value, error) { return result.After, nil })
	if err != nil { // one store has it
		err = errors.Join(rmw.ErrOutcomeUnknown, err)
	}
	return result, err
}
