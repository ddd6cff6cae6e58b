package redlock

import (
	"errors"
	"fmt"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// errSilent is the error of a node that has not answered. No ctx has
// ended.
var errSilent = errors.New("no answer within Config.NodeTimeout")

// errGone is the refusal of a majority.
var errGone = fmt.Errorf("%w: a majority of the nodes has it for another owner", rmw.ErrContended)

// silence returns the error of each node before it has answered.
func (s *service) silence() []error {
	failures := make([]error, len(s.nodes))
	for i := range failures {
		failures[i] = errSilent
	}
	return failures
}

// unreached is the error of a round that no majority of the nodes has answered.
// spare is how many may be missing.
func unreached(failures []error, spare int) error {
	var causes []error
	counts := map[error]int{}
	for i, err := range failures {
		if err == nil {
			continue
		}
		// As text: a timeout of the client must not pass for the end of ctx.
		causes = append(causes, fmt.Errorf("node %d: %s", i, redisx.WithoutArguments(err).Error()))
		counts[redisx.Reason(err)]++
	}
	reason := rmw.ErrUnavailable
	for _, lasting := range []error{rmw.ErrUnsupported, rmw.ErrClosed} { // no retry can help
		if counts[lasting] > spare {
			reason = lasting
		}
	}
	return redisx.Because(reason, fmt.Errorf("a majority of %d nodes is out of reach: %w", len(failures), errors.Join(causes...)))
}
