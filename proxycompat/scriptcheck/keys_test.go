package scriptcheck_test

import "testing"

func TestUndeclaredKey(t *testing.T) {
	const c = "codis"
	bad := func(command string) string { return "1 undeclared-key " + command }
	run(t, []example{
		{"literal", c, `return redis.call('GET', 'x')`, bad("GET")},
		{"argument", c, `return redis.call('get', ARGV[1])`, bad("GET")},
		{"pcall", c, `return redis.pcall('GET', ARGV[1])`, bad("GET")},
		{"formatted", c, `return redis.call('DEL', string.format('%s:x', KEYS[1]))`, bad("DEL")},
		{"of a list from Redis", c, `for _, m in ipairs(redis.call('SMEMBERS', KEYS[1])) do redis.call('DEL', m) end`, bad("DEL")},
		{"decoded", c, `local d = cjson.decode(ARGV[1]); redis.call('DEL', d.key)`, bad("DEL")},
		{"alias of redis", c, `local r = redis; return r.call('GET', 'x')`, bad("GET")},
		{"as Valkey says it", c, `return server.call('GET', 'x')`, bad("GET")},
		{"pcall of call", c, `return pcall(redis.call, 'GET', 'x')`, bad("GET")},
		{"pcall of a function", c, `return pcall(function() return redis.call('GET', 'x') end)`, bad("GET")},
		{"in an unpacked list", c, `local t = {'SET', 'x', 1}; return redis.call(unpack(t))`, bad("SET")},
		{"a destination", c, `return redis.call('SORT', KEYS[1], 'STORE', ARGV[1])`, bad("SORT")},
		{"a pattern of keys", c, `return redis.call('SORT', KEYS[1], 'BY', 'w_*')`, bad("SORT")},
		{"a counted key", c, `return redis.call('ZUNIONSTORE', KEYS[1], ARGV[1], 'x')`, bad("ZUNIONSTORE")},
		{"in one branch", c, `local k = KEYS[1]; if ARGV[1] then k = 'x' end; redis.call('GET', k)`, bad("GET")},
		{"in repeat", c, `local k = KEYS[1]; repeat k = redis.call('GET', k) until not k`, bad("GET")},
		{"in a function", c, `local function f(k) return redis.call('GET', k) end; f(KEYS[1]); return f('x')`, bad("GET")},
		{"made by a function", c, `local function k() return 'x:'..ARGV[1] end; return redis.call('GET', k())`, bad("GET")},
		{"in recursion", c, `local function f(k) f(redis.call('GET', k)) end; f(KEYS[1])`, bad("GET")},
		{"in a field", c, `local o = {key = 'x', other = KEYS[1]}; redis.call('GET', o.key)`, bad("GET")},
		{"a shadow of a local", c, `local k = KEYS[1]; do local k = 'x'; redis.call('GET', k) end`, bad("GET")},
		{"either command", c, `local c = ARGV[1] and 'INCR' or 'DECR'; redis.call(c, 'x')`,
			"1 undeclared-key INCR; 1 undeclared-key DECR"},
		{"a command of the proxy", c, `redis.call('SLOTSHASHKEY', 'x')`, bad("SLOTSHASHKEY")},

		{"plain", c, `return redis.call('GET', KEYS[1])`, ""},
		{"tostring, assert", c, `return redis.call('GET', tostring(assert(KEYS[1])))`, ""},
		{"an assignment later", c, `local k; if ARGV[1] then k = KEYS[1] end; redis.call('GET', k); k = 'x'`, ""},
		{"another branch", c,
			`local k = KEYS[1]; if ARGV[1] then k = 'x'; return k else redis.call('GET', k) end; return redis.call('GET', k)`, ""},
		{"a method", c, `local o = {}; function o:get(k) return redis.call('GET', k) end; return o:get(KEYS[1])`, ""},
		{"a list", c, `local a = {'HSET', KEYS[1]}; table.insert(a, ARGV[1]); a[#a+1] = 'v'; redis.call(unpack(a))`, ""},
		{"a shadow of redis", c, `local redis = {call = function() end}; redis.call('GET', 'x')`, ""},
		{"words with a key's place", c, `redis.call('MEMORY', 'USAGE', KEYS[1])`, ""},
		{"a single server", "redis", `redis.call('SET', 'x', redis.call('GET', ARGV[1]..KEYS[1]))`, ""},
	})
}

