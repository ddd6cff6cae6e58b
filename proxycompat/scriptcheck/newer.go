package scriptcheck

import "github.com/unwatch/unwatch/proxycompat"

// newer reports a feature if the server behind the proxy is known to be older.
func (w *walker) newer(line int, command, what string, since proxycompat.Version) {
	if w.lacks(since) {
		w.add(line, TooNew, command, "", "%s is known from Redis %v on, and the server behind is %v", what, since, w.backend)
	}
}

// scriptFunctions returns the first version of the Lua functions that Redis added after 2.6: Redis Lua API
// reference (redis.io, lua-api).
func scriptFunctions() map[string]proxycompat.Version {
	return map[string]proxycompat.Version{
		"redis.replicate_commands": {Major: 3, Minor: 2},
		"redis.set_repl":           {Major: 3, Minor: 2},
		"redis.breakpoint":         {Major: 3, Minor: 2},
		"redis.debug":              {Major: 3, Minor: 2},
		"redis.setresp":            {Major: 6, Minor: 0},
		"redis.acl_check_cmd":      {Major: 7, Minor: 0},
	}
}

// age reports a command or argument that the server behind the proxy lacks.
func (w *walker) age(c *redisCall) {
	known, found := proxycompat.CommandOf(c.words...)
	if !found {
		return
	}
	if w.lacks(known.Since) {
		w.newer(c.line, known.Name, "the command", known.Since)
		return
	}
	if a, newer := known.NewerArgument(w.backend, c.words[:c.fixed()]); newer {
		w.add(c.line, TooNew, known.Name, a.Instead, "%s", a.Why(w.backend))
	}
}
