package rules

import (
	"slices"
	"strings"

	"github.com/unwatch/unwatch/proxycompat"
)

// named are the commands that have a rule by their name, or by its first word.
var named = map[string]string{
	"WATCH": "MC101", "MULTI": "MC103", "EXEC": "MC103", "DISCARD": "MC103", "UNWATCH": "MC103",
	"SUBSCRIBE": "MC201", "PSUBSCRIBE": "MC201", "SSUBSCRIBE": "MC201",
	"UNSUBSCRIBE": "MC201", "PUNSUBSCRIBE": "MC201", "SUNSUBSCRIBE": "MC201",
	"PUBLISH": "MC202", "SPUBLISH": "MC202",
	// The first proxies knew these and refused them.
	"BLPOP": "MC301", "BRPOP": "MC301", "BRPOPLPUSH": "MC301",
	// These came later. A proxy without them may forward them into a connection that all clients share.
	"BLMOVE": "MC302", "BLMPOP": "MC302", "BZPOPMIN": "MC302", "BZPOPMAX": "MC302", "BZMPOP": "MC302", "WAIT": "MC302", "WAITAOF": "MC302",
	"SCRIPT": "MC505", "SELECT": "MC603", "PUBSUB": "MC701",
}

// OfCommand returns the rule for a command that a proxy with this verdict does not serve like a server. blocks tells
// whether it blocks its connection, which may depend on its arguments.
func OfCommand(command string, verdict proxycompat.Verdict, blocks bool) string {
	words := strings.Fields(command)
	if len(words) > 0 && named[words[0]] != "" {
		return named[words[0]]
	}
	known, _ := proxycompat.CommandOf(words...)
	switch {
	case blocks:
		return "MC302"
	case slices.Contains([]string{"server", "connection", "cluster", "sentinel"}, known.Group):
		return "MC701"
	case verdict == proxycompat.Misrouted:
		return "MC404"
	}
	return "MC401"
}

// Refusal describes the effect of a proxy on the first of some commands that it does not serve like
// a server: "the proxy refuses it". If it serves all of them, refused is false.
func Refusal(p *proxycompat.Profile, commands ...string) (what string, refused bool) {
	for _, command := range commands {
		switch p.Rule(command).Verdict {
		case proxycompat.Refused:
			return "the proxy refuses it", true
		case proxycompat.Closes:
			return "the proxy closes the connection", true
		case proxycompat.HarmsOthers:
			return "the proxy passes it on into a connection that all clients share", true
		case proxycompat.Misrouted:
			return "the proxy sends it to the wrong server", true
		}
	}
	return "", false
}
