package probe

import (
	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/proxycompat"
)

// ruledOut is the margin of wrong predictions over the most similar profile that excludes a profile, so
// that its harmful commands may be sent. It exceeds the effect of a configuration or a patch.
const ruledOut = 8

// familiar is the similarity to some profile that is required for it: behind an unknown proxy any command
// may be harmful.
const familiar = 0.9

// harmsBase reports whether the question harms others by the given profile.
func (p *prober) harmsBase(q question) bool {
	return !p.cfg.Risky && p.cfg.Profile != nil && harms(p.cfg.Profile, q)
}

func harms(profile *proxycompat.Profile, q question) bool {
	return profile.RuleFor(q.args...).Verdict == proxycompat.HarmsOthers
}

// allowed reports whether a guarded question may be sent: the answers so far exclude each profile that
// marks it as harmful to others.
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
		// An old Redis lacks most commands that distinguish it from a proxy, so one difference is enough.
		enough = best.Differs() + 1
	}
	for _, l := range p.report.Likeness {
		if harms(l.profile, q) && l.Differs() < enough {
			return false
		}
	}
	return true
}

// saysServer reports whether ROLE was answered by a single server, with its role first. A proxy that
// answers for several servers returns an array for each.
func saysServer(role resp.Reply) bool {
	parts, _ := role.List()
	name := text(first(parts))
	return name == "master" || name == "slave"
}
