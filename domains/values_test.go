package domains_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
)

func TestOpValidate(t *testing.T) {
	const wrap = 18446744073709552 // seconds: 2^64 milliseconds
	last := time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	for name, test := range map[string]struct {
		op   domains.Op
		says string
	}{
		"good":             {domains.Op{ID: "a", At: now}, ""},
		"the longest id":   {domains.Op{ID: strings.Repeat("a", 64), At: now}, ""},
		"the first moment": {domains.Op{ID: "a", At: time.UnixMilli(1)}, ""},
		"the last moment":  {domains.Op{ID: "a", At: last}, ""},
		"another zone":     {domains.Op{ID: "a", At: now.In(time.FixedZone("x", 3600))}, ""},
		"no id":            {domains.Op{At: now}, "Op.ID is empty"},
		"a long id":        {domains.Op{ID: strings.Repeat("a", 65), At: now}, "Op.ID has 65 bytes, at most 64"},
		"an id of bytes":   {domains.Op{ID: "a\xff", At: now}, "Op.ID is not UTF-8"},
		"the longest name": {domains.Op{ID: "a", Name: strings.Repeat("n", 32), At: now}, ""},
		"a long name":      {domains.Op{ID: "a", Name: strings.Repeat("n", 33), At: now}, "Op.Name has 33 bytes, at most 32"},
		"a name of bytes":  {domains.Op{ID: "a", Name: "a\xff", At: now}, "Op.Name is not UTF-8"},
		"no time":          {domains.Op{ID: "a"}, "pass when the operation happens"},
		"1970":             {domains.Op{ID: "a", At: time.UnixMilli(0)}, "pass when the operation happens"},
		"just after 1970":  {domains.Op{ID: "a", At: time.Unix(0, 999_999)}, "pass when the operation happens"},
		"before 1970":      {domains.Op{ID: "a", At: time.UnixMilli(-1)}, "pass when the operation happens"},
		"after 9999":       {domains.Op{ID: "a", At: last.Add(1)}, "pass when the operation happens"},
		// Their milliseconds wrap around to a moment of our time.
		"far after":  {domains.Op{ID: "a", At: time.Unix(wrap+1_700_000_000, 0)}, "pass when the operation happens"},
		"far before": {domains.Op{ID: "a", At: time.Unix(-wrap+1_700_000_000, 0)}, "pass when the operation happens"},
	} {
		err := test.op.Validate()
		if test.says == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorIs(t, err, rmw.ErrInvalid, name)
		assert.ErrorContains(t, err, test.says, name)
		assert.Nil(t, domains.RefusalOf(err), name)
	}
}

func TestNewOp(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		op := domains.NewOp(now)
		require.NoError(t, op.Validate())
		require.Equal(t, now, op.At)
		seen[op.ID] = true
	}
	assert.Len(t, seen, 100)
}

// A step of a request is an operation of its own, the same whenever the request comes again.
func TestOpFor(t *testing.T) {
	request := opAt("a")
	assert.Equal(t, domains.Op{ID: "a/join", At: now}, request.For("join"))
	assert.Equal(t, opAt("a"), request, "the operation of the caller is unchanged")
	require.NoError(t, domains.NewOp(now).For("a step").Validate())
}

// Find goes by the id, and by the names if both have one. Has goes by the id.
func TestHeaderFind(t *testing.T) {
	h := domains.Header{Applied: []domains.Applied{{ID: "a"}, {ID: "b", Op: "Post", Number: 7}, {ID: ""}}}
	for op, want := range map[domains.Op]string{
		{ID: "a"}:               "0 true false",
		{ID: "a", Name: "Join"}: "0 true false",
		{ID: "b"}:               "7 true false",
		{ID: "b", Name: "Post"}: "7 true false",
		{ID: "b", Name: "post"}: "0 false true",
		{ID: "c", Name: "Post"}: "0 false false",
		{ID: "", Name: "Post"}:  "0 false false",
	} {
		number, done, err := h.Find(op)
		assert.Equal(t, want, fmt.Sprint(number, done, errors.Is(err, rmw.ErrInvalid)), op)
	}
	number, done := h.Has("b")
	assert.Equal(t, "7 true", fmt.Sprint(number, done))
}

func TestChecksOfTexts(t *testing.T) {
	long, bytes := strings.Repeat(secret, 22), secret+"\xff"
	for name, test := range map[string]struct {
		err  error
		says string
	}{
		"id":            {domains.CheckID("agent", strings.Repeat("a", 128)), ""},
		"no id":         {domains.CheckID("agent", ""), "the id of the agent is empty"},
		"long id":       {domains.CheckID("agent", long), "the id of the agent has 132 bytes, at most 128 are permitted"},
		"id of bytes":   {domains.CheckID("agent", bytes), "the id of the agent is not UTF-8: JSON cannot hold it"},
		"text":          {domains.CheckText("topic", "abc", 3), ""},
		"no text":       {domains.CheckText("topic", "", 0), ""},
		"long text":     {domains.CheckText("topic", long, 131), "the topic has 132 bytes, at most 131 are permitted"},
		"text of bytes": {domains.CheckText("topic", bytes, 100), "the topic is not UTF-8: JSON cannot hold it"},
		"ids":           {domains.CheckIDs(map[string]string{"agent": "", "queue": "q"}), ""},
		"no ids":        {domains.CheckIDs(nil), ""},
		"one id is long": {
			domains.CheckIDs(map[string]string{"agent": "", "queue": long}),
			"the id of the queue has 132 bytes, at most 128 are permitted",
		},
	} {
		if test.says == "" {
			require.NoError(t, test.err, name)
			continue
		}
		require.ErrorIs(t, test.err, rmw.ErrInvalid, name)
		assert.EqualError(t, test.err, "invalid argument: "+test.says, name)
		requireSilent(t, test.err)
	}
}

