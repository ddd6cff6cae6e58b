package lockupdate_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/internal/testing/long"
	locking "github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/proxycompat/scriptcheck"
	"github.com/unwatch/unwatch/rmw"
)

// Every profile permits all commands of this package. The hook of the profile refuses any other
// command before it is sent.
func TestEveryCommandIsPermittedByEveryProfile(t *testing.T) {
	for name, profile := range profiles(t) {
		if !takesScripts(profile) {
			continue
		}
		for with, cfg := range map[string]lockupdate.Config{
			"": {}, ", master reads": {MasterReads: true}, ", notify Redisson": {NotifyRedisson: true}, ", on demand": onDemand,
		} {
			bubble(t, name+with, func(t *testing.T) {
				if name != proxycompat.Codis32().Name() {
					long.Repeats(t)
				}
				f := newFixtureOn(t, profile, cfg)
				seen := f.exercise(profile, cfg, func(context.Context, rmw.Key) { time.Sleep(6 * time.Second) }) // a renewal
				unused := map[string]bool{
					"read": cfg.MasterReads, "release": cfg.NotifyRedisson, "release_notify": !cfg.NotifyRedisson,
					"look": true, "decided": true, "list": true, // see TestTransactMeets, TestSweep
				}
				for script := range lockupdate.Scripts() {
					assert.Equal(t, !unused[script], seen[script], "the script %s was exercised", script)
				}
				assert.Equal(t, cfg.MasterReads, seen["GET"] && seen["HGETALL"])
				assert.Equal(t, cfg.LockOnDemand, seen["EXISTS"])
			})
		}
	}
}

// profiles returns all profiles by name.
func profiles(t *testing.T) map[string]*proxycompat.Profile {
	t.Helper()
	all := map[string]*proxycompat.Profile{}
	for _, name := range proxycompat.Names() {
		var err error
		all[name], err = proxycompat.Lookup(name)
		require.NoError(t, err)
	}
	return all
}

func takesScripts(p *proxycompat.Profile) bool {
	return p.Check("EVAL", "return 1", "1", "k", "v") == nil
}

// A profile that refuses scripts supports another Commit, or an update fails without sending a
// command.
func TestProfilesThatRefuseScripts(t *testing.T) {
	ways := map[string]lockupdate.Commit{"pika": lockupdate.CommitVX}
	for name, profile := range profiles(t) {
		if takesScripts(profile) {
			continue
		}
		bubble(t, name, func(t *testing.T) {
			cfg := lockupdate.Config{Commit: ways[name]}
			f := newFixtureOn(t, profile, cfg)
			if cfg.Commit != lockupdate.CommitGuarded {
				f.exercise(profile, cfg, func(context.Context, rmw.Key) { time.Sleep(6 * time.Second) })
				return
			}
			f.rdb.AddHook(proxycompat.Hook(profile))
			require.ErrorIs(t, operations["update"](t.Context(), f.store), rmw.ErrUnsupported)
			assert.Empty(t, f.proxy.Calls())
		})
	}
}

// NotifyRedisson works where Redisson can subscribe. scriptcheck reports the other profiles. It
// does not know that Alibaba's proxy refuses PUBLISH in a script.
func TestProfilesThatNotifyRedisson(t *testing.T) {
	var heard []string
	for name, profile := range profiles(t) {
		found, err := scriptcheck.CheckScript(profile, lockupdate.Scripts()["release_notify"])
		require.NoError(t, err)
		for _, f := range found {
			assert.Equal(t, scriptcheck.Unheard, f.Rule, "%s: %v", name, f)
		}
		if len(found) == 0 {
			heard = append(heard, name)
		}
	}
	assert.ElementsMatch(t, []string{"alibaba", "cluster", "predixy", "predixy-single", "redis"}, heard)
}

