package lockupdate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// inTwoGroups runs the first fns as one group, and the others as the next, which
// forms while the commit of the first is held up; meanwhile is done then.
func (f *fixture) inTwoGroups(key rmw.Key, first, second []rmw.UpdateFunc, meanwhile func()) (fates []*fate) {
	letGo := f.holdUp("commit_string")
	goOn, fates := f.line(key, first...)
	go goOn()
	synctest.Wait()
	for _, fn := range second {
		fates = append(fates, start(f.t.Context(), f.store, key, fn))
	}
	meanwhile()
	letGo()
	for _, fate := range fates {
		<-fate.done
	}
	return fates
}

// A stranger's write while a commit is on its way has the whole group, and all that
// was built on it, run again on what the stranger wrote: nothing is lost or doubled.
func TestRefusedGroupRunsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{})
		key := rmw.Key{Name: "s"}
		f.warm(key)
		other := f.direct()
		fates := f.inTwoGroups(key, []rmw.UpdateFunc{appendText("a"), keep, abort, appendText("b")},
			[]rmw.UpdateFunc{appendText("c"), keep, appendText("d")},
			func() { require.NoError(t, other.Set(t.Context(), key.Name, "theirs", 0).Err()) })
		for i, after := range []string{"theirsa", "theirsa", "", "theirsab", "theirsabc", "theirsabc", "theirsabcd"} {
			if i == 2 {
				require.Equal(t, errRoomFull, fates[i].err)
			} else {
				require.NoError(t, fates[i].err)
			}
			assert.Equal(t, after, fates[i].res.After.Text(), i)
			assert.Equal(t, 2, fates[i].res.Attempts, i)
		}
		f.waitReleases()
		assert.Equal(t, 1, f.sent()["read"], "the refusal brings the value along")
		assert.Equal(t, 2, f.sent()["commit_string"])
		assert.Equal(t, "theirsabcd", f.text(key))
	})
}

// One whose fn runs while what it was given is refused runs again: on what it has
// returned by then, it would wipe out what the stranger wrote.
func TestRefusedUnderARunningFn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{})
		key := rmw.Key{Name: "s"}
		f.warm(key)
		other := f.direct()
		letGo := f.holdUp("commit_string")
		first := start(t.Context(), f.store, key, appendText("a,"))
		gate := make(chan struct{})
		slow := start(t.Context(), f.store, key, until(gate, appendText("slow,")))
		next := start(t.Context(), f.store, key, appendText("b,"))
		require.NoError(t, other.Set(t.Context(), key.Name, "theirs,", 0).Err())
		letGo()
		synctest.Wait()
		close(gate)
		for i, fate := range []*fate{first, slow, next} {
			<-fate.done
			require.NoError(t, fate.err)
			assert.Equal(t, []int{2, 2, 1}[i], fate.res.Attempts)
		}
		for _, part := range []string{"theirs,", "a,", "slow,", "b,"} {
			assert.Equal(t, 1, strings.Count(f.text(key), part), part)
		}
	})
}

// A stranger's write while a member's fn runs has all of its group run again.
func TestStrangerWritesWhileFnRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{})
		key := rmw.Key{Name: "s"}
		f.warm(key)
		other := f.direct()
		fates := f.together(key, appendText("a"), behindItsBack(func() {
			require.NoError(t, other.Set(t.Context(), key.Name, "theirs", 0).Err())
		}, appendText("b")), appendText("c"))
		for _, fate := range fates {
			require.NoError(t, fate.err)
			assert.Equal(t, 2, fate.res.Attempts)
		}
		assert.Equal(t, "theirsabc", f.text(key))
	})
}

// Strangers that write before every commit use up the attempts of each member, and
// then nothing of it is written.
func TestAttemptsOfAGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{MaxAttempts: 3})
		key := rmw.Key{Name: "s"}
		f.warm(key)
		n := 0
		f.proxy.Inject(proxytest.Fault{Match: isScript("commit_string"), Times: -1, Do: func() {
			n++
			require.NoError(t, f.proxy.Engine(f.proxy.BackendOf(key.Name)).Set(key.Name, fmt.Sprint("theirs", n)))
		}})
		for _, fate := range f.together(key, appendText("a"), keep, appendText("b")) {
			require.ErrorIs(t, fate.err, rmw.ErrContended)
			assert.Equal(t, 3, fate.res.Attempts)
		}
		assert.Equal(t, "theirs3", f.text(key))
	})
}

// A commit whose answer is lost leaves its writers in doubt, and nobody else: who
// wrote nothing, and the next group, run again on what is stored by then.
func TestLostCommitOfAGroup(t *testing.T) {
	for name, fault := range map[string]proxytest.Fault{
		"request lost": {Action: proxytest.DropRequest},
		"reply lost":   {Action: proxytest.DropReply},
		"hangs":        {Action: proxytest.HangReply},
		"late":         {Action: proxytest.ExecuteLater, Delay: 5 * time.Second, Text: "ERR handle response, backend conn reset"},
		"not executed": {Action: proxytest.RefuseWith, Text: "LOADING Redis is loading the dataset in memory"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, lockupdate.Config{})
				key := rmw.Key{Name: "s"}
				f.warm(key)
				gate := make(chan struct{})
				fault.Match, fault.Do = isScript("commit_string"), func() { <-gate }
				f.proxy.Inject(fault)
				goOn, fates := f.line(key, appendText("a,"), abort, keep, appendText("b,"))
				go goOn()
				synctest.Wait()
				for _, fn := range []rmw.UpdateFunc{appendText("c,"), keep, abort} {
					fates = append(fates, start(t.Context(), f.store, key, fn))
				}
				close(gate)
				for _, fate := range fates {
					<-fate.done
				}
				reason := rmw.ErrOutcomeUnknown
				if name == "not executed" {
					reason = rmw.ErrUnavailable
				}
				for _, i := range []int{0, 3} {
					require.ErrorIs(t, fates[i].err, reason)
				}
				base := "www"
				if name == "reply lost" || name == "hangs" {
					base = "wwwa,b,"
				}
				assert.Equal(t, errRoomFull, fates[1].err)
				require.NoError(t, fates[2].err)
				assert.Equal(t, base, fates[2].res.After.Text())
				require.NoError(t, fates[4].err)
				assert.Equal(t, base+"c,", fates[4].res.After.Text())
				assert.Equal(t, 2, fates[4].res.Attempts)
				assert.Equal(t, base+"c,", fates[5].res.Before.Text())
				assert.Equal(t, errRoomFull, fates[6].err)
				time.Sleep(20 * time.Second)
				assert.Equal(t, base+"c,", f.text(key), "what is executed late finds another value")
			})
		})
	}
}

