package analyzers

import (
	"slices"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
	"github.com/unwatch/unwatch/internal/rules"
	"github.com/unwatch/unwatch/proxycompat"
)

// The rules. Package rules has those of single commands.
const (
	stallingRule = "MC302"
	refusedRule  = "MC401"
	slotRule     = "MC402"
	splitRule    = "MC403"
	strayRule    = "MC404"
	tagRule      = "MC405"
	adminRule    = "MC701"
)

// elsewhere reports whether another analyzer judges a command with this rule.
func elsewhere(command, id string) bool {
	return command == "EVAL" || command == "EVALSHA" || id == databaseRule || slices.Contains([]string{"MC1", "MC2", "MC5"}, id[:3])
}

// served judges whether a proxy serves the commands of a call.
func (r *reader) served(c *rediscalls.Call, _ []string) {
	if c.How == rediscalls.Transaction || rediscalls.Receiver(c.Func) == "Script" {
		return
	}
	for _, command := range c.Commands {
		r.command(c, command)
	}
}

// command judges one command that a call may send.
func (r *reader) command(c *rediscalls.Call, command string) {
	words := strings.Fields(command)
	if len(words) == 0 || words[0] == "SENTINEL" { // only a sentinel executes it: the connection is no proxy's
		return
	}
	rule := r.profile.RuleFor(words...)
	r.newer(c, command, rule)
	id := rules.OfCommand(command, rule.Verdict, r.blocks(c, command))
	if rule.Verdict == proxycompat.OneKey || rule.Verdict == proxycompat.SameSlot || rule.Verdict == proxycompat.Split {
		if !elsewhere(command, id) {
			r.several(c, command, rule)
		}
		return
	}
	what, refused := rules.Refusal(r.profile, command)
	if refused {
		if rule.Verdict == proxycompat.Misrouted && id == stallingRule {
			what += ", where it blocks a connection that all clients share"
		}
		r.unserved(c, id, command, what, rule)
		return
	}
	if rule.Verdict == proxycompat.Unknown {
		if _, known := proxycompat.CommandOf(words...); !known && rule.Command == words[0] && r.other(rule) {
			r.unserved(c, strayRule+"/warning", command, "the position of its key is unknown, and the proxy goes by its first argument", rule)
			return
		}
	}
	r.tags(c, command)
}

// other reports whether a rule of a profile is the one for unknown commands.
func (r *reader) other(rule proxycompat.Rule) bool {
	rule.Command = r.profile.Others().Command
	return rule == r.profile.Others()
}

// unserved reports a command that the proxy does not serve.
func (r *reader) unserved(c *rediscalls.Call, id, command, what string, rule proxycompat.Rule) {
	if elsewhere(command, id) {
		return
	}
	if id == adminRule && command == "CONFIG SET" && r.mentions(c, "notify-keyspace-events") {
		return // redisnotify reports it
	}
	text := c.Through([]string{command}) + "; " + what
	if rule.Instead != "" {
		text += "; instead: " + rule.Instead
	}
	c.Report(r.pass, id, text)
}

// mentions reports whether an argument of a call is this text.
func (r *reader) mentions(c *rediscalls.Call, text string) bool {
	for _, arg := range c.Args {
		if known, ok := r.eval.Eval(arg).Known(); ok && strings.EqualFold(known, text) {
			return true
		}
	}
	return false
}
