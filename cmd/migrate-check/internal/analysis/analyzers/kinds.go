package analyzers

import (
	"strings"

	"github.com/unwatch/unwatch/proxycompat"
)

// The rules.
const (
	blockingRule = "MC301"
	stallingRule = "MC302"
	refusedRule  = "MC401"
	slotRule     = "MC402"
	splitRule    = "MC403"
	strayRule    = "MC404"
	tagRule      = "MC405"
	adminRule    = "MC701"
)

// kind is a rule for commands that some proxies do not serve, by their profiles.
type kind struct {
	rule     string // "": of another analyzer
	commands string
	why      string
}

// kinds is ordered: the first match counts.
func kinds() []kind {
	return []kind{
		{"", "WATCH UNWATCH MULTI EXEC DISCARD", "redistx has rules for transactions"},
		{"", "SUBSCRIBE PSUBSCRIBE SSUBSCRIBE UNSUBSCRIBE PUNSUBSCRIBE SUNSUBSCRIBE PUBLISH SPUBLISH", "redispubsub has rules for messages"},
		{"", "EVAL EVALSHA SCRIPT", "redisscripts has rules for scripts"},
		{"", "SELECT", "redisclient has a rule for databases"},
		{blockingRule, "BLPOP BRPOP BRPOPLPUSH", "they were there when proxies were written, so they know them, and refuse them"},
		{stallingRule, "BLMOVE BLMPOP BZPOPMIN BZPOPMAX BZMPOP WAIT WAITAOF",
			"they came later, and a proxy that does not know them may pass them on into a connection that all share"},
		{adminRule, "PUBSUB", "it asks a server who listens, and is about no key"},
	}
}

// adminGroups are the groups of Redis' documentation with commands about servers and connections.
const adminGroups = "server connection cluster sentinel"

// ruleOf returns the rule for a command that the proxy does not serve, by the effect of the proxy; "" for a rule of
// another analyzer.
func ruleOf(command string, verdict proxycompat.Verdict, blocks bool) string {
	first, _, _ := strings.Cut(command, " ")
	for _, k := range kinds() {
		if contains(k.commands, first) {
			return k.rule
		}
	}
	known, found := proxycompat.CommandOf(strings.Fields(command)...)
	switch {
	case blocks:
		return stallingRule
	case found && contains(adminGroups, known.Group):
		return adminRule
	case verdict == proxycompat.Misrouted:
		return strayRule
	}
	return refusedRule
}

func contains(words, word string) bool {
	for w := range strings.FieldsSeq(words) {
		if w == word {
			return true
		}
	}
	return false
}
