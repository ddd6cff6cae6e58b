package driver_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/driver"
)

func TestCheckWrite(t *testing.T) {
	var (
		absent rmw.Value
		text   = rmw.String("x")
		hash   = rmw.Hash(map[string]string{"f": "1"})
		asText = rmw.Key{Name: "k"}
		asHash = rmw.Key{Name: "k", Kind: rmw.KindHash}
		minute = rmw.Key{Name: "k", TTL: time.Minute}
		noTTL  = rmw.Key{Name: "k", TTL: rmw.NoTTL}
	)
	for name, tc := range map[string]struct {
		key       rmw.Key
		cur, next rmw.Value
		write     bool
		ttl       time.Duration
		err       error
	}{
		"create":                       {key: asText, next: text, write: true},
		"change":                       {key: asText, cur: text, next: rmw.String("y"), write: true},
		"delete":                       {key: asText, cur: text, write: true},
		"empty over absent":            {key: asText, next: rmw.String(""), write: true},
		"delete an empty string":       {key: asText, cur: rmw.String(""), write: true},
		"hash field changed":           {key: asHash, cur: hash, next: hash.With("f", "2"), write: true},
		"hash emptied is deleted":      {key: asHash, cur: hash, next: hash.Without("f"), write: true},
		"key TTL sets":                 {key: minute, next: text, write: true, ttl: time.Minute},
		"key TTL removes":              {key: noTTL, next: text, write: true, ttl: rmw.NoTTL},
		"returned as it was":           {key: asText, cur: text, next: text},
		"returned an equal one":        {key: asHash, cur: hash, next: rmw.Hash(map[string]string{"f": "1"})},
		"absent stays absent":          {key: asText},
		"absent, of either kind":       {key: asHash, next: rmw.Hash(nil)},
		"unchanged leaves the expiry":  {key: minute, cur: text, next: text, ttl: time.Minute}, // not to be used: no write
		"a value's TTL is a write":     {key: asText, cur: text, next: text.WithTTL(time.Second), write: true, ttl: time.Second},
		"a value's TTL overrides":      {key: minute, cur: hash, next: text.WithTTL(time.Second), write: true, ttl: time.Second},
		"a value's NoTTL overrides":    {key: minute, next: text.WithTTL(rmw.NoTTL), write: true, ttl: rmw.NoTTL},
		"TTL of what does not exist":   {key: asText, next: absent.WithTTL(time.Second)},
		"a hash under a string key":    {key: asText, next: hash, err: rmw.ErrWrongKind},
		"a string under a hash key":    {key: asHash, cur: hash, next: text, err: rmw.ErrWrongKind},
		"wrong kind though unchanged":  {key: asHash, cur: text, next: text, err: rmw.ErrWrongKind},
		"a TTL below a millisecond":    {key: asText, next: text.WithTTL(time.Microsecond), err: rmw.ErrInvalid},
		"a negative TTL":               {key: asText, next: text.WithTTL(-time.Second), err: rmw.ErrInvalid},
		"negative though it is cur":    {key: asText, cur: text, next: text.WithTTL(-2), err: rmw.ErrInvalid},
		"deleting needs no right kind": {key: asHash, cur: text, write: true},
	} {
		write, ttl, err := driver.CheckWrite(tc.key, tc.cur, tc.next)
		if tc.err != nil {
			require.ErrorIs(t, err, tc.err, name)
			assert.False(t, write, name)
			continue
		}
		require.NoError(t, err, name)
		assert.Equal(t, tc.write, write, name)
		assert.Equal(t, tc.ttl, ttl, name)
	}
}
