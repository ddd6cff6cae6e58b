package scriptcheck_test

import "testing"

func TestServer(t *testing.T) {
	run(t, []example{
		{"publish", "codis", `redis.call('PUBLISH', ARGV[1], 'm')`, "1 unheard PUBLISH"},
		{"spublish", "codis", `redis.call('SPUBLISH', KEYS[1], 'm')`, "1 unheard SPUBLISH"},
		{"keys", "codis", `redis.call('KEYS', '*')`, "1 one-server KEYS"},
		{"flush", "codis", `redis.call('FLUSHALL')`, "1 one-server FLUSHALL"},
		{"select", "codis", `redis.call('SELECT', 1)`, "1 one-server SELECT"},
		{"memory", "codis", `redis.call('MEMORY', 'STATS')`, "1 one-server MEMORY"},

		{"publish on a server", "redis", `redis.call('PUBLISH', ARGV[1], 'm')`, ""},
	})
}

func TestNotInScripts(t *testing.T) {
	bad := func(command string) string { return "1 not-in-scripts " + command }
	run(t, []example{
		{"transaction", "codis", `redis.call('MULTI')`, bad("MULTI")},
		{"script in a script", "codis@3.2", `return redis.call('EVAL', 'return 1', 0)`, bad("EVAL")},
		{"also on a server", "redis", `redis.call('EXEC')`, bad("EXEC")},
		{"blocking", "codis@3.2", `redis.call('BLPOP', KEYS[1], 0)`, bad("BLPOP")},

		{"blocking on an unknown server", "codis", `redis.call('BLPOP', KEYS[1], 0)`, ""},
		{"as a value", "codis", `redis.call('SET', KEYS[1], 'MULTI')`, ""},
	})
}

func TestTooNew(t *testing.T) {
	const old = "codis@3.2"
	bad := func(command string) string { return "1 too-new " + command }
	run(t, []example{
		{"command", old, `redis.call('UNLINK', KEYS[1])`, bad("UNLINK")},
		{"subcommand", old, `redis.call('OBJECT', 'FREQ', KEYS[1])`, bad("OBJECT FREQ")},
		{"KEEPTTL", old, `redis.call('SET', KEYS[1], 'v', 'keepttl')`, bad("SET")},
		{"GET", "codis@6.0", `redis.call('SET', KEYS[1], 'v', 'GET')`, bad("SET")},
		{"HSET of several", old, `redis.call('HSET', KEYS[1], 'a', 1, 'b', 2)`, bad("HSET")},
		{"LPOP of several", old, `redis.call('LPOP', KEYS[1], 2)`, bad("LPOP")},
		{"SPOP of several", "codis@3.0", `redis.call('SPOP', KEYS[1], 2)`, bad("SPOP")},
		{"setresp", old, `redis.setresp(3)`, bad("redis.setresp")},
		{"acl_check_cmd", "redis@6.2", `return redis.acl_check_cmd('GET', KEYS[1])`, bad("redis.acl_check_cmd")},
		{"shebang", old, "#!lua flags=no-writes\nreturn 1", bad("#!")},
		{"lines after a shebang", old, "#!lua\n\nredis.call('COPY', KEYS[1], KEYS[1])", "1 too-new #!; 3 too-new COPY"},

		{"shebang", "codis@7.0", "#!lua flags=no-writes\nreturn 1", ""},
		{"new enough", "codis@6.2", `redis.call('SET', KEYS[1], 'v', 'KEEPTTL', 'GET'); redis.call('HSET', KEYS[1], 'a', 1, 'b', 2)`, ""},
		{"as a value", old, `redis.call('SET', KEYS[1], 'KEEPTTL'); redis.call('ZADD', KEYS[1], 1, 'GT')`, ""},
		{"HSET of one", old, `redis.call('HSET', KEYS[1], 'a', 1); redis.call('HSET', KEYS[1], unpack(ARGV))`, ""},
		{"asked for", old,
			`if redis.setresp then redis.setresp(3) end; local x = redis.acl_check_cmd ~= nil and redis.acl_check_cmd('GET', 'x')`, ""},
	})
}

func TestRandomThenWrite(t *testing.T) {
	const c = "codis@3.2"
	bad := func(command string) string { return "1 random-then-write " + command }
	run(t, []example{
		{"time", c, `local t = redis.call('TIME'); redis.call('SET', KEYS[1], t[1])`, bad("SET")},
		{"single server", "redis@4.0", `redis.call('SRANDMEMBER', KEYS[1]); redis.call('DEL', KEYS[1])`, bad("DEL")},
		{"later in a loop", c, `while true do redis.call('DEL', KEYS[1]); redis.call('TIME') end`, bad("DEL")},
		{"in a branch of a function", c,
			`local function f() if ARGV[1] then return redis.call('TIME') end; return 0 end; f(); redis.call('DEL', KEYS[1])`, bad("DEL")},
		{"write in a function", c, `local function f() redis.call('DEL', KEYS[1]) end; redis.call('TIME'); f()`, bad("DEL")},

		{"new enough", "codis@5.0", `redis.call('TIME'); redis.call('DEL', KEYS[1])`, ""},
		{"replicated", c, `redis.replicate_commands(); redis.call('TIME'); redis.call('DEL', KEYS[1])`, ""},
		{"replicated if possible", c,
			`if redis.replicate_commands then redis.replicate_commands() end; redis.call('TIME'); redis.call('DEL', KEYS[1])`, ""},
		{"spop alone", c, `return redis.call('SPOP', KEYS[1])`, ""},
		{"another branch", c, `if ARGV[1] then return redis.call('TIME') else redis.call('DEL', KEYS[1]) end`, ""},
		{"after a return", c, `if ARGV[1] then return redis.call('TIME') end; redis.call('DEL', KEYS[1])`, ""},
	})
}

