package lexical

import (
	"slices"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/internal/rules"
	"github.com/unwatch/unwatch/proxycompat"
)

// report is a finding at a token.
type report struct {
	rule    string
	message string
}

// sent reports that a call sends commands, if the proxy refuses one of them.
func (s *scanner) sent(at int, named bool, commands []string, through string) bool {
	for _, command := range commands {
		rule, what := s.ruleFor(command, named)
		if rule == "" {
			continue
		}
		if len(commands) > 1 {
			what = strings.Replace(what, "refuses it", "refuses them", 1)
		}
		s.tell(at, rule, strings.Join(commands, " and ")+" through "+through+"; "+what)
		return true
	}
	return false
}

// ruleFor returns the rule for a command, and the effect of the proxy; "" if the proxy serves it.
func (s *scanner) ruleFor(command string, named bool) (rule, what string) {
	if command == "EVALSHA" && !s.profile.Server() {
		return "MC505", "each server has its own scripts"
	}
	what, refused := rules.Refusal(s.profile, command)
	if !refused {
		return "", ""
	}
	known, _ := proxycompat.CommandOf(command)
	blocks := known.Blocks() && command != "XREAD" && command != "XREADGROUP"
	rule = rules.OfCommand(command, s.profile.Rule(command).Verdict, blocks)
	switch {
	case named && slices.Contains(transactions, command):
		rule = "MC103"
	case rule == "MC103" && command != "UNWATCH":
		rule = "MC102"
	}
	return rule, what
}

// report reports a mistake that is not a command at a token, once.
func (s *scanner) report(at int, rule, what string) {
	if !s.profile.Server() {
		s.tell(at, rule, what+"; "+verdicts[rule])
	}
}

// tell reports something, in words of its own.
func (s *scanner) tell(at int, rule, message string) {
	for _, r := range s.reports[at] {
		if r.rule == rule {
			return
		}
	}
	if _, known := s.funcs[at]; !known {
		s.funcs[at] = s.function()
	}
	s.reports[at] = append(s.reports[at], &report{rule: rule, message: message + " (" + rule + ")"})
}

// findings are the reports as they go out.
func (s *scanner) findings() []finding.Finding {
	var all []finding.Finding
	for at, reports := range s.reports {
		tok := s.at(at)
		line, column := s.place(tok.pos)
		for _, r := range reports {
			endLine, endColumn := line, column+len(tok.text)
			if tok.kind != word {
				endLine, endColumn = 0, 0
			}
			all = append(all, finding.Finding{
				Rule: r.rule, Severity: rules.Warning, Confidence: finding.Low,
				Place:   finding.Place{Path: s.path, Line: line, Column: column, Message: r.message},
				EndLine: endLine, EndColumn: endColumn, Func: s.funcs[at],
				Advice: advices[r.rule],
			})
		}
	}
	finding.Sort(all)
	return all
}
