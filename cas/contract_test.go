package cas_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/internal/testing/contract"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// watches reports whether WATCH and MULTI work behind the profile.
func watches(profile *proxycompat.Profile) bool {
	return profile.Check("WATCH", "k") == nil && profile.Check("MULTI") == nil
}

// The legacy path works wherever WATCH does.
func TestContract(t *testing.T) {
	for _, name := range append(proxycompat.Names(), "redis@3.2") {
		profile, err := proxycompat.Lookup(name)
		require.NoError(t, err)
		if !watches(profile) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			b := contract.Bench{
				Proxy:   proxytest.Config{Profile: profile, InMemory: true, Engines: 2},
				Open:    func(rdb *redis.Client) rmw.Store { return cas.New(rdb, cas.Config{}) },
				OneSlot: true,
			}
			if profile.Server() || name == "predixy-single" {
				b.Proxy.Engines = 1
			}
			if name == "redis@3.2" { // the first write finds out that KEEPTTL is missing, and calls fn twice
				b.Open = func(rdb *redis.Client) rmw.Store {
					s := cas.New(rdb, cas.Config{})
					res, err := s.Update(context.Background(), rmw.Key{Name: "first"}, appendText("x"))
					require.NoError(t, err)
					require.Equal(t, 2, res.Attempts)
					return s
				}
			}
			b.RunFake(t)
		})
	}
}

// Where WATCH does not work an update is refused, fn is not called and nothing is written; so is a Peek,
// before its MULTI is sent. Reading works. The profile check refuses before anything is sent, also where a
// proxy says OK and protects nothing. Proxies say that they do not support the command. Twemproxy closes the
// connection without a word: that could mean anything, so it counts as not available.
func TestWhereWatchDoesNotWork(t *testing.T) {
	for _, name := range proxycompat.Names() {
		profile, err := proxycompat.Lookup(name)
		require.NoError(t, err)
		harms := profile.Rule("WATCH").Verdict == proxycompat.HarmsOthers
		for _, checked := range []bool{false, true} {
			if watches(profile) || harms && !checked {
				continue
			}
			t.Run(fmt.Sprint(name, " checked=", checked), withFixtureOn(profile, cas.Config{}, func(t *testing.T, f *fixture) {
				reason, tries := rmw.ErrUnavailable, 3
				switch {
				case checked:
					f.rdb.AddHook(proxycompat.Hook(profile))
					reason, tries = rmw.ErrUnsupported, 0
				case profile.RefusalText("WATCH") != "":
					reason, tries = rmw.ErrUnsupported, 1
				}
				f.set("x")
				f.warm()
				res, err := f.store.Update(t.Context(), key, mustNotRun(t))
				require.ErrorIs(t, err, reason)
				require.NotErrorIs(t, err, rmw.ErrOutcomeUnknown)
				assert.Equal(t, errors.Is(err, rmw.ErrUnavailable), rmw.Retryable(err))
				assert.Equal(t, rmw.Result{}, res)
				assert.Equal(t, slices.Repeat([]string{"WATCH"}, tries), f.commands())
				assert.Equal(t, "x", f.text())

				f.warm()
				_, _, err = f.store.Peek(t.Context(), key)
				require.ErrorIs(t, err, reason)
				assert.Equal(t, errors.Is(err, rmw.ErrUnavailable), rmw.Retryable(err))
				assert.Equal(t, slices.Repeat([]string{"WATCH"}, min(tries, 1)), f.commands())

				v, err := f.store.Read(t.Context(), key)
				require.NoError(t, err)
				assert.Equal(t, "x", v.Text())
			}))
		}
	}
}

// Store keeps the contract in many programs.
func TestPrograms(t *testing.T) { runPrograms(t, 300) }

func TestLongPrograms(t *testing.T) {
	long.Only(t)
	runPrograms(t, 3000)
}

func runPrograms(t *testing.T, programs int) {
	contract.Bench{
		Proxy:   proxytest.Config{Profile: proxycompat.Redis(), InMemory: true},
		Open:    func(rdb *redis.Client) rmw.Store { return cas.New(rdb, cas.Config{}) },
		OneSlot: true,
	}.RunPrograms(t, programs)
}
