package profilefile_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/profilefile"
)

const everyKey = `
$schema: profile.schema.json
name: mine
title: My proxy
about: Our own one
base: twemproxy
backend: 7.10
refusal: ERR no %s
hash: config
hashTag: "{}"
idle: 90s
clients: 250
commands:
  - command: [cas, CAD]
    verdict: ok
    why: ours
    source: our code
    instead: nothing
    error: ERR no
    args: 3
    route: 1
    keys: 1:-1
  - command: "*"
    verdict: closes
    why: not ours
    source: 2026-01-02
`

func everyChange() proxycompat.Changes {
	return proxycompat.Changes{
		Name: "mine", Title: "My proxy", About: "Our own one", Backend: "7.10", Refusal: "ERR no %s",
		Hash: "config", HashTag: "{}", Idle: "90s", Clients: "250",
		Rules: []proxycompat.RuleChange{
			{
				Commands: []string{"cas", "CAD"}, Verdict: "ok", Why: "ours", Source: "our code",
				Instead: "nothing", Error: "ERR no", Args: "3", Route: "1", Keys: "1:-1",
			},
			{Commands: []string{"*"}, Verdict: "closes", Why: "not ours", Source: "2026-01-02"},
		},
	}
}

func extended(t *testing.T, base *proxycompat.Profile, c proxycompat.Changes) *proxycompat.Profile {
	t.Helper()
	p, err := base.Extend(c)
	require.NoError(t, err)
	return p
}

// This test fails if Changes has a field that no file can set.
func TestEveryFieldIsRead(t *testing.T) {
	c := everyChange()
	for _, of := range []reflect.Value{reflect.ValueOf(c), reflect.ValueOf(c.Rules[0])} {
		for i := range of.NumField() {
			assert.False(t, of.Field(i).IsZero(), "%s is said nowhere", of.Type().Field(i).Name)
		}
	}
	got, err := profilefile.Extend(nil, "mine.yaml", []byte(everyKey))
	require.NoError(t, err)
	assert.Equal(t, extended(t, proxycompat.Twemproxy05(), c), got)
}

func TestUnusualValidFiles(t *testing.T) {
	base := proxycompat.Codis32()
	for name, of := range map[string]struct {
		data string
		want proxycompat.Changes
	}{
		"all keys": {strings.Replace(everyKey, "base: twemproxy", "", 1), everyChange()},
		"flow":     {"{name: mine}", proxycompat.Changes{Name: "mine"}},
		"mark":     {"\ufeffname: mine\n", proxycompat.Changes{Name: "mine"}},
		"CRLF":     {"name: mine\r\ntitle: a b\r\n", proxycompat.Changes{Name: "mine", Title: "a b"}},
		"anchor":   {"name: &n mine\ntitle: *n\n", proxycompat.Changes{Name: "mine", Title: "mine"}},
		"number":   {"name: mine\ntitle: 7.0\n", proxycompat.Changes{Name: "mine", Title: "7.0"}},
		"norway":   {"name: no\n", proxycompat.Changes{Name: "no"}},
		"closes":   {"name: mine\ncloses: true\n", proxycompat.Changes{Name: "mine", Refusal: "-"}},
		"never":    {"name: mine\nidle: never\n", proxycompat.Changes{Name: "mine", Idle: "never"}},
		"limit":    {"name: mine\nclients: unlimited\n", proxycompat.Changes{Name: "mine", Clients: "unlimited"}},
		"JSON":     {"{\"name\": \"mine\", \"clients\": 5}", proxycompat.Changes{Name: "mine", Clients: "5"}},
		"tabs":     {"{\n\t\"name\": \"mine\",\r\n\t\"backend\":\t7.10\r\n}", proxycompat.Changes{Name: "mine", Backend: "7.10"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := profilefile.Extend(base, "mine", []byte(of.data))
			require.NoError(t, err)
			assert.Equal(t, extended(t, base, of.want), got)
			assert.Equal(t, proxycompat.Codis32(), base, "the base is as it was")
		})
	}
}

// written returns the path of a file with these data.
func written(t *testing.T, data string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte(data), 0o600))
	return path
}

func TestLoad(t *testing.T) {
	got, err := profilefile.Load(written(t, everyKey))
	require.NoError(t, err)
	assert.Equal(t, extended(t, proxycompat.Twemproxy05(), everyChange()), got)

	_, err = profilefile.Load(filepath.Join(t.TempDir(), "missing.yaml"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = profilefile.Load(t.TempDir())
	require.Error(t, err)
	path := written(t, "base: codis\nnme: x\n")
	_, err = profilefile.Load(path)
	require.ErrorContains(t, err, path+":2: field nme ")
}

func TestOpen(t *testing.T) {
	file := written(t, "name: rooms\nbase: codis@3.2\nabout: ours\ntitle: ours\n")
	for given, want := range map[string]string{
		"codis": "codis", "CODIS": "codis", "codis@3.2": "codis@3.2", "envoy-old@7.0": "envoy-old@7.0", file: "rooms",
	} {
		p, err := profilefile.Open(given)
		require.NoError(t, err, given)
		assert.Equal(t, want, p.Name(), given)
	}
	for given, want := range map[string]string{
		"haproxy": "known are alibaba, ", "codis@new": "bad version", "missing.yaml": "missing.yaml", "./missing": "missing",
	} {
		_, err := profilefile.Open(given)
		require.ErrorContains(t, err, want, given)
	}
}

// A profile file is a profile or a meaningful error.
func FuzzExtend(f *testing.F) {
	for _, seed := range []string{
		"", everyKey, "\ufeffname: a\r\nbase: codis\r\n", "{\n\t\"name\": \"a\",\n\t\"base\": \"redis\"\n}",
		"name: *a", "a: &a [*a]\nname: *a",
		"name: a\nbase: codis\ncommands: [{command: [], verdict: x}]",
		"---\n---\n", "? ? a", "! !00 \xf6", "name: !!binary YQ==", "|0\n-", "<<: {}",
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	codis := proxycompat.Codis32()
	f.Fuzz(func(t *testing.T, data []byte, given bool) {
		var base *proxycompat.Profile
		if given {
			base = codis
		}
		p, err := profilefile.Extend(base, "f", data)
		if err == nil {
			require.NotEmpty(t, p.Name())
		} else {
			require.Contains(t, err.Error(), "f:")
		}
	})
}