// Every script runs on Redis 3.2 to 8, and behind proxies that check scripts or route by the first
// key.
func TestScriptsRunOnRedis32(t *testing.T) {
	_, called := lockupdate.Config{NotifyRedisson: true}.RequiredCommands()
	call := regexp.MustCompile(`redis\.p?call\('([A-Z]+)'(?:, )?(\S*?)[,)]`)
	var used []string
	for name, source := range lockupdate.Scripts() {
		code := regexp.MustCompile(`(?m)--.*$`).ReplaceAllString(source, "")
		commands := strings.Count(code, "redis.") - strings.Count(code, "redis.sha1hex(") - strings.Count(code, "redis.replicate_commands")
		assert.Len(t, call.FindAllString(code, -1), commands, "%s: only redis.call and pcall('NAME', KEYS[1] …)", name)
		for _, m := range call.FindAllStringSubmatch(code, -1) {
			used = append(used, m[1])
			switch m[1] { // these have no key
			case "PUBLISH":
				assert.Equal(t, "release_notify", name)
				continue
			case "TIME", "CLUSTER": // CLUSTER fails on a single server, which is what the script asks
				assert.Contains(t, []string{"take", "open", "look"}, name)
				assert.Contains(t, code, "redis.replicate_commands()", "before Redis 5, a write after it is refused otherwise")
				continue
			}
			assert.Equal(t, "KEYS[1]", m[2], "%s: the key must be literally KEYS[1]", name)
		}
		assert.NotContains(t, code, "KEYS[2]", name)
		assert.NotContains(t, strings.ReplaceAll(code, "redis.pcall('SET', KEYS[1], ARGV[4], 'KEEPTTL').err", ""), "KEEPTTL",
			"%s: since Redis 6.0, so its error must be caught", name)
		assert.NotRegexp(t, `(?i)'(PXAT|EXAT|P?EXPIREAT|P?EXPIRETIME)'`, code, "%s: the clocks of servers and clients differ", name)
		assert.True(t, strings.HasPrefix(source, "-- "), "%s: must begin with its purpose", name)
		assert.Contains(t, source, "-- KEYS[1]", name)
		assert.Contains(t, source, "-- Returns", name)
	}
	slices.Sort(used)
	assert.Equal(t, called, slices.Compact(used), "RequiredCommands must list what the scripts call")
}

// By default, go-redis runs a slow script up to four times, as the control shows. The Store runs it
// once.
func TestSlowScriptRunsOnce(t *testing.T) {
	for times, use := range map[int]func(ctx context.Context, rdb *redis.Client) error{
		4: func(ctx context.Context, rdb *redis.Client) error { // control: without NoRetry
			return rdb.Eval(context.WithoutCancel(ctx), lockupdate.Scripts()["commit_string"], []string{"s"}, "keep", "any", "", "x").Err()
		},
		1: func(ctx context.Context, rdb *redis.Client) error {
			s := lockupdate.New(rdb, lockupdate.Config{})
			err := operations["update"](ctx, s)
			require.ErrorIs(t, err, rmw.ErrOutcomeUnknown)
			return errors.Join(err, s.Close())
		},
	} {
		withKey(t, lockupdate.Config{}, func(t *testing.T, f *fixture, _ rmw.Key) {
			opts := *f.opts
			opts.MaxRetries, opts.ReadTimeout = 3, 300*time.Millisecond
			rdb := redis.NewClient(&opts)
			f.proxy.Inject(proxytest.Fault{Match: isScript("commit_string"), Times: -1, Action: proxytest.HangReply})
			require.Error(t, use(timeout(t.Context(), t, 250*time.Millisecond), rdb))
			time.Sleep(time.Minute)
			assert.Equal(t, times, f.sent()["commit_string"])
			require.NoError(t, rdb.Close())
		})
	}
}

// A WATCH writer stores the same bytes as a lost commit. Of two updates one is stored. With
// SoleWriter, both callers get success.
func TestSoleWriterIsAPromise(t *testing.T) {
	for _, sole := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixtureOn(t, proxycompat.Redis(), lockupdate.Config{SoleWriter: sole})
			legacy := cas.New(f.direct(), cas.Config{})
			defer func() { require.NoError(t, legacy.Close()) }()
			key := f.warmKey()
			f.proxy.Inject(proxytest.Fault{Match: isScript("commit_string"), Action: proxytest.DropRequest, Do: func() {
				_, err := legacy.Update(context.Background(), key, appendText("1"))
				assert.NoError(t, err)
			}})
			_, err := f.store.Update(t.Context(), key, appendText("1"))
			assert.Equal(t, "www1", f.text(key))
			if sole {
				require.NoError(t, err, "control: the broken promise goes unnoticed")
			} else {
				require.ErrorIs(t, err, rmw.ErrOutcomeUnknown)
			}
		})
	}
}

// An AutoPipeliner that is not full-duplex works like its client.
func TestHalfDuplexAutoPipeline(t *testing.T) {
	f := newFixture(t, lockupdate.Config{})
	auto, err := f.rdb.AutoPipeline()
	require.NoError(t, err)
	s := lockupdate.New(auto, lockupdate.Config{})
	for range 3 {
		_, err = s.Update(t.Context(), testKey, appendText("x"))
		require.NoError(t, err)
	}
	require.NoError(t, s.Close())
	assert.Equal(t, "xxx", f.text(testKey))
}

