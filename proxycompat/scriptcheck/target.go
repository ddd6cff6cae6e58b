package scriptcheck

import "github.com/unwatch/unwatch/proxycompat"

// target is what the rules want to know of a profile.
type target struct {
	profile  *proxycompat.Profile
	backend  proxycompat.Version // zero if it is not known
	sharded  bool                // keys may be on different servers
	oneKey   string              // why a script may use one key only; empty: it may use several
	literal  bool                // see LiteralKeys
	unheard  string              // why nobody hears PUBLISH; empty: somebody may
	sunheard string              // the same of SPUBLISH
}

func targetOf(p *proxycompat.Profile) target {
	t := target{profile: p, backend: p.Backend(), literal: p.LiteralKeys()}
	// Two keys that share nothing are sure to be together only where there is one server.
	t.sharded = !p.SameSlot("a", "b")
	if eval := p.Rule("EVAL"); eval.Verdict == proxycompat.OneKey && !p.TakesTagged() {
		t.oneKey = eval.Why
	}
	t.unheard, t.sunheard = deaf(p, "SUBSCRIBE"), deaf(p, "SSUBSCRIBE")
	return t
}

// deaf returns why nobody can subscribe, and nothing if somebody can.
func deaf(p *proxycompat.Profile, command string) string {
	switch r := p.Rule(command); r.Verdict {
	case proxycompat.OK, proxycompat.Split, proxycompat.Backend, proxycompat.Unknown:
		return ""
	default:
		return r.Why
	}
}

// lacks reports whether the server is known to be older than this.
func (t *target) lacks(since proxycompat.Version) bool {
	return t.backend != proxycompat.Version{} && t.backend.Before(since)
}

// before reports whether the server is, or may be, older than this.
func (t *target) before(v proxycompat.Version) bool {
	return t.backend == proxycompat.Version{} || t.backend.Before(v)
}

// keysOf returns the indices of the keys in args, as Redis or else the proxy has it, and
// whether either knows the command.
func (t *target) keysOf(args []string) (keys []int, known bool) {
	if keys, known = proxycompat.KeysOf(args...); known {
		return keys, true
	}
	rule := t.profile.Rule(args[0])
	keys = rule.Keys(args)
	rule.Command = "*"
	return keys, rule != t.profile.Others()
}