func TestSeveralKeys(t *testing.T) {
	const c = "codis"
	run(t, []example{
		{"the second", c, `return redis.call('GET', KEYS[2])`, "1 several-keys KEYS[2]"},
		{"ipairs", c, `for i, k in ipairs(KEYS) do redis.call('GET', k) end`, "1 several-keys KEYS"},
		{"next", c, `for i, k in next, KEYS do redis.call('GET', k) end`, "1 several-keys KEYS"},
		{"numbers", "twemproxy", `for i = 1, #KEYS do redis.call('GET', KEYS[i]) end`, "1 several-keys KEYS"},
		{"unpack", c, `return redis.call('MGET', unpack(KEYS))`, "1 several-keys KEYS"},
		{"a list of keys", c, `local t = {}; for i = 1, #KEYS do t[#t+1] = KEYS[i] end; return redis.call('MGET', unpack(t))`,
			"1 several-keys KEYS"},

		{"counted", c, `if #KEYS ~= 1 then return 0 end; return redis.call('GET', KEYS[1])`, ""},
		{"redis", "redis", `return redis.call('MGET', KEYS[1], KEYS[2], unpack(KEYS))`, ""},
	})
}

func TestLiteralKeys(t *testing.T) {
	want := "1 literal-keys GET"
	run(t, []example{
		{"alias", alibaba, `local k = KEYS[1]; return redis.call('GET', k)`, want},
		{"function", alibaba, `local function f(k) return redis.call('GET', k) end; return f(KEYS[1])`, want},

		{"literal", alibaba, `return redis.call('GET', KEYS[1])`, ""},
		{"alias elsewhere", "codis", `local k = KEYS[1]; return redis.call('GET', k)`, ""},
	})
}

func TestCannotTell(t *testing.T) {
	const c = "codis"
	run(t, []example{
		{"command", c, "local x\nredis.call(ARGV[1], KEYS[1])", "2 cannot-tell redis.call"},
		{"unpacked command", "redis", `redis.call(unpack(ARGV))`, "1 cannot-tell redis.call"},
		{"function of redis", c, `redis[ARGV[1]]('GET', KEYS[1])`, "1 cannot-tell redis[…]; 1 cannot-tell GET"},
		{"loadstring", c, `return loadstring(ARGV[1])()`, "1 cannot-tell loadstring"},
		{"setfenv", c, `setfenv(1, {})`, "1 cannot-tell setfenv"},
		{"_G", c, `return _G['redis'].call('GET', 'x')`, "1 cannot-tell _G; 1 cannot-tell GET"},
		{"handed on", c, `local x = string.gsub('GET', '.*', redis.call)`, "1 cannot-tell redis.call"},
		{"keys and values", c, `local t = {}; for i = 1, 2 do t[#t+1] = KEYS[1]; t[#t+1] = ARGV[i] end; redis.call('MSET', unpack(t))`,
			"1 cannot-tell MSET"},
		{"KEYS is changed", c, `KEYS[1] = 'x'; redis.call('GET', KEYS[1])`, "1 cannot-tell KEYS"},
		{"KEYS is another", c, `KEYS = {'x'}; redis.call('GET', KEYS[1])`, "1 cannot-tell KEYS; 1 undeclared-key GET"},
		{"unknown command", c, `redis.call('NOSUCH', KEYS[1])`, "1 cannot-tell 'NOSUCH'"},

		{"a parameter that is no key", c, `local t = {f = function(v) redis.call('SET', KEYS[1], v) end}`, ""},
		{"a shadow", c, `local load = ARGV[1]; redis.call('SET', KEYS[1], load)`, ""},
	})
}

