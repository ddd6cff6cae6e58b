package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

func (s *sides) oldMasters() []string { return []string{"-old-masters", strings.Join(s.olds, ",")} }

// Two masters behind a proxy are the old store of every command that looks at its keys, there and back.
func TestCutoverOfSeveralOldMasters(t *testing.T) {
	const keys = 60
	s := newSidesOf(t, proxycompat.Codis32(), 2)
	s.fill(t, keys)
	all := append(s.oldMasters(), s.masters()...)
	r := s.try(t, "plan", all...)
	text := unwrapped(r.stdout)
	assert.Contains(t, text, "two stores ready different")
	assert.Contains(t, text, fmt.Sprint(keys, " keys"))
	for _, addr := range s.olds {
		assert.Contains(t, text, "memory with markers, "+addr)
	}
	fits(t, r.stdout)
	s.beat(0)
	r = s.try(t, "advance", append(all, "-percent", "100")...)
	require.Equal(t, codeOK, r.code, "%s%s", r.stdout, r.stderr)
	s.beat(1)
	assert.Equal(t, codeError, s.try(t, "sweep", s.masters()...).code, "a proxy has no SCAN")
	passes := []string{"-passes", filepath.Join(t.TempDir(), "passes.json")}
	r = s.try(t, "sweep", append(all, passes...)...)
	require.Equal(t, codeOK, r.code, "%s%s", r.stdout, r.stderr)
	assert.Contains(t, unwrapped(r.stdout), fmt.Sprint("moved ", keys))
	r = s.try(t, "verify", append(all, passes...)...)
	require.Equal(t, codeOK, r.code, "%s%s", r.stdout, r.stderr)
	assert.Contains(t, unwrapped(r.stdout), fmt.Sprint("moved, equal to the marker's value ", keys))
	r = s.try(t, "status", s.oldMasters()...)
	assert.Contains(t, unwrapped(r.stdout), fmt.Sprint("in the new store ", keys))
	require.Equal(t, codeOK, s.try(t, "reverse").code)
	for range 2 {
		r = s.try(t, "sweep", append(all, passes...)...)
		require.Equal(t, codeOK, r.code, "%s%s", r.stdout, r.stderr)
	}
	r = s.try(t, "verify", append(all, passes...)...)
	require.Equal(t, codeOK, r.code, "%s%s", r.stdout, r.stderr)
	assert.Contains(t, r.stdout, allHome)
	for i := range keys {
		v, err := s.stores[0].Read(t.Context(), rmw.Key{Name: fmt.Sprint("room:", i)})
		require.NoError(t, err)
		assert.Equal(t, "v", v.Text())
	}
}

// With a picture of the servers that is wrong, no pass begins.
func TestCutoverChecksItsServers(t *testing.T) {
	s := newSidesOf(t, proxycompat.Codis32(), 2)
	other := miniredis.RunT(t)
	wrong, err := proxytest.Start(proxytest.Config{Backends: []string{other.Addr()}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, wrong.Close()) })
	s.fill(t, 40)
	s.copying(t, "100")
	old, masters, proxies := s.olds[0]+","+s.olds[1], s.masters()[1], s.proxies[1].Addr()+","+wrong.Addr()
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"a missing old master":  {[]string{"-old-masters", s.olds[0], "-new-masters", masters}, "a missing master: "},
		"a wrong old master":    {[]string{"-old-masters", old + "," + other.Addr(), "-new-masters", masters}, "a wrong master: number 3"},
		"a wrong new master":    {[]string{"-old-masters", old, "-new-masters", other.Addr()}, "a wrong master: number 1"},
		"one new master more":   {[]string{"-old-masters", old, "-new-masters", masters + "," + other.Addr()}, "a wrong master: number 2"},
		"a proxy of another":    {[]string{"-old-masters", old, "-new", proxies}, "a wrong address: number 2 of SweepConfig.NewProxies"},
		"the old store's proxy": {[]string{"-old-masters", old, "-new", s.proxies[0].Addr()}, "one store: 128 of 128"},
	} {
		for _, action := range []string{"sweep", "verify"} {
			passes := filepath.Join(t.TempDir(), "passes.json")
			r := s.try(t, action, append(tc.args, "-passes", passes)...)
			assert.Equal(t, codeError, r.code, name)
			assert.Contains(t, unwrapped(r.stderr), tc.want, name)
			assert.Empty(t, r.stdout)
			assert.NoFileExists(t, passes)
		}
	}
	r := s.try(t, "sweep", append(s.oldMasters(), s.masters()...)...)
	require.Equal(t, codeOK, r.code, r.stderr)
	assert.Contains(t, unwrapped(r.stdout), "moved 40", "nothing had moved before")
	for _, server := range append(s.servers[:], other) {
		for _, name := range server.Keys() {
			assert.NotContains(t, name, "~cutover:probe")
		}
	}
}

// A sweep goes on over the other proxy after one of them has gone for good. The next command names the one that is gone.
func TestCutoverOverSeveralProxies(t *testing.T) {
	s := newSides(t)
	s.fill(t, 400)
	s.copying(t, "100")
	second, err := proxytest.Start(proxytest.Config{Backends: []string{s.servers[1].Addr()}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, second.Close()) })
	var gone sync.WaitGroup
	var end sync.Once
	second.Inject(proxytest.Fault{
		Command: "EVALSHA", Skip: 20, Times: -1, Action: proxytest.DropRequest,
		Do: func() { end.Do(func() { gone.Go(func() { _ = second.Close() }) }) },
	})
	args := append(s.masters(), "-new", second.Addr()+","+s.proxies[1].Addr())
	r := s.try(t, "sweep", args...)
	require.Equal(t, codeOK, r.code, "%s%s", r.stdout, r.stderr)
	assert.Contains(t, unwrapped(r.stdout), "times that a store was away")
	gone.Wait()
	r = s.try(t, "verify", append(args, "-max-outage", "0s")...)
	assert.Equal(t, codeError, r.code)
	assert.Contains(t, unwrapped(r.stderr), "number 1 of SweepConfig.NewProxies (-new)")
	r = s.try(t, "verify", append(s.masters(), "-new", s.proxies[1].Addr())...)
	assert.Equal(t, codeOK, r.code, "%s%s", r.stdout, r.stderr)
}
