package entities

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// Step is the part that the steps of all models have: an operation. Expire and Delete are those of another service.
type Step struct {
	Op, ID string
	At     domains.Time
}

// Base returns s.
func (s Step) Base() Step { return s }

// ForeignTTL is the expiry that Expire sets.
const ForeignTTL = 3 * time.Hour

// Run plays steps on a stored entity and on a model of it.
type Run[T any, E domains.Entity[T], S interface{ Base() Step }] struct {
	Subject, Key string // such as `room "7"` and "chat:room:7"
	Store        *rmwtest.Memory
	Layout       domains.Layout
	// Do does a step in the model. It returns the outcome, the stored entity, which is zero if there is none, and the
	// expiry of its key.
	Do func(S) (outcome string, want T, ttl time.Duration)
	// Send makes the call of a step, and Get reads the entity.
	Send func(S) (T, error)
	Get  func() (T, error)
	// Also, if not nil, compares more after a step.
	Also func(s S, prev, next T) error
	// Rows and Outcomes count the changes, each as function Rows writes a row of the table, and the outcomes. They may be nil.
	Rows, Outcomes map[string]int
	// Status returns the state of an entity, for Rows.
	Status func(T) string
	// Mistake, if not nil, changes the stored entity like a bug in the package. It is the negative control: the run has
	// to fail.
	Mistake func(s S, prev, next *T)
	// Prev is the stored entity, at first that of an older service.
	Prev T
}

// Play returns the first difference.
func (r *Run[T, E, S]) Play(steps []S) error {
	for i, s := range steps {
		if err := r.step(s); err != nil {
			return fmt.Errorf("step %d, %+v: %w", i, s, err)
		}
	}
	return nil
}

func (r *Run[T, E, S]) step(s S) error {
	ctx, prev := context.Background(), r.Prev
	before, _, _ := r.Store.Get(ctx, r.Key)
	want, entity, expiry := r.Do(s)
	switch s.Base().Op {
	case "Delete":
		before = rmw.Value{}
		fallthrough
	case "Expire":
		r.Prev = entity
		return r.Store.Set(ctx, r.Key, before, ForeignTTL)
	}
	got, err := r.Send(s)
	if r.Mistake != nil && err == nil {
		got, _ = r.Get()
		r.Mistake(s, &prev, &got)
		v, _ := domains.CodecOf[T, E](r.Layout, nil).Encode(&got, rmw.Value{})
		_ = r.Store.Set(ctx, r.Key, v, expiry)
	}
	if is := Outcome(r.Subject, err, E(&got).Head().Version != E(&prev).Head().Version); is != want {
		return fmt.Errorf("%s (%s), the model says %s", is, fmt.Sprint(err), want)
	}
	stored, ttl, _ := r.Store.Get(ctx, r.Key)
	next, err := r.Get()
	switch {
	case want != Changed && !stored.Equal(before):
		return fmt.Errorf("%s, and yet something was written", want)
	case domains.RefusalOf(err) == nil && err != nil || err == nil != stored.Exists():
		return fmt.Errorf("stored: %t, and reading it: %s", stored.Exists(), fmt.Sprint(err))
	case !assert.ObjectsAreEqual(entity, next):
		return fmt.Errorf("stored\n%+v, the model says\n%+v", next, entity)
	case (want == Changed || want == Kept) && !assert.ObjectsAreEqual(next, got):
		return fmt.Errorf("returned\n%+v, stored\n%+v", got, next)
	case stored.Exists() && (stored.Kind() == rmw.KindString) != (r.Layout == domains.JSON):
		return fmt.Errorf("stored as %v", stored)
	case stored.Exists() && (ttl-expiry).Abs() > 5*time.Minute:
		return fmt.Errorf("the key expires in %v, the model says %v", ttl, expiry)
	}
	r.Prev = next
	if code, _, _ := strings.Cut(want, ":"); r.Outcomes != nil {
		r.Outcomes[code]++
	}
	if want == Changed && r.Rows != nil {
		r.Rows[s.Base().Op+" "+r.Status(prev)+" "+r.Status(next)]++
	}
	if r.Also == nil {
		return nil
	}
	return r.Also(s, prev, next)
}

// Tidy returns a copy of m, and nil if m is empty: a store does not keep the difference.
func Tidy[M ~map[K]V, K comparable, V any](m M) M {
	if len(m) == 0 {
		return nil
	}
	return maps.Clone(m)
}

