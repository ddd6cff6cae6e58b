package scriptcheck

import (
	"strings"

	"github.com/unwatch/unwatch/proxycompat"
)

// isRandom reports whether a replica may give another reply to this command: the flag R in the command
// table of Redis 3.2 and 4.0 (src/server.c).
func isRandom(name string) bool {
	switch name {
	case "TIME", "RANDOMKEY", "SRANDMEMBER", "SPOP", "SCAN", "SSCAN", "HSCAN", "ZSCAN", "LASTSAVE", "PUBSUB":
		return true
	}
	return false
}

// writes checks a write after a random command. Up to 4.0 a replica executes the script again, so its
// writes must be deterministic (src/scripting.c, lua_random_dirty). Since 5.0 Redis replicates the writes.
func (w *walker) writes(c *redisCall) {
	known, found := proxycompat.CommandOf(c.words...)
	if random := w.random.value; found && known.Writes() && random.origin != nothing && !w.replicated &&
		w.before(proxycompat.Version{Major: 5}) {
		w.add(c.line, RandomThenWrite, c.name(), "values that come with ARGV, or redis.replicate_commands() at the start",
			"it writes after %s, which %s refuses: Write commands not allowed after non deterministic commands", random.name, w.older())
	}
	if isRandom(c.name()) {
		w.set(w.random, value{origin: computed, name: strings.ToUpper(c.name())})
	}
}

// older names the server that is too old for a feature.
func (t *target) older() string {
	if t.backend == (proxycompat.Version{}) {
		return "a server before Redis 5"
	}
	return "Redis " + t.backend.String()
}
