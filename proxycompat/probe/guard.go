package probe

import (
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
	for _, l := range p.report.Likeness {
		if harms(l.profile, q) && l.Differs() < p.report.Likeness[0].Differs()+ruledOut {
			return false
		}
	}
	return true
}
