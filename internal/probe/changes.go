package probe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/proxycompat"
)

// BaseProfile returns the profile that Differences refer to; nil for a Report that [Probe] did not return.
func (r *Report) BaseProfile() *proxycompat.Profile { return r.base }

// Changes returns the differences as rules of a new profile, for [proxycompat.Profile.Extend] of
// [Report.BaseProfile], and for a file of package profilefile. name is the name of the new profile: one word in
// lower case.
//
// A command without an answer in time is no difference, and makes no rule.
func (r *Report) Changes(name string) proxycompat.Changes {
	c := proxycompat.Changes{Name: name, About: fmt.Sprintf("%s, as probe found it at %s", r.Base, r.Addr)}
	source := fmt.Sprintf("observed: probe of %s, %s", r.Addr, r.At.Format("2006-01-02"))
	if r.Server.Version != "" {
		source += fmt.Sprintf(", %s %s", r.Server.Product, r.Server.Version)
	}
	seen := map[string]bool{}
	for _, d := range r.Differences {
		rule, ok := r.ruleOf(d)
		if !ok || seen[d.Command] {
			continue
		}
		seen[d.Command] = true
		rule.Source = source
		at := slices.IndexFunc(c.Rules, func(other proxycompat.RuleChange) bool {
			return other.Verdict == rule.Verdict && other.Error == rule.Error && other.Why == rule.Why
		})
		if at < 0 {
			c.Rules = append(c.Rules, rule)
		} else {
			c.Rules[at].Commands = append(c.Rules[at].Commands, rule.Commands...)
		}
	}
	return c
}

// ruleOf converts a difference to a rule. For a command with several keys a difference shows only whether a
// second key causes an error.
func (r *Report) ruleOf(d Difference) (proxycompat.RuleChange, bool) {
	rule := proxycompat.RuleChange{Commands: []string{d.Command}}
	several := false
	if keys := d.question.keysIn(); len(keys) > 1 {
		several = slices.ContainsFunc(keys[1:], func(key string) bool { return key != keys[0] })
	}
	switch {
	case d.Case != "" && (d.Observed != Refused || !several):
		return rule, false // a special case does not describe the command in general
	case d.Case != "":
		rule.Verdict, rule.Why = proxycompat.SameSlot.String(), "answered with an error if its keys are in different slots"
	case d.Observed == Refused:
		rule.Verdict, rule.Why = proxycompat.Refused.String(), "answered with an error"
		rule.Error = pattern(d, r.base)
	case d.Observed == Closes:
		rule.Verdict, rule.Why = proxycompat.Closes.String(), "the connection was closed without an answer"
	case d.Observed == OK && (several || isMany(d.Command)):
		rule.Verdict, rule.Why = proxycompat.OneKey.String(), "answered; whether its other keys are looked at was not seen"
	case d.Observed == OK:
		rule.Verdict, rule.Why = proxycompat.OK.String(), "answered"
	default:
		return rule, false
	}
	return rule, true
}

// isMany reports whether a command may have several keys, so that a success with one key does not prove
// support for two. The arguments fit if it has a key count.
func isMany(command string) bool {
	keys, known := proxycompat.KeysOf(append(strings.Fields(command), "2", "2", "2", "2", "2", "2")...)
	return known && len(keys) > 1
}

// pattern returns the text of a refusal, with the command replaced by %s or %l; empty if it equals that of
// the profile, or if a part was masked.
func pattern(d Difference, base *proxycompat.Profile) string {
	if d.Text == "" || strings.ContainsAny(d.Text, "…%") || base != nil && worded(d.Text, base.RefusalText(d.Command)) {
		return ""
	}
	name, _, _ := strings.Cut(d.Command, " ")
	text := strings.ReplaceAll(d.Text, name, "%s")
	return strings.ReplaceAll(text, strings.ToLower(name), "%l")
}
