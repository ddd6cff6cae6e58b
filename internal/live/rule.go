package live

import (
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/rules"
	"github.com/unwatch/unwatch/proxycompat"
)

// judgement is what it means that a command was sent. The zero judgement: nothing.
type judgement struct {
	rule     string
	severity rules.Severity
	why      string
	instead  string
	// keys says that it depends on the keys, which no count knows.
	keys bool
}

// judge says what the use of a command means behind the proxy.
func judge(p *proxycompat.Profile, command string, strict bool) judgement {
	rule := p.Rule(command)
	j := judgement{why: rule.Why, instead: rule.Instead}
	known, isKnown := proxycompat.CommandOf(strings.Fields(command)...)
	switch rule.Verdict {
	case proxycompat.OK, proxycompat.Backend:
		return judgement{}
	case proxycompat.Split:
		j.rule, j.severity, j.keys = "MC403", rules.Note, true
		return j
	case proxycompat.OneKey, proxycompat.SameSlot:
		j.rule, j.severity, j.keys = "MC402", rules.Note, true
		if known.Group == "scripting" {
			j.rule = "MC501"
		}
		return j
	case proxycompat.Unknown:
		j.rule, j.severity, j.keys = "MC404", rules.Note, true
		return j
	}
	j.rule = ruleOf(command, known, isKnown, rule.Verdict)
	if j.severity = rules.SeverityOf(j.rule); j.severity == rules.Note {
		j.severity = rules.Error // in code it depends on the profile, which has decided here
	}
	if !strict && (j.rule == "MC701" && !ofServices(command) || j.rule == "MC601" || j.rule == "MC602" || j.rule == "MC603") {
		j.severity = rules.Note
	}
	return j
}

// ruleOf is the rule that finds in code what a proxy does not carry out rightly.
func ruleOf(command string, known proxycompat.Command, isKnown bool, verdict proxycompat.Verdict) string {
	first, _, _ := strings.Cut(command, " ")
	switch first {
	case "WATCH":
		return "MC101"
	case "MULTI", "EXEC", "DISCARD", "UNWATCH":
		return "MC103"
	case "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE":
		return "MC201"
	case "PUBLISH", "SPUBLISH":
		return "MC202"
	case "BLPOP", "BRPOP", "BRPOPLPUSH":
		return "MC301"
	case "SCRIPT":
		return "MC505"
	case "SELECT":
		return "MC603"
	case "HELLO":
		return "MC602"
	case "PUBSUB", "HOST:", "POST", "PSYNC", "SYNC", "REPLCONF":
		return "MC701"
	}
	switch {
	case strings.HasPrefix(command, "CLIENT SET"), command == "CLIENT TRACKING", command == "CLIENT CACHING":
		return "MC602"
	case isKnown && known.Group == "cluster":
		return "MC601"
	case isKnown && (known.Group == "server" || known.Group == "connection"):
		return "MC701"
	case verdict == proxycompat.Misrouted:
		return "MC404"
	case isKnown && known.Blocks():
		return "MC302"
	}
	return "MC401"
}

// ofServices reports whether it is administration that services send as well, and that
// exporters do not need.
func ofServices(command string) bool {
	switch command {
	case "TIME", "DBSIZE", "FLUSHALL", "FLUSHDB", "SWAPDB":
		return true
	}
	return false
}

// replication are the commands that only a replica sends, or its primary.
func replication(command string) bool {
	switch command {
	case "REPLCONF", "PSYNC", "SYNC":
		return true
	}
	return false
}

// isScript reports whether a command runs a script, whose commands are counted as well.
func isScript(command string) bool {
	switch command {
	case "EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "FCALL", "FCALL_RO":
		return true
	}
	return false
}
