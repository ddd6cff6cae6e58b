package rueidis

import "context"

type RedisResult struct{}

type LuaOption func(*Lua)

type LuaExec struct{ Keys, Args []string }

func NewLuaScript(script string, opts ...LuaOption) *Lua { return nil }

func (*Lua) ExecMulti(ctx context.Context, c Client, multi ...LuaExec) (resp []RedisResult) {
	return nil
}
