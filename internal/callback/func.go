// Package callback calls functions that a user has configured. A panic of such a function, or the end
// of its goroutine as by t.FailNow, ends no other goroutine.
package callback

import (
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Func is a function of a user. Each call runs on a goroutine of its own, and allocates nothing. A nil
// Func does nothing. It is safe for concurrent use.
type Func[A any] struct {
	name   string
	logger *slog.Logger
	do     func(A)
	panics atomic.Uint64
	runs   sync.Pool // of *run[A]
}

// run is one call at a time.
type run[A any] struct {
	arg   A
	start func()
	ended chan bool // of size one
}

// New returns a Func that calls do; a nil do is a nil Func. Its first panic is logged under the name. A nil
// logger is slog.Default.
func New[A any](name string, logger *slog.Logger, do func(A)) *Func[A] {
	if do == nil {
		return nil
	}
	return &Func[A]{name: name, logger: logger, do: do}
}

// Call calls the function and waits for its end. It returns false if the function did not return.
func (f *Func[A]) Call(arg A) (returned bool) {
	if f == nil {
		return true
	}
	r, _ := f.runs.Get().(*run[A])
	if r == nil {
		r = &run[A]{ended: make(chan bool, 1)}
		r.start = func() { f.run(r) }
	}
	r.arg = arg
	go r.start()
	returned = <-r.ended
	var none A
	r.arg = none // a ctx may be large
	f.runs.Put(r)
	return returned
}

func (f *Func[A]) run(r *run[A]) {
	returned := false
	defer func() {
		v := recover()
		if !returned && f.panics.Add(1) == 1 {
			f.log(v)
		}
		r.ended <- returned
	}()
	f.do(r.arg)
	returned = true
}

func (f *Func[A]) log(v any) {
	logger := f.logger
	if logger == nil {
		logger = slog.Default()
	}
	if v == nil {
		v = "runtime.Goexit"
	}
	logger.Error(f.name+" panicked; later panics are only counted in Stats", "panic", v, "stack", string(debug.Stack()))
}

// Panics returns how many calls did not return.
func (f *Func[A]) Panics() uint64 {
	if f == nil {
		return 0
	}
	return f.panics.Load()
}
