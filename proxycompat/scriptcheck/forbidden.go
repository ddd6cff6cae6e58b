package scriptcheck

import "github.com/unwatch/unwatch/proxycompat"

// forbidden finds what a server takes from clients and not from scripts, and reports
// whether it did: Redis marks these commands noscript (COMMAND INFO). Those that all
// versions mark are here; administration is not, of which each version has another list.
func (w *walker) forbidden(c *redisCall) bool {
	instead := ""
	switch c.name() {
	case "MULTI", "EXEC", "DISCARD", "WATCH", "UNWATCH":
		instead = "nothing: no other client is served while a script runs"
	case "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE":
	case "EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "FCALL", "FCALL_RO", "SCRIPT", "FUNCTION":
		instead = "a local function"
	case "AUTH", "HELLO", "RESET", "QUIT", "CLIENT", "MONITOR":
	case "BLPOP", "BRPOP", "BRPOPLPUSH", "BLMOVE", "BZPOPMIN", "BZPOPMAX":
		// Observed with 7.0.15. It is not known here which later one takes them.
		if w.backend == (proxycompat.Version{}) || !w.backend.Before(proxycompat.Version{Major: 7, Minor: 1}) {
			return false
		}
		instead = "the same command without blocking"
	default:
		return false
	}
	w.add(c.line, NotInScripts, c.name(), instead, "the server answers: This Redis command is not allowed from script")
	return true
}
