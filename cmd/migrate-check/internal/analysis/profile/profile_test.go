package profile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/profile"
	"github.com/unwatch/unwatch/proxycompat"
)

func TestProfile(t *testing.T) {
	a := profile.New()
	get := func() (*proxycompat.Profile, error) {
		got, err := a.Run(nil)
		return got.(*proxycompat.Profile), err
	}
	p, err := get()
	require.NoError(t, err)
	assert.Equal(t, proxycompat.Codis32().Name(), p.Name())
	again, err := get()
	require.NoError(t, err)
	assert.Same(t, p, again, "it is read once")

	require.NoError(t, a.Flags.Set(profile.Flag, "codis@3.2"))
	p, err = get()
	require.NoError(t, err)
	assert.Equal(t, "codis@3.2", p.Name())

	file := filepath.Join(t.TempDir(), "rooms.yaml")
	require.NoError(t, os.WriteFile(file, []byte("name: rooms\nbase: codis\nabout: ours\ntitle: ours\n"), 0o600))
	require.NoError(t, a.Flags.Set(profile.Flag, file))
	p, err = get()
	require.NoError(t, err)
	assert.Equal(t, "rooms", p.Name())

	require.NoError(t, a.Flags.Set(profile.Flag, "none"))
	_, err = get()
	assert.ErrorContains(t, err, "known are")
	require.NoError(t, a.Flags.Set(profile.Flag, "missing.yaml"))
	_, err = get()
	assert.ErrorContains(t, err, "missing.yaml")
}
