package live

import (
	"slices"
	"strings"

	"github.com/unwatch/unwatch/internal/rules"
	"github.com/unwatch/unwatch/proxycompat"
)

// judgement is the meaning of a command behind the proxy. The zero judgement is harmless.
type judgement struct {
	rule     string
	severity rules.Severity
	why      string
	instead  string
	keys     bool // depends on the keys, which no count shows
}

// judge returns the meaning of a command behind the proxy.
func judge(p *proxycompat.Profile, command string, strict bool) judgement {
	rule := p.Rule(command)
	j := judgement{why: rule.Why, instead: rule.Instead, severity: rules.Note, keys: true}
	known, _ := proxycompat.CommandOf(strings.Fields(command)...)
	switch rule.Verdict {
	case proxycompat.OK, proxycompat.Backend:
		return judgement{}
	case proxycompat.Split:
		j.rule = "MC403"
		return j
	case proxycompat.OneKey, proxycompat.SameSlot:
		if j.rule = "MC402"; known.Group == "scripting" {
			j.rule = "MC501"
		}
		return j
	case proxycompat.Unknown:
		j.rule = "MC404"
		return j
	}
	j.keys = false
	j.rule = ruleOf(command, known, rule.Verdict)
	if j.severity = rules.SeverityOf(j.rule); j.severity == rules.Note {
		j.severity = rules.Error // the profile has decided; in code the severity depends on it
	}
	administration := []string{"MC601", "MC602", "MC603"}
	if !strict && (j.rule == "MC701" && !slices.Contains(serviceCommands, command) || slices.Contains(administration, j.rule)) {
		j.severity = rules.Note
	}
	return j
}

// ruleOf returns the rule for a command that a proxy does not execute correctly. Servers also count the commands that
// clients send by themselves: these have rules about clients.
func ruleOf(command string, known proxycompat.Command, verdict proxycompat.Verdict) string {
	switch first, _, _ := strings.Cut(command, " "); {
	case first == "HELLO", strings.HasPrefix(command, "CLIENT SET"), command == "CLIENT TRACKING", command == "CLIENT CACHING":
		return "MC602"
	case known.Group == "cluster":
		return "MC601"
	case first == "HOST:", first == "POST": // a browser's request
		return "MC701"
	}
	return rules.OfCommand(command, verdict, known.Blocks() && verdict != proxycompat.Misrouted)
}

var (
	// serviceCommands are administrative commands that services send, and exporters do not.
	serviceCommands     = []string{"TIME", "DBSIZE", "FLUSHALL", "FLUSHDB", "SWAPDB"}
	replicationCommands = []string{"REPLCONF", "PSYNC", "SYNC"}
	// Servers count the commands of scripts as well.
	scriptCommands = []string{"EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "FCALL", "FCALL_RO"}
)
