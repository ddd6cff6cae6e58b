package sealed

import (
	"context"
	_ "embed" // ttl.lua
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

//go:embed ttl.lua
var ttlScript string

// rule tells how a command is answered from a value.
type rule struct {
	words int                                  // its arguments, with the name; negative: at least as many
	kind  rmw.Kind                             // that it reads
	reply func(v rmw.Value, args []string) any // nil: one of the cases in split
}

// ruleOf returns the rule of a command that reads.
func ruleOf(name string) (rule, bool) {
	field := func(v rmw.Value, name string) any {
		if text, ok := v.Field(name); ok {
			return text
		}
		return nil
	}
	switch name {
	case "get":
		return rule{2, rmw.KindString, func(v rmw.Value, _ []string) any { return text(v) }}, true
	case "strlen":
		return rule{2, rmw.KindString, func(v rmw.Value, _ []string) any { return int64(len(v.Text())) }}, true
	case "hget":
		return rule{3, rmw.KindHash, func(v rmw.Value, args []string) any { return field(v, args[2]) }}, true
	case "hmget":
		return rule{-3, rmw.KindHash, func(v rmw.Value, args []string) any {
			var list []any
			for _, name := range args[2:] {
				list = append(list, field(v, name))
			}
			return list
		}}, true
	case "hgetall":
		return rule{2, rmw.KindHash, func(v rmw.Value, _ []string) any { return maps.Collect(v.All()) }}, true
	case "hkeys":
		return rule{2, rmw.KindHash, func(v rmw.Value, _ []string) any { return names(v) }}, true
	case "hvals":
		return rule{2, rmw.KindHash, func(v rmw.Value, _ []string) any {
			list := names(v)
			for i, name := range list {
				list[i], _ = v.Field(name)
			}
			return list
		}}, true
	case "hlen":
		return rule{2, rmw.KindHash, func(v rmw.Value, _ []string) any { return int64(v.Len()) }}, true
	case "hexists":
		return rule{3, rmw.KindHash, func(v rmw.Value, args []string) any { return count(field(v, args[2]) != nil) }}, true
	case "hstrlen":
		return rule{3, rmw.KindHash, func(v rmw.Value, args []string) any {
			text, _ := v.Field(args[2])
			return int64(len(text))
		}}, true
	case "exists", "mget":
		return rule{words: -2}, true
	case "ttl", "pttl":
		return rule{words: 2}, true
	}
	return rule{}, false
}

func text(v rmw.Value) any {
	if !v.Exists() {
		return nil
	}
	return v.Text()
}

// names returns the names of the fields, in the order of HKEYS and HVALS alike.
func names(v rmw.Value) []string {
	list := make([]string, 0, v.Len())
	for name := range v.All() {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

func count(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// read is a command that the hook may answer.
type read struct {
	rule
	cmd   redis.Cmder
	name  string
	args  []string
	parts []*part
}

// part is the question of a read about one key.
type part struct {
	*read
	cmd    redis.Cmder // that asks; often the read itself
	key    string
	unsent bool
	final  bool // the reply is not that of a seal

	// The answer, if the key was sealed.
	shown bool
	value rmw.Value
	left  time.Duration
	err   error
}

// newRead returns the read that a command is, or nil.
func newRead(cmd redis.Cmder) *read {
	name := cmd.Name()
	rule, ok := ruleOf(name)
	list := cmd.Args()
	if !ok || rule.words > 0 && len(list) != rule.words || len(list) < -rule.words {
		return nil
	}
	args := make([]string, len(list))
	for i, arg := range list {
		switch arg := arg.(type) {
		case string:
			args[i] = arg
		case []byte:
			args[i] = string(arg)
		default:
			return nil
		}
	}
	return &read{rule: rule, cmd: cmd, name: name, args: args}
}

// keys returns the keys of the read.
func (r *read) keys() []string {
	if r.words < 0 && r.reply == nil {
		return r.args[1:]
	}
	return r.args[1:2]
}

// sent returns the commands to send: EXISTS says 1 for any seal, so that TYPE takes its place.
func (r *read) sent(ctx context.Context) (cmds []redis.Cmder) {
	if r.name != "exists" || !fits(r.cmd, int64(0)) {
		return []redis.Cmder{r.cmd}
	}
	for _, key := range r.args[1:] {
		cmd := redis.NewStatusCmd(ctx, "type", key)
		r.parts = append(r.parts, &part{read: r, cmd: cmd, key: key})
		cmds = append(cmds, cmd)
	}
	return cmds
}

// split makes the parts of a read that has a reply.
func (r *read) split(ctx context.Context) {
	add := func(key string, cmd redis.Cmder) {
		r.parts = append(r.parts, &part{read: r, cmd: cmd, key: key, unsent: cmd != r.cmd})
	}
	switch {
	case len(r.parts) > 0:
	case r.reply != nil:
		if redisx.IsWrongType(r.cmd.Err()) {
			add(r.args[1], r.cmd)
		}
	case r.cmd.Err() != nil:
	case r.name == "mget":
		for i, v := range valuesOf(r.cmd) {
			if v == nil && i+1 < len(r.args) {
				add(r.args[i+1], redis.NewStringCmd(ctx, "get", r.args[i+1]))
			}
		}
	case r.name == "ttl" || r.name == "pttl":
		if isPersistent(r.cmd) {
			add(r.args[1], redis.NewSliceCmd(ctx, "eval", ttlScript, 1, r.args[1]))
		}
	}
}

// suspect reports whether the reply may be that of a seal.
func (p *part) suspect() bool {
	switch {
	case p.shown || p.final || p.err != nil:
		return false
	case p.name == "exists":
		return p.cmd.Err() == nil && p.cmd.(*redis.StatusCmd).Val() == "list"
	case p.name == "ttl" || p.name == "pttl":
		kind, _ := p.expiry()
		return kind == "list"
	}
	return redisx.IsWrongType(p.cmd.Err())
}

// expiry reads the reply of ttlScript.
func (p *part) expiry() (kind string, left int64) {
	if list := p.cmd.(*redis.SliceCmd).Val(); len(list) == 2 {
		kind, _ = list[0].(string)
		left, _ = list[1].(int64)
	}
	return kind, left
}

// mayBe reports whether the command has another reply for an open key of a type than the one that it had.
func (p *part) mayBe(kind string) bool {
	switch {
	case p.reply == nil && p.name != "mget":
		return kind != "list"
	case kind == "none":
		return true
	case p.name == "mget":
		return kind == rmw.KindString.String()
	}
	return kind == p.kind.String()
}

// compose gives the read its reply, and reports whether it has another one than before.
func (r *read) compose() bool {
	if len(r.parts) == 0 {
		return false
	}
	switch r.name {
	case "exists":
		r.composeExists()
		return true
	case "mget":
		return r.composeMGet()
	case "ttl", "pttl":
		return r.composeTTL()
	}
	p := r.parts[0]
	switch {
	case p.err != nil:
		r.cmd.SetErr(unanswered(r.cmd.Err(), p.key, p.err))
	case !p.shown:
		return !redisx.IsWrongType(r.cmd.Err()) // it was sent again
	case p.value.Exists() && p.value.Kind() != r.kind:
		return false
	default:
		fill(r.cmd, r.reply(p.value, r.args))
	}
	return true
}

func (r *read) composeExists() {
	n := int64(0)
	for _, p := range r.parts {
		switch {
		case p.err != nil:
			r.cmd.SetErr(unanswered(nil, p.key, p.err))
			return
		case p.cmd.Err() != nil:
			r.cmd.SetErr(p.cmd.Err())
			return
		case p.shown:
			n += count(p.value.Exists())
		default:
			n += count(p.cmd.(*redis.StatusCmd).Val() != "none")
		}
	}
	fill(r.cmd, n)
}

func (r *read) composeMGet() bool {
	list := slices.Clone(valuesOf(r.cmd))
	parts := r.parts
	for i, v := range list {
		if v != nil || len(parts) == 0 {
			continue
		}
		p := parts[0]
		parts = parts[1:]
		got := p.cmd.(*redis.StringCmd)
		switch {
		case p.err != nil:
			r.cmd.SetErr(unanswered(nil, p.key, p.err))
			return true
		case p.shown:
			if p.value.Kind() == rmw.KindString {
				list[i] = text(p.value)
			}
		case got.Err() == nil:
			list[i] = got.Val()
		case redisx.OutcomeOf(got.Err()) != redisx.Done && !redisx.IsWrongType(got.Err()):
			r.cmd.SetErr(got.Err())
			return true
		}
	}
	fill(r.cmd, list)
	return true
}

func (r *read) composeTTL() bool {
	p := r.parts[0]
	_, left := p.expiry()
	switch {
	case p.err != nil:
		r.cmd.SetErr(unanswered(nil, p.key, p.err))
		return true
	case p.cmd.Err() != nil:
		r.cmd.SetErr(unanswered(nil, p.key, p.cmd.Err()))
		return true
	case p.shown && !p.value.Exists():
		left = -2
	case p.shown && p.left < 0:
		left = -1
	case p.shown:
		left = p.left.Milliseconds()
	}
	if left >= 0 && r.name == "ttl" {
		left = (left + 500) / 1000
	}
	fill(r.cmd, left)
	return true
}