func TestRefusalOf(t *testing.T) {
	wrapped := fmt.Errorf("ticket %q: %w", "7", fmt.Errorf("%w: 3 of 3", errTooLoud))
	require.ErrorIs(t, wrapped, errTooLoud)
	assert.Same(t, errTooLoud, domains.RefusalOf(wrapped))
	assert.Same(t, errTooLoud, domains.RefusalOf(errors.Join(rmw.ErrClosed, errTooLoud)))
	assert.Equal(t, "too_loud", errTooLoud.Code())
	assert.Equal(t, "the ticket is loud enough", errTooLoud.Error())
	assert.NotErrorIs(t, domains.NewRefusal(errTooLoud.Code(), errTooLoud.Error()), errTooLoud, "two refusals are two")
	assert.Nil(t, domains.RefusalOf(nil))
	assert.Nil(t, domains.RefusalOf(rmw.ErrContended))
}

func TestSteps(t *testing.T) {
	boom, keep := errors.New("boom"), fmt.Errorf("nothing to do: %w", rmw.Keep)
	for name, test := range map[string]struct {
		steps []error
		want  error
		runs  int
	}{
		"none":                  {nil, rmw.Keep, 0},
		"all change":            {[]error{nil, nil}, nil, 2},
		"none changes":          {[]error{rmw.Keep, keep}, rmw.Keep, 2},
		"the first changes":     {[]error{nil, rmw.Keep}, nil, 2},
		"the last changes":      {[]error{keep, nil}, nil, 2},
		"the first fails":       {[]error{boom, nil}, boom, 1},
		"one fails after all":   {[]error{nil, rmw.Keep, boom, nil}, boom, 3},
		"a refusal is an error": {[]error{nil, errTooLoud}, errTooLoud, 2},
	} {
		runs := 0
		var steps []func() error
		for _, err := range test.steps {
			steps = append(steps, func() error { runs++; return err })
		}
		assert.Equal(t, test.want, domains.Steps(steps...), name)
		assert.Equal(t, test.runs, runs, name)
	}
}

const lastTime domains.Time = 253402300799999 // 9999-12-31T23:59:59.999Z

func TestTimeForms(t *testing.T) {
	for moment, want := range map[domains.Time]string{
		0: "never", 1: "1970-01-01T00:00:00.001Z", 1795165200123: "2026-11-20T09:00:00.123Z", lastTime: "9999-12-31T23:59:59.999Z",
	} {
		assert.Equal(t, want, moment.String())
		assert.True(t, moment.Valid(), want)
	}
	for _, moment := range []domains.Time{lastTime + 1, -1, math.MaxInt64, math.MinInt64} {
		assert.False(t, moment.Valid(), int64(moment))
	}
}

func TestZeroTime(t *testing.T) {
	assert.Zero(t, domains.At(time.Time{}))
	assert.True(t, domains.Time(0).Time().IsZero())
	assert.Zero(t, domains.At(now).Sub(0))
	assert.Zero(t, domains.Time(0).Sub(domains.At(now)))
}

func aMoment(t *rapid.T, label string) time.Time {
	return time.Unix(rapid.Int64Range(1, int64(lastTime/1000)).Draw(t, label), rapid.Int64Range(0, 999_999_999).Draw(t, label+" ns"))
}

// Times have the order of their moments, to the millisecond, in every time zone and with a monotonic reading.
func TestTimesKeepTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := aMoment(t, "a"), aMoment(t, "b")
		if a.After(b) {
			a, b = b, a
		}
		require.LessOrEqual(t, domains.At(a), domains.At(b))
		require.Equal(t, domains.At(a), domains.At(a.In(time.FixedZone("x", 3600))))
		require.True(t, domains.At(a).Time().Equal(a.Truncate(time.Millisecond)))
		require.Equal(t, time.UTC, domains.At(a).Time().Location())
		require.True(t, domains.At(a).Valid())
		require.Equal(t, domains.At(a), domains.At(domains.At(a).Time()))
	})
	assert.Equal(t, domains.At(now), opAt("a").Time())
	real := time.Now()
	assert.Equal(t, domains.At(real.Round(0)), domains.At(real))
}

// Add and Sub are each other's inverse, in whole milliseconds.
func TestTimeAddAndSub(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := domains.Time(rapid.Int64Range(1, 1<<50).Draw(t, "from"))
		ms := rapid.Int64Range(0, int64(math.MaxInt64/time.Millisecond)).Draw(t, "ms")
		d := time.Duration(ms) * time.Millisecond
		require.Equal(t, d, from.Add(d).Sub(from))
		require.Equal(t, -d, from.Sub(from.Add(d)))
	})
	assert.Equal(t, domains.Time(5), domains.Time(5).Add(999*time.Microsecond))
	assert.Equal(t, time.Duration(math.MaxInt64), lastTime.Sub(1), "longer than a Duration: the longest that there is")
	assert.Equal(t, time.Duration(math.MinInt64), domains.Time(1).Sub(lastTime))
}
