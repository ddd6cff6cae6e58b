package probe

import (
	"fmt"
	"strings"

	"github.com/unwatch/unwatch/internal/wrap"
	"github.com/unwatch/unwatch/proxycompat"
)

// Meaning returns the consequences for a service that uses this address: one sentence each, most serious
// first.
func (r *Report) Meaning() []string {
	m := &meanings{}
	m.profile(r)
	m.transactions(r.Transactions, r.Server.Version)
	m.scripts(r.Scripts, r.Server.Mode == "cluster")
	m.consistency(r)
	m.compareAndSet(r.CompareAndSet)
	m.rest(r)
	return m.out
}

type meanings struct{ out []string }

func (m *meanings) add(format string, args ...any) {
	m.out = append(m.out, fmt.Sprintf(format, args...))
}

func (m *meanings) profile(r *Report) {
	switch {
	case len(r.Likeness) == 0:
		m.add("Nothing can be said of this address: %s.", r.NotEnough())
	case r.Likeness[0].share() < familiar:
		m.add("No known profile fits: describe this proxy in a file of its own (proxycompat/profilefile), beginning with these differences.")
	case r.Given && r.Base != r.Likeness[0].Lookup && len(r.Differences) > r.Likeness[0].Differs():
		m.add("It is less like %s, which was expected, than like %s.", r.Base, r.Likeness[0].Lookup)
	case len(r.Differences) > 0 && r.Given:
		m.add("Use %s with the differences as rules of your own: proxycompat.Profile.Extend, or a file for proxycompat/profilefile.", r.Base)
	case len(r.Differences) > 0:
		m.add("Use proxycompat.Lookup(%q), and the differences as rules: Profile.Extend, or a file for proxycompat/profilefile.", r.Lookup())
	case r.Given:
		m.add("It is as %s says.", r.Base)
	default:
		m.add("Use proxycompat.Lookup(%q).", r.Base)
	}
}

func (m *meanings) transactions(t Transactions, server string) {
	switch t.Multi {
	case Works:
		m.add("MULTI and EXEC work.")
	case TakenApart:
		m.add("MULTI is refused, and the commands after it are executed one by one: a transaction is not atomic here, and its error does not mean that nothing was done.")
	case Refuses:
		m.add("MULTI does not work here.")
	case Disconnects:
		m.add("MULTI closes the connection.")
	case Ignored, Unclear:
		m.add("MULTI does not work here as it should.")
	case NoRight:
		m.add("Whether MULTI works is not known: the user may not use it.")
	case Silent:
		m.add("Whether MULTI works is not known: it was not answered in time.")
	}
	switch t.Watch {
	case Works:
		if t.Multi == Works {
			m.add("WATCH works: package cas can be used.")
			if v, err := proxycompat.ParseVersion(server); err == nil && v.Before(proxycompat.Version{Major: 6, Minor: 1}) {
				m.add("Before Redis 6.0.9, EXEC does not notice that a watched key has expired.")
			}
		}
	case Refuses, Disconnects:
		m.add("WATCH does not work here: use package lockupdate in place of WATCH, MULTI, EXEC.")
	case Ignored:
		m.add("WATCH is answered OK and does nothing: updates get lost. Use package lockupdate.")
	case NoRight:
		m.add("Whether WATCH works is not known: the user may not use it.")
	case Silent, Unclear:
		m.add("Whether WATCH works is not known: its question was not answered as it should be, or not in time.")
	case NotAsked:
		if t.Multi != NotAsked {
			m.add("WATCH was not asked: it may be a proxy on which that harms others.")
		}
	}
}

func (m *meanings) scripts(s Scripts, node bool) {
	switch s.Eval {
	case NotAsked:
		return
	case Works:
	case NoRight:
		m.add("Unknown whether scripts run: the user may not use EVAL, or a command inside the script.")
		return
	case Silent, Unclear:
		m.add("Whether scripts run is not known: EVAL was not answered as it should be, or not in time.")
		return
	default:
		m.add("Scripts do not run here (EVAL: %s).", s.Eval)
		return
	}
	text := "Scripts with one key run"
	if s.EvalSHA == Works {
		text += ", and EVALSHA after EVAL"
	}
	switch {
	case node: // the other nodes were not probed
	case s.Caches > 1:
		text += fmt.Sprintf("; at least %d servers have a script cache each, so that NOSCRIPT has to be followed by EVAL", s.Caches)
	case s.Caches == 1:
		text += "; one server has all keys that were asked for"
	}
	m.add("%s.", text)
	switch s.TwoSlots {
	case Ignored:
		m.add("A script with keys of two slots is sent to the server of the first, and misses the second without an error.")
	case Refuses, Disconnects:
		m.add("A script with keys of two slots does not run.")
	}
	switch s.HashTags {
	case Works:
		m.add("Keys with the same {hash tag} are together.")
	case Ignored:
		m.add("Keys with the same {hash tag} are not together: scripts can have one key only.")
	}
	if s.NoKey == Disconnects {
		m.add("A script without keys closes the connection.")
	}
}