// A caller may leave at any place in the line. What it is told is true, and nobody
// waits for it.
func TestCallersLeave(t *testing.T) {
	run := func(ctx context.Context, f *fixture, key rmw.Key) *fate {
		return start(ctx, f.store, key, appendText("x"))
	}
	for name, tc := range map[string]struct {
		unknown bool
		final   string
		leave   func(t *testing.T, f *fixture, key rmw.Key, ctx context.Context, cancel func()) *fate
	}{
		"queued": {final: "wwwab", leave: func(
			_ *testing.T, f *fixture, key rmw.Key, ctx context.Context, cancel func(),
		) *fate {
			goOn, _ := f.line(key, appendText("a"))
			fate := run(ctx, f, key)
			cancel()
			<-fate.done
			goOn()
			return fate
		}},
		"in fn": {final: "wwwab", leave: func(t *testing.T, f *fixture, key rmw.Key, ctx context.Context, cancel func()) *fate {
			fate := start(ctx, f.store, key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
				cancel()
				<-ctx.Done()
				assert.Equal(t, context.Canceled, context.Cause(ctx))
				return appendText("x")(ctx, cur)
			})
			f.together(key, appendText("a"))
			return fate
		}},
		"waiting for those behind it": {unknown: true, final: "wwwxab", leave: func(
			_ *testing.T, f *fixture, key rmw.Key, ctx context.Context, cancel func(),
		) *fate {
			gate := make(chan struct{})
			start(f.t.Context(), f.store, key, until(gate, keep))
			fate := run(ctx, f, key)
			start(f.t.Context(), f.store, key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
				time.Sleep(500 * time.Microsecond)
				cancel()
				time.Sleep(time.Minute / 6)
				return appendText("a")(ctx, cur)
			})
			close(gate)
			<-fate.done
			return fate
		}},
		"commit on its way": {unknown: true, final: "wwwxab", leave: func(
			_ *testing.T, f *fixture, key rmw.Key, ctx context.Context, cancel func(),
		) *fate {
			letGo := f.holdUp("commit_string")
			fate := run(ctx, f, key)
			next := start(f.t.Context(), f.store, key, appendText("a"))
			cancel()
			<-fate.done
			assert.False(f.t, next.over())
			letGo()
			<-next.done
			return fate
		}},
		"failed, commit on its way": {final: "wwwab", leave: func(
			_ *testing.T, f *fixture, key rmw.Key, ctx context.Context, cancel func(),
		) *fate {
			letGo := f.holdUp("commit_string")
			start(f.t.Context(), f.store, key, appendText("a"))
			fate := start(ctx, f.store, key, keep)
			cancel()
			<-fate.done
			letGo()
			return fate
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, lockupdate.Config{})
				key := rmw.Key{Name: "s"}
				f.warm(key)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				fate := tc.leave(t, f, key, ctx, cancel)
				<-fate.done
				require.ErrorIs(t, fate.err, context.Canceled)
				if tc.unknown {
					require.ErrorIs(t, fate.err, rmw.ErrOutcomeUnknown)
				} else {
					require.NotErrorIs(t, fate.err, rmw.ErrOutcomeUnknown)
				}
				began := time.Now()
				_, err := f.store.Update(t.Context(), key, appendText("b"))
				require.NoError(t, err)
				assert.Less(t, time.Since(began), 11*time.Second)
				assert.Equal(t, tc.final, f.text(key))
			})
		})
	}
}

// One that is told to leave at the moment in which its turn comes either has it, or
// was never there.
func TestLeavingAtOnesTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{})
		key := rmw.Key{Name: "s"}
		f.warm(key)
		var want strings.Builder
		want.WriteString("www")
		for range 100 {
			ctx, cancel := context.WithCancel(t.Context())
			gate := make(chan struct{})
			first := start(t.Context(), f.store, key, until(gate, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
				cancel()
				return appendText("a")(ctx, cur)
			}))
			leaver := start(ctx, f.store, key, appendText("x"))
			last := start(t.Context(), f.store, key, appendText("b"))
			close(gate)
			for _, fate := range []*fate{first, leaver, last} {
				<-fate.done
			}
			require.NoError(t, first.err)
			require.NoError(t, last.err)
			require.ErrorIs(t, leaver.err, context.Canceled)
			require.NotErrorIs(t, leaver.err, rmw.ErrOutcomeUnknown, "no commit has what it wrote")
			want.WriteString("ab")
		}
		assert.Equal(t, want.String(), f.text(key))
	})
}
