package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
)

// ensemble describes members of which each needs the ports of the others before the first one starts.
type ensemble struct {
	kind    string
	members int
	ports   int // of each member
	// member returns how to start one of them in its folder, with the ports of all.
	member func(i int, folder string, ports [][]int) launch

	// freePorts is replaced by tests that need a collision.
	freePorts func(n int) ([]int, error)
}

// start starts all members in subfolders of dir, with other ports if necessary. After an error none is left.
func (e ensemble) start(ctx context.Context, dir string) ([]*Server, error) {
	for try := 1; ; try++ {
		found, err := e.startOnce(ctx, dir)
		if err == nil || try == startTries || !errors.Is(err, errExited) {
			return found, err
		}
	}
}

// startOnce starts all members at once, since none is ready before a majority runs.
func (e ensemble) startOnce(ctx context.Context, dir string) ([]*Server, error) {
	free, err := e.freePorts(e.ports * e.members)
	if err != nil {
		return nil, fmt.Errorf("%s: no free port: %w", e.kind, err)
	}
	ports := slices.Collect(slices.Chunk(free, e.ports))
	found, folders, errs := make([]*Server, e.members), make([]string, e.members), make([]error, e.members)
	var starting sync.WaitGroup
	for i := range e.members {
		starting.Go(func() {
			if folders[i], errs[i] = subfolder(dir, e.kind, i); errs[i] != nil {
				return
			}
			l := e.member(i, folders[i], ports)
			l.ports, l.freePorts = e.ports, func(int) ([]int, error) { return ports[i], nil }
			found[i], errs[i] = l.startOnce(ctx)
		})
	}
	starting.Wait()
	if err := errors.Join(errs...); err != nil {
		stopAll(slices.DeleteFunc(found, func(s *Server) bool { return s == nil }))
		for _, folder := range folders {
			err = errors.Join(err, os.RemoveAll(folder)) // its files name the ports
		}
		return nil, err
	}
	return found, nil
}
