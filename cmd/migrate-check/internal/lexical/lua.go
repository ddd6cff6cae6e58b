package lexical

import (
	"slices"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/scriptcheck"
)

// luaRules map the findings of scriptcheck to rules. Findings about the server's version have none.
var luaRules = map[string]string{
	scriptcheck.UndeclaredKey: "MC503",
	scriptcheck.SeveralKeys:   "MC501",
	scriptcheck.NotInScripts:  "MC504",
	scriptcheck.Unheard:       "MC504",
	scriptcheck.OneServer:     "MC504",
	scriptcheck.CannotTell:    "MC902",
}

// scanLua looks at a script. A file that is no script of Redis is none of our business, and
// one that does not parse, such as a template, is looked at call by call.
func scanLua(p *proxycompat.Profile, path, src string) []finding.Finding {
	t := lex(Lua, src)
	calls := luaCalls(t)
	if len(calls) == 0 || p.Server() {
		return nil
	}
	s := newScanner(p, &languages[Lua-1], path, t)
	found, err := scriptcheck.CheckScript(p, src)
	if err != nil {
		for _, at := range calls {
			if name, ok := refusedInScript(t.at(at + 4).text); ok {
				s.tell(at, "MC504", name+" in a script")
			}
		}
		return s.findings()
	}
	for _, f := range found {
		if rule, ok := luaRules[f.Rule]; ok {
			s.tell(luaToken(t, f.Line, calls), rule, f.Command+": "+lowerFirst(strings.TrimSuffix(f.Why, ".")))
		}
	}
	return s.findings()
}

// refusedInScript reports whether a command does not work in a script behind a proxy. The script does not pass the
// proxy command by command, so the profile does not matter.
func refusedInScript(command string) (string, bool) {
	name := strings.ToUpper(command)
	return name, methods[name] && !slices.Contains([]string{"XREAD", "XREADGROUP", "EVALSHA", "SCRIPT"}, name)
}

// script reports the commands in a string that holds a script.
func (s *scanner) script(i int) {
	if s.profile.Hash() == "none" { // one server executes all of it
		return
	}
	t := lex(Lua, s.all[i].text)
	seen := map[string]bool{}
	for _, at := range luaCalls(t) {
		if name, ok := refusedInScript(t.at(at + 4).text); ok && !seen[name] && name != "TIME" {
			seen[name] = true
			s.tell(i, "MC504", name+" in a script")
		}
	}
}

// luaCalls are the tokens at which redis.call and redis.pcall begin.
func luaCalls(t *tokens) []int {
	var all []int
	for i := range t.all {
		if t.is(i, "redis") && t.is(i+1, ".") && (t.is(i+2, "call") || t.is(i+2, "pcall")) {
			all = append(all, i)
		}
	}
	return all
}

// luaToken is the call on a line, or its first token.
func luaToken(t *tokens, line int, calls []int) int {
	for _, at := range calls {
		if l, _ := t.place(t.at(at).pos); l == line {
			return at
		}
	}
	for i := range t.all {
		if l, _ := t.place(t.at(i).pos); l >= line {
			return i
		}
	}
	return calls[0]
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}