func TestGlobalVariable(t *testing.T) {
	const c, old, modern = "codis", "codis@3.2", "codis@7.0"
	bad := func(name string) string { return "1 global-variable " + name }
	run(t, []example{
		{"assigned before 7", old, `key = KEYS[1]`, bad("key")},
		{"on a single server", "redis", `key = KEYS[1]`, bad("key")},
		{"several", c, `local a; a, b = 1, 2`, bad("b")},
		{"function", c, `function f(k) return redis.call('GET', k) end; return f(KEYS[1])`, bad("f")},
		{"in a function", c, `local function f() x = 1 end`, bad("x")},
		{"out of its block", c, `do local x = 1 end; return x`, bad("x")},
		{"method", c, `function foo:bar() end`, bad("foo")},
		{"require", c, `local x = require('x')`, bad("require")},
		{"os.time", c, `return os.time()`, bad("os.time")},
		{"print since 7", modern, `print('x')`, bad("print")},
		{"ARGV since 7", modern, `ARGV = {}`, bad("ARGV")},
		{"KEYS on a single server", "redis@7.0", `KEYS = {}`, bad("KEYS")},
		{"in redis since 7", modern, `redis.x = 1`, bad("redis")},
		{"of the library since 7", modern, `string.split = function() end`, bad("string")},

		{"given", c, `local a = {KEYS, ARGV, redis.REDIS_VERSION, cjson, cmsgpack, struct, bit, string, table, math, coroutine}
			a = {tonumber, tostring, type, pairs, ipairs, next, select, unpack, error, assert, pcall, xpcall, rawequal, rawget,
			rawset, getmetatable, setmetatable, collectgarbage, _VERSION, gcinfo, newproxy, print, server}`, ""},
		{"os.clock", c, `return os.clock()`, ""},
		{"os.clock where it is", "codis@7.4", `return os.clock()`, ""},
		{"os.clock where it is not", "codis@7.2", `return os.clock()`, "1 too-new os"},
		{"local", c, `local key; key = KEYS[1]; local function f() key = KEYS[1] end; f(); return redis.call('GET', key)`, ""},
		{"parameter", c, `local function f(k, ...) k = k or KEYS[1]; return redis.call('GET', k), arg, ... end; return f(KEYS[1])`, ""},
		{"loop variables", c, `for i = 1, 2 do i = 2 end; for k, v in pairs(ARGV) do k, v = v, k end`, ""},
		{"until", c, `repeat local done = true; done = ARGV[1] until done`, ""},
		{"later use in a function", c, `local f; local function g() return f() end; f = function() return 1 end; return g()`, ""},
		{"field", c, `local o = {}; o.x = 1; function o.f() end; function o:g() self.x = 2 end; return o.y`, ""},
		{"ARGV before 7", old, `ARGV = {}; print('x'); string.split = function() end`, ""},
		{"a field of ARGV", modern, `ARGV[1] = 'x'`, ""},
	})
}

func TestErrorText(t *testing.T) {
	bad := func(about string) string { return "1 error-text " + about }
	run(t, []example{
		{"reply", "redis@7.0", `return redis.error_reply('not yours')`, bad("redis.error_reply")},
		{"reply", "redis@7.0", `return redis.error_reply('not yours: '..ARGV[1])`, bad("redis.error_reply")},
		{"by a local", "redis@7.0", `local e = 'not yours'; return redis.error_reply(e)`, bad("redis.error_reply")},
		{"table", "redis@7.0", `return {err = 'Locked by me'}`, bad("err")},
		{"raised", "redis@7.0", `error({err = 'locked'})`, bad("err")},
		{"raised before 7", "codis@3.2", `error({err = 'LOCKED by me'})`, bad("error")},
		{"raised on an unknown server", "codis", `local e = {err = 'LOCKED by me'}; error(e)`, bad("error")},

		{"code", "codis@3.2", `return redis.error_reply('LOCKED by another owner')`, ""},
		{"code alone", "codis@3.2", `return {err = '-NOT_MINE2'}`, ""},
		{"unknown text", "codis@3.2", `return redis.error_reply(ARGV[1]..' x')`, ""},
		{"may go on in upper case", "codis@3.2", `return redis.error_reply('E'..ARGV[1])`, ""},
		{"raised", "redis@7.0", `error({err = 'LOCKED by me'})`, ""},
		{"a text", "codis@3.2", `error('locked')`, ""},
		{"an answer", "codis@3.2", `return {ok = 'fine', 'lower case'}`, ""},
	})
}
