package marker

import (
	"context"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/seal"
)

// Calls sends scripts of package seal in one pipeline. An error means that a reply is missing.
func (c Client) Calls(ctx context.Context, calls ...*seal.Call) error {
	steps := make([]Step, len(calls))
	for i, call := range calls {
		steps[i] = Step{args: append([]any{"eval", call.Script.Source, 1, call.Key}, call.Args...)}
	}
	for i, cmd := range c.do(ctx, steps) {
		call := calls[i]
		if call.Reply, call.Err = cmd.Val(), cmd.Err(); redisx.OutcomeOf(call.Err) == redisx.Unknown {
			return call.Err
		}
	}
	return nil
}
