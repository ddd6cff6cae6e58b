package scriptcheck

import "github.com/unwatch/unwatch/proxycompat"

// forbidden reports whether servers reject this command inside a script: Redis marks such commands noscript
// (COMMAND INFO). The list has the commands that all versions mark. It omits administrative commands, which
// differ between versions.
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
		// Observed with 7.0.15. Later versions may permit them.
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