// An invalid config or client is an error of every call, not a panic.
func TestInvalidConfig(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer func() { require.NoError(t, rdb.Close()) }()
	fullDuplex, err := rdb.AutoPipelineWithOptions(&redis.AutoPipelineOptions{FullDuplex: true})
	require.NoError(t, err)
	ring := redis.NewRing(&redis.RingOptions{})
	defer func() { require.NoError(t, ring.Close()) }()
	stores := map[string]*lockupdate.Store{
		"redis.Ring": lockupdate.New(ring, lockupdate.Config{}),
		"nil":        lockupdate.New(nil, lockupdate.Config{}), "FullDuplex": lockupdate.New(fullDuplex, lockupdate.Config{}),
	}
	for want, cfg := range map[string]lockupdate.Config{
		"Lease is 1ms":   {Lease: time.Millisecond},
		"Lease is 500ms": {Commit: lockupdate.CommitVX, Lease: 500 * time.Millisecond}, // Pika before 4 sets no expiry below a second
		"LockDelay":      {LockDelay: -1},
		"MaxHold":        {MaxHold: -1},
		"MaxWait":        {MaxWait: -1},
		"MaxAttempts":    {MaxAttempts: -1},
		"Poll is":        {Poll: rmw.Backoff{Base: -1}},
		"Linger":         {Linger: time.Second},
		"Commit is":      {Commit: lockupdate.CommitCAS + 1},
		"NotifyRedisson": {NotifyRedisson: true, Commit: lockupdate.CommitIFEQ},
		"SoleWriter":     {LockOnDemand: true, SoleWriter: true},
	} {
		stores[want] = lockupdate.New(rdb, cfg)
	}
	for want, s := range stores {
		for name, call := range operations {
			err := call(t.Context(), s)
			require.ErrorIs(t, err, rmw.ErrInvalid, name)
			require.ErrorContains(t, err, want)
		}
		require.NoError(t, s.Close())
	}
}

// exercise makes calls that need every command, and more during each fn. It returns the scripts and commands
// that were sent. The profile must permit them, with one key each, and RequiredCommands must list them.
func (f *fixture) exercise(
	profile *proxycompat.Profile, cfg lockupdate.Config, during func(ctx context.Context, key rmw.Key),
) (seen map[string]bool) {
	f.rdb.AddHook(proxycompat.Hook(profile))
	keys := []rmw.Key{testKey, {Name: "s", TTL: time.Hour}, testKey, {Name: "s", TTL: rmw.NoTTL}}
	if cfg.Commit == lockupdate.CommitGuarded {
		keys = append(keys, hashKey)
	}
	for _, key := range keys {
		fn := appendText("x")
		if key == hashKey {
			fn = setField("f", "x")
		}
		f.update(key, within(func(ctx context.Context) { during(ctx, key) }, fn))
		require.NoError(f.t, f.store.WithLock(f.t.Context(), key.Name, func(ctx context.Context) error {
			_, err := locking.Token(ctx)
			during(ctx, key)
			return err
		}))
		f.value(key)
		f.peek(key)
		_, err := f.store.Inspect(f.t.Context(), key.Name)
		require.NoError(f.t, err)
		f.waitReleases() // else the next call could inherit the lock and its age
	}
	f.update(testKey, remove)
	f.waitReleases()
	if cfg.Commit == lockupdate.CommitGuarded {
		for range 2 { // the second one changes the values
			_, err := f.store.Transact(f.t.Context(), []rmw.Key{testKey, hashKey}, func(ctx context.Context, tx *rmw.Tx) error {
				tx.Put(testKey, rmw.String(tx.Get(testKey).Text()+"x"))
				tx.Put(hashKey, tx.Get(hashKey).With("g", "x"))
				return nil
			})
			require.NoError(f.t, err)
		}
		synctest.Wait()
	}
	sent, _ := cfg.RequiredCommands()
	seen = map[string]bool{}
	for _, c := range f.proxy.Calls() {
		if c.Command() == "HELLO" || c.Command() == "CLIENT" {
			continue // the client's own handshake, on plain Redis only
		}
		require.NoError(f.t, profile.Check(c.Args...), c.Args[0])
		require.Contains(f.t, sent, c.Command())
		switch {
		case strings.HasPrefix(c.Command(), "EVAL"):
			require.Equal(f.t, "1", c.Args[2], "one key, always")
		case strings.HasPrefix(c.Args[1], "~tx:"): // decisions, and the index of keys
			require.Contains(f.t, []string{"DEL", "HDEL", "HSET", "HSETNX", "SADD"}, c.Command())
		case cfg.Commit == lockupdate.CommitGuarded:
			require.Len(f.t, c.Args, 2)
		default:
			require.Contains(f.t, []string{"s", "/lock/s", "/wait/lock/s", "/fence/lock/s"}, c.Args[1])
		}
		seen[lockupdate.ScriptName(c.Args)] = true
	}
	return seen
}
