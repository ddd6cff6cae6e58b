package scriptcheck

import (
	"fmt"
	"slices"

	"github.com/unwatch/unwatch/proxycompat"
)

// random are the commands to which a replica may give another reply: the flag R in the command table of Redis 3.2
// and 4.0 (src/server.c).
var random = []string{"TIME", "RANDOMKEY", "SRANDMEMBER", "SPOP", "SCAN", "SSCAN", "HSCAN", "ZSCAN", "LASTSAVE", "PUBSUB"}

// writes checks a write after a random command. Up to 4.0 a replica executes the script again, so its
// writes must be deterministic (src/scripting.c, lua_random_dirty). Since 5.0 Redis replicates the writes.
func (w *walker) writes(c *redisCall) {
	known, found := proxycompat.CommandOf(c.words...)
	if earlier := w.random.value; found && known.Writes() && earlier.origin != nothing && !w.replicated &&
		w.before(proxycompat.Version{Major: 5}) {
		w.add(c.line, RandomThenWrite, c.name(), "values that come with ARGV, or redis.replicate_commands() at the start",
			"it writes after %s, which %s refuses: Write commands not allowed after non deterministic commands", earlier.name, w.older(5))
	}
	if slices.Contains(random, c.name()) {
		w.set(w.random, value{origin: computed, name: c.name()})
	}
}

// older names the server that is too old for a feature of this version.
func (t *target) older(major int) string {
	if t.backend == (proxycompat.Version{}) {
		return fmt.Sprintf("a server before Redis %d", major)
	}
	return "Redis " + t.backend.String()
}
