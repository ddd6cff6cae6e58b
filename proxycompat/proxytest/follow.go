package proxytest

import (
	"strings"

	"github.com/unwatch/unwatch/proxycompat"
)

// change runs do, which executes commands on a backend, and replicates their effects. A server executes one
// command at a time, so changes of a master with a replica take turns. Blocking commands do not wait for
// their turn.
func (b *backend) change(database string, commands [][]string, do func() error) error {
	r := b.replica
	if r == nil || !mayChange(commands) {
		return do()
	}
	if mayBlock(commands) {
		err := do()
		r.catchUp(database, commands)
		return err
	}
	if !r.enter() {
		return errDown
	}
	err := do()
	r.follow(database, commands)
	r.leave()
	if err != nil { // the server may execute the commands only now
		r.p.wg.Go(func() {
			if r.p.wait(r.lag) {
				r.catchUp(database, commands)
			}
		})
	}
	return err
}

// enter waits for the turn to change the master, and reports whether the proxy still runs.
func (r *replica) enter() bool {
	select {
	case r.turn <- struct{}{}:
		return true
	case <-r.p.ctx.Done():
		return false
	}
}

func (r *replica) leave() { <-r.turn }

// catchUp takes a turn and calls follow.
func (r *replica) catchUp(database string, commands [][]string) {
	if r.enter() {
		defer r.leave()
		r.follow(database, commands)
	}
}

// follow replicates the keys of some commands, in one step per call. It leaves unreadable keys unchanged.
func (r *replica) follow(database string, commands [][]string) {
	var keys []string
	for _, args := range commands {
		switch strings.ToUpper(args[0]) {
		case "FLUSHALL", "FLUSHDB", "SWAPDB", "MOVE", "COPY":
			r.afresh()
			return
		}
		positions, _ := proxycompat.KeysOf(args...)
		for _, i := range positions {
			keys = append(keys, args[i])
		}
	}
	if len(keys) == 0 {
		return
	}
	dumps, err := r.read(database, keys)
	if err != nil { // the link may have failed at a restarted server
		dumps, err = r.read(database, keys)
	}
	if err == nil {
		r.send(arrival{database: database, dumps: dumps})
	}
}

// read reads keys of the master, over the link of their database or a new one.
func (r *replica) read(database string, keys []string) ([]dump, error) {
	l := r.reading[database]
	if l == nil {
		var err error
		if l, err = r.master.connect(r.p.ctx, database); err != nil {
			return nil, err
		}
		r.reading[database] = l
	}
	dumps, err := dumpOf(l, keys...)
	if err != nil {
		l.close()
		delete(r.reading, database)
	}
	return dumps, err
}

// afresh replicates all data of the master.
func (r *replica) afresh() {
	l, err := r.master.connect(r.p.ctx, "")
	if err != nil {
		return
	}
	defer l.close()
	_ = l.everyDatabase(func(database string) error {
		keys, err := l.keys()
		if err != nil {
			return err
		}
		dumps, err := dumpOf(l, keys...)
		if err == nil {
			r.send(arrival{database: database, flush: true, dumps: dumps})
		}
		return err
	})
}

func mayChange(commands [][]string) bool {
	for _, args := range commands {
		if !readsOnly(args) {
			return true
		}
	}
	return false
}

func mayBlock(commands [][]string) bool {
	for _, args := range commands {
		if c, _ := proxycompat.CommandOf(args...); c.Blocks() {
			return true
		}
	}
	return false
}
