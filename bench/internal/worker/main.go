package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/unwatch/unwatch/bench/internal/relay"
)

// Main runs a child.
func Main(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in := bufio.NewReader(stdin)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("no job: %w", err)
	}
	var job Job
	if err := json.Unmarshal(line, &job); err != nil {
		return fmt.Errorf("job: %w", err)
	}
	gone := make(chan struct{})
	started := make(chan struct{})
	go func() { // the bench sends "go" or exits
		defer cancel()
		defer close(gone)
		if _, err := in.ReadBytes('\n'); err == nil {
			close(started)
		}
		_, _ = io.Copy(io.Discard, in)
	}()
	out := json.NewEncoder(stdout)
	ready := func(r Ready) error {
		if err := out.Encode(r); err != nil {
			return err
		}
		select {
		case <-started:
			return nil
		case <-gone:
			return errGone
		}
	}
	answer := Answer{}
	switch {
	case job.Update != nil:
		answer.Update, err = job.Update.run(ctx, ready)
	case job.Hold != nil:
		answer.Hold, err = job.Hold.run(ctx, ready)
	case job.Relay != nil:
		return job.Relay.run(ctx, out)
	default:
		err = errors.New("an empty job")
	}
	if errors.Is(err, errGone) {
		return nil
	}
	if err != nil {
		answer.Err = err.Error()
	}
	if err := out.Encode(answer); err != nil {
		return err
	}
	// Other processes may wait for a lock with a release in flight. So the child runs
	// until the slot ends.
	<-gone
	return nil
}

// errGone means that the bench exited before it sent "go".
var errGone = errors.New("the bench is gone")

func (j *RelayJob) run(ctx context.Context, out *json.Encoder) error {
	r, err := relay.Listen(j.Target, j.Delay)
	if err != nil {
		return err
	}
	if err := out.Encode(Ready{Addr: r.Addr()}); err != nil {
		return err
	}
	return r.Serve(ctx)
}
