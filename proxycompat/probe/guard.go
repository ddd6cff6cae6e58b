package probe

import (
	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/proxycompat"
)

// ruledOut is how many commands more than the most like profile one has to get wrong
// until what it marks as harmful may be asked: more than a configuration or a patch of
// that proxy explains.
const ruledOut = 8

// familiar is how much the address has to be like some profile for that: of what nothing
// is known, anything may be harmful.
const familiar = 0.9

// harmsBase reports whether the question harms others by the profile that was given.
func (p *prober) harmsBase(q question) bool {
	return !p.cfg.Risky && p.cfg.Profile != nil && harms(p.cfg.Profile, q)
}

func harms(profile *proxycompat.Profile, q question) bool {
	return profile.RuleFor(q.args...).Verdict == proxycompat.HarmsOthers
}

// allowed reports whether a guarded question may be asked: some profile marks it as
// harmful to others, and the answers so far say that this is another proxy.
func (p *prober) allowed(q question) bool {
	switch {
	case p.cfg.Risky:
		return true
	case p.harmsBase(q), len(p.report.Likeness) == 0, p.report.Likeness[0].share() < familiar:
		return false
	}
	best := p.report.Likeness[0]
	enough := best.Differs() + ruledOut
	if p.server && best.profile.Server() {
		// An old Redis lacks most commands in which it differs from a proxy: one is enough.
		enough = best.Differs() + 1
	}
	for _, l := range p.report.Likeness {
		if harms(l.profile, q) && l.Differs() < enough {
			return false
		}
	}
	return true
}

// saysServer reports whether ROLE was answered as a server does, with its role first. A
// proxy that answers for several servers has an array for each.
func saysServer(role resp.Reply) bool {
	_, elements, ok := role.Elements()
	name, _ := resp.Reply(elements).Text()
	return ok && (name == "master" || name == "slave")
}