func (m *meanings) consistency(r *Report) {
	same, two := r.Ordering.SameKey, r.Ordering.TwoKeys
	switch {
	case same.Found > 0 || two.Found > 0:
		text := fmt.Sprintf("%d of %d on one key", same.Found, same.Asked)
		if two.Asked > 0 {
			text += fmt.Sprintf(", in %d of %d on two keys", two.Found, two.Asked)
		}
		m.add("Pipelines are not ordered: the second command ran first in %s. Wait for each answer where order matters.", text)
	case same.Asked > 0:
		m.add("No pipeline of %d was out of order; that is no promise.", same.Asked+two.Asked)
	}
	switch get := r.Reads.Get; {
	case get.Found > 0:
		m.add("GET is old after a write, in %d of %d: a replica answers. Read the input of an update with a script (old in %d of %d).",
			get.Found, get.Asked, r.Reads.Eval.Found, r.Reads.Eval.Asked)
	case get.Asked > 0:
		m.add("No GET of %d was old after a write; that is no promise.", get.Asked)
	}
}

func (m *meanings) compareAndSet(c CompareAndSet) {
	var have []string
	for _, f := range []struct {
		name    string
		finding Finding
	}{
		{"SET IFEQ", c.SetIFEQ},
		{"DELEX", c.DelEX},
		{"DELIFEQ", c.DelIFEQ},
		{"SET VX", c.SetVX},
		{"DELVX", c.DelVX},
		{"CAS", c.CAS},
		{"CAD", c.CAD},
	} {
		if f.finding == Works {
			have = append(have, f.name)
		}
	}
	if len(have) > 0 {
		m.add("The server compares and sets by itself: %s.", strings.Join(have, ", "))
	}
}

func (m *meanings) rest(r *Report) {
	switch r.Databases {
	case Refuses:
		m.add("There is database 0 only.")
	case Disconnects:
		m.add("SELECT closes the connection: there is database 0 only.")
	case Ignored:
		m.add("SELECT is answered OK and ignored: there is database 0 only.")
	}
	if r.ClosesAfterErrors {
		m.add("It closes connections after errors: the rest of a pipeline is lost then.")
	}
	m.limit("Values", "bytes", r.Limits.Value, r.Limits.ValueEnd)
	m.limit("Pipelines", "commands", r.Limits.Pipeline, r.Limits.PipelineEnd)
	if lacking := r.Lacking(); len(lacking) > 0 {
		m.add("The user may not use %s (NOPERM); that says nothing about the proxy: %s.", wrap.Counted(len(lacking), "command"), some(lacking))
	}
	if silent := r.Unanswered(); len(silent) > 0 {
		m.add("Not answered in time, so that nothing is known of it: %s.", some(silent))
	}
	if r.WritesSkipped != "" {
		m.add("Commands that write were not asked, but SET: keys cannot be given an expiry here (%s).", r.WritesSkipped)
	}
}

// limit describes the largest success, also if nothing larger was tried.
func (m *meanings) limit(what, unit string, largest int, end string) {
	switch {
	case end != "":
		m.add("%s: %d %s went through, and not %s.", what, largest, unit, end)
	case largest > 0:
		m.add("%s: %d %s went through; more was not tried.", what, largest, unit)
	}
}

// maxNamed limits the commands named in a sentence.
const maxNamed = 12

// some names the first maxNamed commands.
func some(names []string) string {
	if len(names) > maxNamed {
		return fmt.Sprintf("%s, and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
	}
	return strings.Join(names, ", ")
}

// NotEnough explains why the report names no profile; empty if it names one.
func (r *Report) NotEnough() string {
	if r.Enough {
		return ""
	}
	text := "fewer than half of the commands were answered in a way that says something about it"
	if lacking := r.Lacking(); len(lacking) > 0 {
		text += "; the user lacks the right for " + some(lacking)
	}
	return text
}
