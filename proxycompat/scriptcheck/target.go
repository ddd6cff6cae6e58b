package scriptcheck

import "github.com/unwatch/unwatch/proxycompat"

// target holds the facts of a profile that the rules use.
type target struct {
	profile  *proxycompat.Profile
	backend  proxycompat.Version // zero if unknown
	sharded  bool                // keys may be on different servers
	oneKey   string              // the reason why a script may use one key only; empty: several keys are permitted
	literal  bool                // see LiteralKeys
	unheard  string              // the reason why no client receives PUBLISH; empty: a client may
	sunheard string              // the same for SPUBLISH
}

func targetOf(p *proxycompat.Profile) target {
	t := target{profile: p, backend: p.Backend(), literal: p.LiteralKeys()}
	// Two unrelated keys are certainly together only on a single server.
	t.sharded = !p.SameSlot("a", "b")
	if eval := p.Rule("EVAL"); eval.Verdict == proxycompat.OneKey && !p.TakesTagged() {
		t.oneKey = eval.Why
	}
	t.unheard, t.sunheard = deaf(p, "SUBSCRIBE"), deaf(p, "SSUBSCRIBE")
	return t
}

// deaf returns the reason why no client can subscribe; empty if one can.
func deaf(p *proxycompat.Profile, command string) string {
	switch r := p.Rule(command); r.Verdict {
	case proxycompat.OK, proxycompat.Split, proxycompat.Backend, proxycompat.Unknown:
		return ""
	default:
		return r.Why
	}
}

// lacks reports whether the server is known to be older than this version.
func (t *target) lacks(since proxycompat.Version) bool {
	return t.backend != proxycompat.Version{} && t.backend.Before(since)
}

// before reports whether the server is, or may be, older than this version.
func (t *target) before(v proxycompat.Version) bool {
	return t.backend == proxycompat.Version{} || t.backend.Before(v)
}

// keysOf returns the indices of the keys in args by the command list of Redis, or else by the profile, and
// whether either has the command.
func (t *target) keysOf(args []string) (keys []int, known bool) {
	if keys, known = proxycompat.KeysOf(args...); known {
		return keys, true
	}
	rule := t.profile.Rule(args[0])
	keys = rule.Keys(args)
	rule.Command = "*"
	return keys, rule != t.profile.Others()
}
