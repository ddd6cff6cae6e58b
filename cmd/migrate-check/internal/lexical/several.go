package lexical

import (
	"regexp"
	"strings"

	"github.com/unwatch/unwatch/proxycompat"
)

// severalKeys are the commands with several keys, by their methods. The number is the number of keys; 0 is all arguments.
var severalKeys = keyed(map[string]several{
	"SINTER":         {command: "SINTER"},
	"SUNION":         {command: "SUNION"},
	"SDIFF":          {command: "SDIFF"},
	"SINTERCARD":     {command: "SINTERCARD"},
	"ZINTERCARD":     {command: "ZINTERCARD"},
	"ZINTER":         {command: "ZINTER"},
	"ZUNION":         {command: "ZUNION"},
	"ZDIFF":          {command: "ZDIFF"},
	"LCS":            {command: "LCS", keys: 2, client: true},
	"LMOVE":          {command: "LMOVE", keys: 2},
	"LISTMOVE":       {command: "LMOVE", keys: 2},
	"SMOVE":          {command: "SMOVE", keys: 2},
	"SETMOVE":        {command: "SMOVE", keys: 2, client: true},
	"PFMERGE":        {command: "PFMERGE"},
	"GEOSEARCHSTORE": {command: "GEOSEARCHSTORE", keys: 2},
	"ZRANGESTORE":    {command: "ZRANGESTORE", keys: 2},
	"PFCOUNT":        {command: "PFCOUNT", client: true, counts: true},
	"UNLINK":         {command: "UNLINK", client: true, counts: true},
	"COPY":           {command: "COPY", keys: 2, client: true, counts: true},
	"SINTERSTORE":    {command: "SINTERSTORE"},
	"SUNIONSTORE":    {command: "SUNIONSTORE"},
	"SDIFFSTORE":     {command: "SDIFFSTORE"},
	"ZINTERSTORE":    {command: "ZINTERSTORE"},
	"ZUNIONSTORE":    {command: "ZUNIONSTORE"},
	"ZDIFFSTORE":     {command: "ZDIFFSTORE"},
	"RPOPLPUSH LISTRIGHTPOPLEFTPUSH RIGHTPOPANDLEFTPUSH": {command: "RPOPLPUSH", keys: 2},
	"HYPERLOGLOGMERGE":                          {command: "PFMERGE", client: true},
	"SETCOMBINE SETCOMBINEANDSTORE":             {command: "SUNIONSTORE", client: true},
	"SORTEDSETCOMBINE SORTEDSETCOMBINEANDSTORE": {command: "ZUNIONSTORE", client: true},
})

// several describes a method of a command with several keys.
type several struct {
	command string
	keys    int  // the number of its arguments that are keys; 0: all may be
	client  bool // other libraries have a method of this name: the receiver must say Redis
	counts  bool // with one argument that is no list it has one key
}

// alone reports whether only clients of Redis have the method.
func (m several) alone() bool { return m.command != "" && !m.client }

// hashTag is the hash tag of a key. A value in it is left out of the text.
var (
	hashTag   = regexp.MustCompile(`\{[^}]*\}`)
	upperCase = regexp.MustCompile(`^[A-Z]+$`) // AGGREGATE, MAX, LEFT
)

// severalKeys reports a command whose keys are not shown to share a slot.
func (c *call) severalKeys() bool {
	m, ok := severalKeys[strings.TrimSuffix(strings.TrimSuffix(c.name, "ASYNC"), "BUFFER")]
	blocks := c.name == "RIGHTPOPANDLEFTPUSH" && len(c.args) > 2
	if !ok || blocks || !c.recv.counts() || m.client && c.recv.is != redis {
		return false
	}
	if !c.sent(false, m.command) {
		c.apart(m, c.args)
	}
	return true
}

// apart reports a command unless it has one key, or the visible texts of its keys have one hash tag.
func (c *call) apart(m several, args [][2]int) {
	lists := len(args) == 1 && (c.is(args[0][0], "*") || c.is(args[0][0], "...") || c.is(args[0][0], "["))
	if len(args) == 0 || len(args) == 1 && m.counts && !lists {
		return
	}
	if m.keys > 0 {
		args = args[:min(m.keys, len(args))]
	}
	effect := map[proxycompat.Verdict]string{
		proxycompat.OneKey:   "the proxy goes by one key alone",
		proxycompat.SameSlot: "the proxy refuses keys of several slots",
	}[c.profile.Rule(m.command).Verdict]
	if effect == "" || c.profile.Server() || c.profile.Hash() == "none" || c.tagged(args) {
		return
	}
	c.tell(c.pos, "MC402", m.command+" through "+c.through()+", its keys not shown to share a slot; "+effect)
}

// tagged reports whether each key has a text with the same hash tag.
func (c *call) tagged(args [][2]int) bool {
	tag, keys := "", 0
	for _, a := range c.elements(args) {
		if tok := c.at(a[0]); tok.kind == num || tok.text == "{" || c.is(a[0]+1, ":") || c.is(a[0]+1, "=") ||
			tok.kind == text && upperCase.MatchString(tok.text) {
			continue // an option
		}
		found := ""
		for i := a[0]; i < a[1] && i < a[0]+maxLook && found == ""; i++ {
			if _, known := c.constants[c.at(i).text]; known || c.at(i).kind == text {
				found = hashTag.FindString(c.constant(i))
			}
		}
		if found == "" || tag != "" && found != tag {
			return false
		}
		tag = found
		keys++
	}
	return keys > 1
}

// elements are arguments, and the elements of those that are lists.
func (c *call) elements(args [][2]int) (all [][2]int) {
	for _, a := range args {
		from, to := a[0], a[1]
		if tok := c.at(from); tok.text != "[" || tok.match+1 != to {
			all = append(all, a)
			continue
		}
		from, to = from+1, to-1
		for i := from; i < to; i++ {
			switch tok := c.at(i); {
			case tok.kind == open:
				i = min(tok.match, to)
			case tok.text == "," && tok.kind == sign:
				all, from = append(all, [2]int{from, i}), i+1
			}
		}
		if from < to {
			all = append(all, [2]int{from, to})
		}
	}
	return all
}
