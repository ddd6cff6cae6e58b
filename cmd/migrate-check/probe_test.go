package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/probe"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/profilefile"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

func start(t *testing.T, cfg proxytest.Config) *proxytest.Proxy {
	t.Helper()
	p, err := proxytest.Start(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	return p
}

func TestProbeText(t *testing.T) {
	t.Parallel()
	proxy := start(t, proxytest.Config{Engines: 2})
	r := try(t.Context(), "probe", proxy.Addr())
	assert.Equal(t, codeOK, r.code, "nothing was expected")
	assert.Empty(t, r.stderr)
	fits(t, r.stdout)
	assert.True(t, strings.HasPrefix(r.stdout, proxy.Addr()+" is most like Codis 3.2"), r.stdout)
	assert.Contains(t, r.stdout, "WATCH does not work here")
}

func TestProbeDiffers(t *testing.T) {
	t.Parallel()
	proxy := start(t, proxytest.Config{Profile: proxycompat.Twemproxy05(), Engines: 2})
	file := filepath.Join(t.TempDir(), "ours.yaml")
	r := try(t.Context(), "probe", "-profile", "codis", proxy.Addr(), "-o", file)
	assert.Equal(t, codeDiffers, r.code)
	assert.Contains(t, r.stderr, `wrote the profile "ours" to`)
	assert.Contains(t, r.stdout, "differences from codis")

	profile, err := profilefile.Load(file)
	require.NoError(t, err)
	assert.Equal(t, "ours", profile.Name())
	assert.Equal(t, proxycompat.Closes, profile.Rule("WATCH").Verdict)
	assert.Equal(t, proxycompat.OneKey, profile.Rule("EVAL").Verdict, "that it closes without a key is no rule for EVAL")
}

// What -o has written is what the address is like, and -profile takes it back.
func TestProbeProfileFile(t *testing.T) {
	t.Parallel()
	proxy := start(t, proxytest.Config{Profile: proxycompat.Twemproxy05(), Engines: 2})
	file := filepath.Join(t.TempDir(), "ours.yaml")
	require.Equal(t, codeDiffers, try(t.Context(), "probe", proxy.Addr(), "-profile", "twemproxy").code, "its servers lack some commands")
	require.Equal(t, codeOK, try(t.Context(), "probe", proxy.Addr(), "-o", file).code)
	r := try(t.Context(), "probe", proxy.Addr(), "-profile", file)
	assert.Equal(t, codeOK, r.code, r.stdout+r.stderr)
	assert.Contains(t, r.stdout, "Nothing differs from ours")
	assert.Contains(t, r.stdout, "It is as ours says")

	r = try(t.Context(), "probe", proxy.Addr(), "-profile", file, "-o", filepath.Join(t.TempDir(), "more.yaml"))
	assert.Equal(t, codeError, r.code)
	assert.Contains(t, r.stderr, "-profile is a file")
}

// Each mistake in a file is named with its line, in a line of its own.
func TestProbeProfileFileWithMistakes(t *testing.T) {
	t.Parallel()
	proxy := start(t, proxytest.Config{})
	file := filepath.Join(t.TempDir(), "ours.yaml")
	require.NoError(t, os.WriteFile(file, []byte("name: ours\nbass: codis\ncolour: red\n"), 0o600))
	r := try(t.Context(), "probe", proxy.Addr(), "-profile", file)
	assert.Equal(t, codeError, r.code)
	assert.Equal(t, 3, strings.Count(r.stderr, "migrate-check probe"), r.stderr)
	assert.Contains(t, r.stderr, "ours.yaml:2: field bass")
	assert.Contains(t, r.stderr, "ours.yaml:3: field colour")
	assert.Empty(t, proxy.Calls(), "nothing was asked")
	r = try(t.Context(), "probe", proxy.Addr(), "-profile", "none.json")
	assert.Equal(t, codeError, r.code)
	assert.Contains(t, r.stderr, "open none.json")
}

func TestProbeJSON(t *testing.T) {
	t.Parallel()
	proxy := start(t, proxytest.Config{})
	r := try(t.Context(), "probe", proxy.Addr(), "-json")
	assert.Equal(t, codeOK, r.code)
	var report probe.Report
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &report))
	assert.Equal(t, "codis", report.MostLike())
	assert.Equal(t, probe.TakenApart, report.Transactions.Multi)
}

func TestProbePassword(t *testing.T) {
	proxy := start(t, proxytest.Config{Password: "hunter2"})
	r := try(t.Context(), "probe", proxy.Addr())
	assert.Equal(t, codeError, r.code)
	assert.Contains(t, r.stderr, "it wants a password")
	assert.Contains(t, r.stderr, "-password-env")
	fits(t, r.stderr)

	t.Setenv("UNWATCH_TEST_PASSWORD", "hunter2")
	r = try(t.Context(), "probe", proxy.Addr(), "-password-env", "UNWATCH_TEST_PASSWORD")
	assert.Equal(t, codeOK, r.code, r.stderr)
	assert.NotContains(t, r.stdout, "hunter2")

	file := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(file, []byte("wrong hunter2\n"), 0o600))
	r = try(t.Context(), "probe", proxy.Addr(), "-password-file", file)
	assert.Equal(t, codeError, r.code)
	assert.NotContains(t, r.stderr, "hunter2")
}