func TestElements(t *testing.T) {
	const c = "codis"
	bad, unknown := "1 undeclared-key GET", "1 cannot-tell GET"
	run(t, []example{
		{"the second alone", c, `local t = {KEYS[1], 'lit', KEYS[1]}; redis.call('GET', unpack(t, 2, 2))`, bad},
		{"somewhere", c, `local t = {KEYS[1], 'lit'}; redis.call('GET', unpack(t, tonumber(ARGV[1])))`, unknown},
		{"a command further on", c, `local t = {'x', 'GET', 'lit'}; redis.call(unpack(t, 2))`, bad},

		{"to the end", c, `local t = {'x', KEYS[1]}; redis.call('GET', unpack(t, 2, #t))`, ""},
		{"to a place", c, `local t = {'x', KEYS[1], 'y'}; redis.call('DEL', unpack(t, 2, 2))`, ""},
		{"nil", c, `local t = {KEYS[1], 'x'}; redis.call('GET', unpack(t, nil))`, ""},

		{"removed", c, `local t = {KEYS[1], 'lit'}; table.remove(t, 1); redis.call('GET', t[1])`, bad},
		{"perhaps removed", c, `local t = {KEYS[1], 'lit'}; if ARGV[1] then table.remove(t, 1) end; redis.call('GET', t[1])`, unknown},
		{"removed somewhere", c, `local t = {KEYS[1], 'lit'}; table.remove(t, #ARGV); redis.call('GET', t[1])`, unknown},
		{"removed in a function", c,
			`local t = {KEYS[1], 'lit'}; local function f() return table.remove(t, 1) end; f(); redis.call('GET', t[1])`, unknown},
		{"taken out", c, `local t = {KEYS[1], 'lit'}; redis.call('GET', table.remove(t, 2))`, bad},
		{"put after the end", c, `local t = {KEYS[1], KEYS[1]}; table.remove(t); t[#t+1] = 'x'; redis.call('GET', t[2])`, bad},
		{"sorted", c, `local t = {KEYS[1], 'lit'}; table.sort(t); redis.call('GET', t[1])`, unknown},
		{"inserted", c, `local t = {KEYS[1], 'lit'}; table.insert(t, 1, KEYS[1]); redis.call('GET', t[3])`, bad},
		{"perhaps inserted", c,
			`local t = {KEYS[1], 'a'}; if ARGV[1] then table.insert(t, 1, KEYS[1]) end; redis.call('GET', t[3])`, unknown},

		{"removed", c, `local t = {ARGV[1], KEYS[1]}; table.remove(t, 1); redis.call('GET', t[1])`, ""},
		{"taken out", c, `local t = {ARGV[1], KEYS[1]}; redis.call('GET', table.remove(t, 2))`, ""},
		{"only keys", c, `local t = {KEYS[1], KEYS[1]}; while #t > 0 do redis.call('GET', table.remove(t, 1)) end`, ""},
		{"inserted", c, `local t = {'x'}; table.insert(t, 1, KEYS[1]); redis.call('GET', t[1])`, ""},
		{"sorted, and a name", c, `local t = {'b', 'a', key = KEYS[1]}; table.sort(t); redis.call('GET', t.key)`, ""},
	})
}

func TestUnknownNumberOfKeys(t *testing.T) {
	const c = "twemproxy"
	unknown := func(command string) string { return "1 cannot-tell " + command }
	run(t, []example{
		{"length", "codis", `redis.call('ZUNIONSTORE', KEYS[1], #ARGV, KEYS[1], ARGV[1])`, unknown("ZUNIONSTORE")},
		{"argument", "codis", `local n = tonumber(ARGV[1]); redis.call('ZUNIONSTORE', KEYS[1], n, KEYS[1], 'lit')`, unknown("ZUNIONSTORE")},
		{"first word", c, `redis.call('LMPOP', ARGV[1], KEYS[1], ARGV[2], 'LEFT')`, unknown("LMPOP")},
		{"second word", c, `redis.call('BLMPOP', 0, ARGV[1], KEYS[1], 'lit', 'LEFT')`, unknown("BLMPOP")},

		{"literal", "codis", `redis.call('ZUNIONSTORE', KEYS[1], 1, KEYS[1], 'WEIGHTS', ARGV[1])`, ""},
		{"another number", "codis", `redis.call('EXPIRE', KEYS[1], ARGV[1], 'NX'); redis.call('LPOP', KEYS[1], ARGV[1])`, ""},
	})
}
