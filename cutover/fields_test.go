package cutover_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/rmw"
)

var (
	otp    = rmw.Key{Name: "otp", Kind: rmw.KindHash}
	onlyIt = operate.Keys{Count: 1, Names: []string{otp.Name}}
)

// onFields runs a command on the hash otp by a script, since the profile of Codis lacks the command.
func (r *rig) onFields(side int, command string) any {
	r.t.Helper()
	words := []any{}
	for word := range strings.SplitSeq(command, " ") {
		words = append(words, word)
	}
	const script = `return redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2))`
	got, err := r.admin(side).Eval(r.t.Context(), script, []string{otp.Name}, words...).Result()
	require.NoError(r.t, err)
	return got
}

// requireExpiry requires that the field has, or has not, an expiry of its own.
func (r *rig) requireExpiry(side int, field string, want bool) {
	r.t.Helper()
	got, ok := r.onFields(side, "HPTTL FIELDS 1 "+field).([]any)
	require.True(r.t, ok && len(got) == 1)
	require.Equal(r.t, want, got[0].(int64) > 0, got)
}

// A hash whose fields have an expiry stays, in either direction, keeps the expiry, and is named.
func TestHashesWithFieldExpiriesStay(t *testing.T) {
	wide := map[string]any{}
	for i := range 2500 {
		wide[fmt.Sprint("f", i)] = "v"
	}
	two := map[string]any{"code": "1234", "user": "ann"}
	for name, tc := range map[string]struct {
		values         map[string]any
		command, field string
	}{
		"one of two":            {two, "HEXPIRE 3600 FIELDS 1 code", "code"},
		"all":                   {two, "HEXPIRE 3600 FIELDS 2 code user", "user"},
		"set with it":           {two, "HSETEX PX 3600000 FIELDS 1 code 99", "code"},
		"the only field":        {map[string]any{"code": "1"}, "HEXPIRE 3600 FIELDS 1 code", "code"},
		"one of thousands":      {wide, "HEXPIRE 3600 FIELDS 1 f1777", "f1777"},
		"another of thousands":  {wide, "HEXPIRE 3600 FIELDS 1 f0", "f0"},
		"a field named FIELDS":  {map[string]any{"FIELDS": "1", "NX": "2"}, "HEXPIRE 3600 FIELDS 1 FIELDS", "FIELDS"},
		"a field without bytes": {map[string]any{"": "1", "f": "2"}, "HEXPIRE 3600 FIELDS 1 ", ""},
	} {
		run(t, name, func(t *testing.T, r *rig) {
			old := r.admin(0)
			require.NoError(t, old.HSet(t.Context(), "plain", "f", "v").Err())
			require.NoError(t, old.HSet(t.Context(), otp.Name, tc.values).Err())
			r.onFields(0, tc.command)
			assert.Contains(t, r.open(follow).preflight(r.both(16)), operate.Gate{
				Name: "hashes with field expiries", Have: "1", Need: "0 at the end", State: operate.GateLater,
				Do:    "they stay in the old store: before Complete, HPERSIST their fields, or move them by other means",
				Names: []string{"otp"},
			})

			pass := r.swept(forward)
			assert.Equal(t, onlyIt, pass.FieldExpiry)
			assert.Equal(t, 1, pass.Moved)
			_, err := r.open(forward).Update(t.Context(), otp, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
				return cur.With("more", "x"), nil
			})
			require.NoError(t, err)
			assert.Equal(t, "hash", r.where(otp.Name)[0], "an update moves it no more than a sweep does")
			r.requireExpiry(0, tc.field, true)
			for name, want := range map[string]bool{otp.Name: true, "plain": false, "absent": false} {
				got, err := operate.FieldsExpire(t.Context(), r.admin(0), name)
				require.NoError(t, err)
				assert.Equal(t, want, got, name)
			}
			report := r.verify(16)
			assert.Equal(t, onlyIt, report.FieldExpiry)
			assert.Equal(t, [2]int{1, 0}, [2]int{report.Equal, report.Wrong()})

			r.onFields(0, fmt.Sprintf("HPERSIST FIELDS 2 %s none", tc.field))
			if name == "all" {
				r.onFields(0, "HPERSIST FIELDS 1 code")
			}
			assert.Equal(t, 1, r.swept(forward).Moved, "without them it moves")
			assert.Equal(t, 2, r.verify(16).Equal)
			r.onFields(1, fmt.Sprintf("HEXPIRE 3600 FIELDS 1 %s", tc.field))
			report = r.verify(16)
			assert.Equal(t, [2]int{1, 1}, [2]int{report.Equal, report.ChangedSince}, "a field expires since the move")
			assert.Equal(t, onlyIt, r.swept(reverse).FieldExpiry)
			assert.Equal(t, [2]string{"list", "hash"}, r.where(otp.Name))
			r.requireExpiry(1, tc.field, true)
		})
	}
}