// Call calls a method by its name, such as one of an operation, and returns its results.
func Call(receiver any, method string, args ...any) []any {
	in := make([]reflect.Value, len(args))
	for i, arg := range args {
		in[i] = reflect.ValueOf(arg)
	}
	var out []any
	for _, result := range reflect.ValueOf(receiver).MethodByName(method).Call(in) {
		out = append(out, result.Interface())
	}
	return out
}

// CallFor is Call of a method that returns an entity and an error.
func CallFor[T any](receiver any, method string, args ...any) (T, error) {
	out := Call(receiver, method, args...)
	err, _ := out[1].(error)
	return out[0].(T), err
}

// Rows returns the rows of a table as "op from to", one for each state that it starts from. It overwrites a first copy of
// the table: each call of transitions has to return another.
func Rows(transitions func() domains.Table) []string {
	for _, row := range transitions().Rows {
		for i := range row.From {
			row.From[i] = "overwritten"
		}
	}
	first := transitions().Rows
	first[0].To = "overwritten"
	var rows []string
	for _, row := range transitions().Rows {
		for _, from := range append(row.From, "")[:max(1, len(row.From))] {
			to := row.To
			if to == "" {
				to = from
			}
			rows = append(rows, row.Op+" "+from+" "+to)
		}
	}
	return rows
}

// AssertOccurred asserts that the runs had no other rows or outcomes than those, and, if there were enough runs, all.
func AssertOccurred(t *testing.T, want []string, counts map[string]int) {
	t.Helper()
	got := slices.Collect(maps.Keys(counts))
	assert.Subset(t, want, got)
	if !testing.Short() && flag.Lookup("rapid.checks").Value.String() == "100" {
		assert.Subset(t, got, want)
	}
}

// AssertControls asserts that the model finds each of these mistakes of a package within that many runs: negative
// controls. It finds none in 20 runs without a mistake.
func AssertControls[T any, E domains.Entity[T], S interface{ Base() Step }](
	t *testing.T, runs int, newRun func() *Run[T, E, S], steps func(*rapid.T) []S, mistakes map[string]func(s S, prev, next *T),
) {
	t.Helper()
	fails := func(seed int, mistake func(s S, prev, next *T)) bool {
		q := newRun()
		q.Mistake = mistake
		return q.Play(rapid.Custom(steps).Example(seed)) != nil
	}
	for seed := range 20 {
		assert.False(t, fails(seed, func(S, *T, *T) {}), "without a mistake")
	}
	for name, mistake := range mistakes {
		found := false
		for seed := 0; seed < runs && !found; seed++ {
			found = fails(seed, mistake)
		}
		assert.True(t, found, name)
	}
}

// Check is a check of an operation in a model, and the outcome if it fails.
type Check = struct {
	Failed  bool
	Outcome string
}

// First returns the outcome of the first check that fails, or "".
func First(checks []Check) string {
	i := slices.IndexFunc(checks, func(c Check) bool { return c.Failed })
	if i < 0 {
		return ""
	}
	return checks[i].Outcome
}

// Repeated returns the outcome and the number of an operation with a remembered id; "" if the entity does not remember
// the id.
func Repeated(h *domains.Header, id, name string) (outcome string, number uint64) {
	for _, a := range h.Applied {
		switch {
		case a.ID == id && a.Op != name:
			return Invalid, 0
		case a.ID == id:
			return Kept, a.Number
		}
	}
	return "", 0
}

// Count counts a change in a model, and remembers the operation if it has an id.
func Count(h *domains.Header, id, name string, number uint64) {
	h.Format, h.Version = 1, h.Version+1
	if id != "" {
		h.Applied = LastOf(domains.Remembered, h.Applied, domains.Applied{ID: id, Op: name, Number: number})
	}
}

// LastOf returns a copy of the last n elements of list and one.
func LastOf[E any](n int, list []E, one E) []E {
	list = append(slices.Clone(list), one)
	return list[max(0, len(list)-n):]
}

// Fits reports whether texts of at most limit bytes can be stored.
func Fits(limit int, texts ...string) bool {
	return !slices.ContainsFunc(texts, func(text string) bool { return len(text) > limit || !utf8.ValidString(text) })
}
