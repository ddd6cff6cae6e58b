package twin

import (
	"context"
	"errors"
	"runtime"

	"github.com/unwatch/unwatch/rmw"
)

// Ending is how a caller's fn ends.
type Ending struct {
	Err   error
	Panic any
	Exit  bool   // of the goroutine
	Code  string // as Go
}

// End ends fn.
func (e Ending) End() error {
	if e.Panic != nil {
		panic(e.Panic)
	}
	if e.Exit {
		runtime.Goexit()
	}
	return e.Err
}

var (
	errOfFn   = errors.New("fn's own")
	errLikeUs = &rmw.Error{Path: "fn", Reason: rmw.ErrContended}
)

// Endings returns endings that bad code takes for its own, wraps or retries. The first one is a return of nil.
func Endings() []Ending {
	all := []Ending{{}, {Err: errOfFn, Code: `errors.New("fn's own")`}, {Panic: "boom", Code: `panic("boom")`},
		{Panic: errOfFn, Code: `panic(errors.New("fn's own"))`}, {Exit: true, Code: "runtime.Goexit()"},
		{Err: context.Canceled, Code: "context.Canceled"}, {Err: context.DeadlineExceeded, Code: "context.DeadlineExceeded"}}
	for name, err := range Reasons() {
		all = append(all, Ending{Err: err, Code: name})
	}
	return append(all, Ending{Err: errLikeUs, Code: `&rmw.Error{Path: "fn", Reason: rmw.ErrContended}`})
}

// Reasons returns the errors of package rmw, in order, with their names.
func Reasons() func(yield func(string, error) bool) {
	all := []struct {
		name string
		err  error
	}{
		{"rmw.ErrContended", rmw.ErrContended}, {"rmw.ErrLockLost", rmw.ErrLockLost}, {"rmw.ErrOutcomeUnknown", rmw.ErrOutcomeUnknown},
		{"rmw.ErrUnavailable", rmw.ErrUnavailable}, {"rmw.ErrUnsupported", rmw.ErrUnsupported}, {"rmw.ErrWrongKind", rmw.ErrWrongKind},
		{"rmw.ErrInvalid", rmw.ErrInvalid}, {"rmw.ErrUndecodable", rmw.ErrUndecodable}, {"rmw.ErrClosed", rmw.ErrClosed},
	}
	return func(yield func(string, error) bool) {
		for _, r := range all {
			if !yield(r.name, r.err) {
				return
			}
		}
	}
}