// A server without HPTTL has no such fields. Any other error of HPTTL fails the move, and the hash stays.
func TestFieldExpiriesByServer(t *testing.T) {
	const call = `redis.pcall('HPTTL', KEYS[1]`
	reply := func(lua string) string { return `(function() return ` + lua + ` end)(KEYS[1]` }
	moves, stays := operate.Pass{Moved: 1}, operate.Pass{FieldExpiry: onlyIt}
	fails := operate.Pass{Failed: onlyIt}
	for name, tc := range map[string]struct {
		instead string // of call
		want    operate.Pass
	}{
		"redis 8":                  {call, stays},
		"emulated, without it":     {`redis.pcall('HNOSUCH', KEYS[1]`, moves},
		"redis 3.2":                {reply(`{err = '@user_script: 1: Unknown Redis command called from Lua script'}`), moves},
		"dragonfly":                {reply("{err = 'ERR unknown command `HPTTL`'}"), moves},
		"without the right, 7.4":   {reply(`{err = "ERR ACL failure in script: User unknown has no permissions to run the 'hpttl' command"}`), fails},
		"without the right, 6":     {reply(`{err = "ERR The user executing the script can't run this command or subcommand"}`), fails},
		"another syntax":           {reply(`{err = 'ERR syntax error'}`), fails},
		"a field that is gone":     {reply(`{-2}`), stays},
		"expired fields only":      {call, stays},
		"negative control: ignore": {reply(`{}`), moves},
	} {
		run(t, name, func(t *testing.T, r *rig) {
			require.NoError(t, r.admin(0).HSet(t.Context(), otp.Name, "code", "1234").Err())
			r.onFields(0, "HEXPIRE 3600 FIELDS 1 code")
			p := r.open(forward, network{control: func(script string) string {
				require.Equal(t, 1, strings.Count(script, call))
				if name == "expired fields only" { // HGETALL hides them until the server deletes the hash
					script = strings.ReplaceAll(script, `redis.call('HGETALL', KEYS[1])`, `{}`)
				}
				return strings.Replace(script, call, tc.instead, 1)
			}})
			pass, err := operate.Sweep(t.Context(), p.Store, r.old(16))
			assert.Equal(t, tc.want.Failed.Count > 0, err != nil, err)
			assert.Equal(t, [3]any{tc.want.Moved, tc.want.FieldExpiry, tc.want.Failed}, [3]any{pass.Moved, pass.FieldExpiry, pass.Failed})
			report, err := operate.Verify(t.Context(), p.Store, r.both(16))
			if tc.want.Moved > 0 {
				require.NoError(t, err)
				r.requireExpiry(1, "code", false)
				return
			}
			r.requireExpiry(0, "code", true)
			assert.Equal(t, [2]any{tc.want.FieldExpiry, tc.want.Failed}, [2]any{report.FieldExpiry, report.Failed}, err)
		})
	}
}
