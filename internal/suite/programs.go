package suite

import (
	"errors"
	"flag"
	"fmt"
	"regexp"
	"runtime/debug"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// Search is a search for a program that a subject runs wrong.
type Search[P any] struct {
	Seed     uint64 // of the first program; 0 means 1. The flag -rapid.seed overrides it
	Programs int    // at most so many are run; the flag -rapid.checks overrides it
	Shrink   string // the time to look for a shorter program, a time.Duration; "" means 5s

	Draw func(t *rapid.T) P
	// Run runs a program in a testing/synctest bubble and returns the violations.
	Run func(t *testing.T, program P) error
}

// Found is a program that the subject runs wrong, the shortest that was found.
type Found[P any] struct {
	Program P
	Err     error  // the violations
	Seed    uint64 // draws the program first
	Tried   int    // the programs until the first failure, including it
}

// Find runs programs until one fails, and shrinks that one. It returns nil if none does.
//
// The settings of package rapid are flags of the process, so two searches must not run at once.
func (s Search[P]) Find(t *testing.T) *Found[P] {
	t.Helper()
	defer set("rapid.seed", strconv.FormatUint(max(s.Seed, 1), 10), "0")()
	defer set("rapid.checks", strconv.Itoa(s.Programs), "100")()
	defer set("rapid.nofailfile", "true", "false")()
	shrink := s.Shrink
	if shrink == "" {
		shrink = "5s"
	}
	defer set("rapid.shrinktime", shrink, "30s")()
	var found *Found[P]
	tried := 0
	r := &recorder{T: t}
	rapid.Check(r, func(rt *rapid.T) {
		program := s.Draw(rt)
		if found == nil {
			tried++
		}
		if err := bubbled(t, program, s.Run); err != nil {
			found = &Found[P]{Program: program, Err: err, Tried: tried}
			rt.FailNow()
		}
	})
	if found != nil {
		found.Seed = r.seed
	}
	return found
}

// bubbled runs a program in a bubble of its own.
func bubbled[P any](t *testing.T, program P, run func(t *testing.T, program P) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.Join(err, fmt.Errorf("after the program: %v\n%s", p, bubble()))
			if len(bubble()) == 0 {
				err = fmt.Errorf("%w%s", err, debug.Stack())
			}
		}
	}()
	Fake(t, "programs", func(t *testing.T) { err = run(t, program) })
	return err
}

// set sets a flag to a value unless the user has set it, and returns a function that sets it back.
func set(name, value, standard string) (restore func()) {
	f := flag.Lookup(name)
	was := f.Value.String()
	if was == standard {
		_ = f.Value.Set(value)
	}
	return func() { _ = f.Value.Set(was) }
}

// recorder takes the seed from what rapid reports, and drops the rest.
type recorder struct {
	*testing.T
	failed bool
	seed   uint64
}

var seedFlag = regexp.MustCompile(`-rapid\.seed=(\d+)`)

func (r *recorder) Logf(string, ...any) {}
func (r *recorder) Log(...any)          {}
func (r *recorder) Fail()               { r.failed = true }
func (r *recorder) FailNow()            { r.failed = true }
func (r *recorder) Failed() bool        { return r.failed }
func (r *recorder) Error(args ...any)   { r.Errorf("%s", fmt.Sprint(args...)) }
func (r *recorder) Fatal(args ...any)   { r.Errorf("%s", fmt.Sprint(args...)) }

func (r *recorder) Errorf(format string, args ...any) {
	r.failed = true
	if m := seedFlag.FindStringSubmatch(fmt.Sprintf(format, args...)); m != nil {
		r.seed, _ = strconv.ParseUint(m[1], 10, 64)
	}
}

func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...) }
