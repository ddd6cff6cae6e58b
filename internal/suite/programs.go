package suite

import (
	"errors"
	"flag"
	"fmt"
	"iter"
	"regexp"
	"runtime/debug"
	"strconv"
	"sync"
	"testing"
	"time"

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
	// Shorter returns programs that are a little shorter than one that fails.
	Shorter func(program P) iter.Seq[P]
	// Source returns a program as Go, also while it runs.
	Source func(program P) string
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
// The settings of package rapid are flags of the process, so searches wait for each other.
func (s Search[P]) Find(t *testing.T) *Found[P] {
	t.Helper()
	searching.Lock()
	defer searching.Unlock()
	defer set("rapid.seed", strconv.FormatUint(max(s.Seed, 1), 10), "0")()
	defer set("rapid.checks", strconv.Itoa(s.Programs), "100")()
	defer set("rapid.nofailfile", "true", "false")()
	shrink := s.Shrink
	if shrink == "" {
		shrink = "5s"
	}
	defer set("rapid.shrinktime", "0s", "30s")()
	var found *Found[P]
	tried := 0
	r := &recorder{T: t}
	rapid.Check(r, func(rt *rapid.T) {
		program := s.Draw(rt)
		if found == nil {
			tried++
		}
		if err := s.bubbled(t, program); err != nil {
			found = &Found[P]{Program: program, Err: err, Tried: tried}
			rt.FailNow()
		}
	})
	if found != nil {
		found.Seed = r.seed
		limit, _ := time.ParseDuration(shrink)
		s.shorten(t, found, limit)
	}
	return found
}

// shorten replaces the program by shorter ones that fail, until none does, or the time is over.
func (s Search[P]) shorten(t *testing.T, found *Found[P], limit time.Duration) {
	t.Helper()
	for began, again := time.Now(), true; again; {
		again = false
		for program := range s.Shorter(found.Program) {
			if time.Since(began) > limit {
				return
			}
			if err := s.bubbled(t, program); err != nil {
				found.Program, found.Err, again = program, err, true
				break
			}
		}
	}
}

// Simplify sets a field of a program, and reports whether that changed it.
func Simplify[T comparable](field *T, simple T) (changed bool) {
	changed = *field != simple
	*field = simple
	return changed
}

var searching sync.Mutex //nolint:gochecknoglobals // for flags of the process

// bubbled runs a program in a bubble of its own.
func (s Search[P]) bubbled(t *testing.T, program P) (err error) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			err = errors.Join(err, fmt.Errorf("after the program: %v\n%s", p, bubble()))
			if len(bubble()) == 0 {
				err = fmt.Errorf("%w%s", err, debug.Stack())
			}
		}
	}()
	fake(t, "programs", func(t *testing.T) { err = s.Run(t, program) }, fakeLimit, func(message string) {
		panic(s.Source(program) + "\n" + message)
	})
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