// The file of a password may be a pipe, which is empty when it is read again.
func TestPasswordFileIsReadOnce(t *testing.T) {
	f := connectFlags{passwordFile: filepath.Join(t.TempDir(), "password")}
	require.NoError(t, os.WriteFile(f.passwordFile, []byte("hunter2\n"), 0o600))
	for range 2 {
		a, err := f.address("-old", "127.0.0.1:1", os.LookupEnv)
		require.NoError(t, err)
		assert.Equal(t, "hunter2", a.Password)
		require.NoError(t, os.WriteFile(f.passwordFile, nil, 0o600))
	}
}

func TestProbeTLSHint(t *testing.T) {
	t.Parallel()
	proxy := start(t, proxytest.Config{})
	r := try(t.Context(), "probe", proxy.Addr(), "-tls-skip-verify")
	assert.Equal(t, codeError, r.code)
	assert.Contains(t, r.stderr, "Try without the flags")
}

// Ctrl-C: what it wrote is deleted.
func TestProbeInterrupted(t *testing.T) {
	t.Parallel()
	proxy := start(t, proxytest.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	proxy.Inject(proxytest.Fault{Command: "ZADD", Times: -1, Action: proxytest.HangRequest, Do: cancel})
	r := try(ctx, "probe", proxy.Addr(), "-timeout", "1m", "-budget", "1h")
	assert.Equal(t, codeError, r.code)
	assert.Contains(t, r.stderr, "ended before it was done")
	for _, key := range proxy.Engine(0).Keys() { // ZADD may yet be executed on it
		assert.Positive(t, proxy.Engine(0).TTL(key))
	}
}

// A file of others is not overwritten, and what cannot be written is found out first.
func TestProbeOutput(t *testing.T) {
	t.Parallel()
	proxy := start(t, proxytest.Config{})
	file := filepath.Join(t.TempDir(), "ours.yml")
	require.NoError(t, os.WriteFile(file, []byte("mine"), 0o600))
	r := try(t.Context(), "probe", proxy.Addr(), "-o", file)
	assert.Equal(t, codeError, r.code)
	assert.Contains(t, r.stderr, "exists; -f")
	r = try(t.Context(), "probe", proxy.Addr(), "-o", filepath.Join(file, "no-folder.yaml"), "-f")
	assert.Equal(t, codeError, r.code)
	r = try(t.Context(), "probe", "127.0.0.1:1", "-o", file, "-f")
	assert.Equal(t, codeError, r.code)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "mine", string(data), "it was not asked, so nothing is written")
	assert.Empty(t, proxy.Calls())

	other := filepath.Join(t.TempDir(), "other.yaml")
	r = try(t.Context(), "probe", "127.0.0.1:1", "-o", other)
	assert.Equal(t, codeError, r.code)
	assert.NoFileExists(t, other)

	r = try(t.Context(), "probe", proxy.Addr(), "-o", file, "-f")
	assert.Equal(t, codeOK, r.code, r.stderr)
	profile, err := profilefile.Load(file)
	require.NoError(t, err)
	assert.Equal(t, "ours", profile.Name())
}

// A user who may do little is told so, and no conclusion is drawn.
func TestProbeLittleIsPermitted(t *testing.T) {
	t.Parallel()
	proxy := start(t, proxytest.Config{})
	may := []string{"PING", "SET", "DEL", "PEXPIRE"}
	proxy.Inject(proxytest.Fault{
		Match: func(args []string) bool { return !slices.Contains(may, strings.ToUpper(args[0])) }, Times: -1,
		Action: proxytest.RefuseWith, Text: "NOPERM this user has no permissions to run the 'x' command",
	})
	file := filepath.Join(t.TempDir(), "ours.yaml")
	for _, args := range [][]string{{"probe", proxy.Addr(), "-o", file}, {"probe", proxy.Addr(), "-profile", "codis@7.0"}} {
		r := try(t.Context(), args...)
		assert.Equal(t, codeError, r.code, r.stdout)
		assert.Contains(t, r.stderr, "not enough was answered")
		assert.Contains(t, r.stderr, "the user lacks the right for")
		assert.NotContains(t, r.stdout, "It is as")
		fits(t, r.stdout)
		assert.NoFileExists(t, file)
	}
	may = may[:1]
	r := try(t.Context(), "probe", proxy.Addr())
	assert.Equal(t, codeError, r.code)
	assert.Contains(t, r.stderr, "-prefix TEXT")
}

// That nothing differs is not said where something was not answered.
func TestProbeUnanswered(t *testing.T) {
	t.Parallel()
	proxy := start(t, proxytest.Config{})
	proxy.Inject(proxytest.Fault{Command: "ZCARD", Times: -1, Action: proxytest.HangRequest})
	r := try(t.Context(), "probe", proxy.Addr(), "-profile", "codis", "-timeout", "3s")
	assert.NotContains(t, r.stdout, "observed timeout")
	assert.Contains(t, r.stdout, "nothing is known of it: ZCARD")
}
