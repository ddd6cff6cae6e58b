package domains_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
	assert.Equal(t, opAt("a"), request, "it is still what it was")
	require.NoError(t, domains.NewOp(now).For("a step").Validate())
}

// An operation that cannot be is refused before the store is asked.
func TestInvalidOpReachesNoStore(t *testing.T) {
	repo := newTickets(nil, domains.JSON)
	bad := domains.Op{ID: "", At: now}
	_, err := repo.Edit(t.Context(), "7", bad, grow)
	require.ErrorIs(t, err, rmw.ErrInvalid)
	_, _, err = repo.Number(t.Context(), "7", bad, func(*Ticket) (uint64, error) { return 0, nil })
	require.ErrorIs(t, err, rmw.ErrInvalid)
	_, err = repo.Create(t.Context(), "7", bad, named("7"))
	require.ErrorIs(t, err, rmw.ErrInvalid)
	_, err = repo.Settle(t.Context(), "7", time.Time{}, func(*Ticket, bool) error { return nil })
	require.ErrorIs(t, err, rmw.ErrInvalid)

	for _, id := range []string{"", strings.Repeat("a", 129), "\xff"} {
		_, err = repo.Get(t.Context(), id)
		require.ErrorIs(t, err, rmw.ErrInvalid)
		_, err = repo.Edit(t.Context(), id, opAt("a"), grow)
		require.ErrorIs(t, err, rmw.ErrInvalid)
	}
}
