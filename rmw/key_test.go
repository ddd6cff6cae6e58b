package rmw_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
)

func TestKeyValidate(t *testing.T) {
	for name, tc := range map[string]struct {
		key  rmw.Key
		says string // "" means valid
	}{
		"name only":        {key: rmw.Key{Name: "k"}},
		"hash":             {key: rmw.Key{Name: "k", Kind: rmw.KindHash}},
		"one millisecond":  {key: rmw.Key{Name: "k", TTL: time.Millisecond}},
		"NoTTL":            {key: rmw.Key{Name: "k", TTL: rmw.NoTTL}},
		"zero":             {says: "Key.Name is empty"},
		"unknown kind":     {key: rmw.Key{Name: "k", Kind: 2}, says: "Key.Kind is 2"},
		"negative TTL":     {key: rmw.Key{Name: "k", TTL: -time.Second}, says: "Key.TTL is -1s"},
		"almost NoTTL":     {key: rmw.Key{Name: "k", TTL: -2}, says: "NoTTL"},
		"below one millis": {key: rmw.Key{Name: "k", TTL: time.Millisecond - 1}, says: "at least 1ms"},
	} {
		err := tc.key.Validate()
		if tc.says == "" {
			assert.NoError(t, err, name)
			continue
		}
		require.ErrorIs(t, err, rmw.ErrInvalid, name)
		assert.ErrorContains(t, err, tc.says, name)
	}
}

func TestKindIsNamedAsByTYPE(t *testing.T) {
	assert.Equal(t, "string", rmw.KindString.String())
	assert.Equal(t, "hash", rmw.KindHash.String())
	assert.Equal(t, "Kind(7)", rmw.Kind(7).String())
}
