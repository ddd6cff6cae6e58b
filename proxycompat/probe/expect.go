package probe

import (
	"strings"

	"github.com/unwatch/unwatch/proxycompat"
)

// oracle says what a profile predicts.
type oracle struct {
	foreign bool // the server is no Redis, so that its version says little about what it lacks
}

func newOracle(server Server) oracle {
	return oracle{foreign: server.Product != "" && server.Product != "redis"}
}

// commandOf finds a command of Redis by the name of a question.
func commandOf(name string) (proxycompat.Command, bool) {
	return proxycompat.CommandOf(strings.Fields(name)...)
}

// writes reports whether a question may change what is stored.
func writes(name string) bool {
	c, _ := commandOf(name)
	return c.Writes()
}

// expect is what the profile predicts for a question; "" if it predicts nothing that
// would show.
func (o oracle) expect(p *proxycompat.Profile, q question) Outcome {
	rule := p.RuleFor(q.args...)
	if !rule.ArgsFit(q.args) {
		if p.RefusalText(q.name) == "" {
			return Closes
		}
		return "" // an error, of words that no profile has
	}
	switch rule.Verdict {
	case proxycompat.Refused:
		if o.foreign && o.tooNew(p, q.name) {
			return ""
		}
		return Refused
	case proxycompat.Closes:
		return Closes
	case proxycompat.OK, proxycompat.Split, proxycompat.OneKey:
		return o.served(p, q)
	case proxycompat.SameSlot:
		switch {
		case p.SameSlot(q.keysIn()...):
			return o.served(p, q)
		case p.Slots() > 0:
			return Refused
		}
	case proxycompat.Backend, proxycompat.Unknown:
		if p.Backend() != (proxycompat.Version{}) && !o.foreign {
			return o.served(p, q)
		}
	}
	return ""
}

// served is OK, unless only the version of the server could tell, and that is not known.
func (o oracle) served(p *proxycompat.Profile, q question) Outcome {
	switch {
	case o.tooNew(p, q.name):
		return ""
	case q.name == "CLUSTER INFO" && p.Server():
		return "" // passed to a server that may have no cluster
	}
	return OK
}

// tooNew reports whether the server of the profile may lack the command. Nobody runs a
// server behind a proxy that is older than that of Codis, which is 3.2.
func (o oracle) tooNew(p *proxycompat.Profile, name string) bool {
	version := p.Backend()
	if version == (proxycompat.Version{}) {
		version = proxycompat.Version{Major: 3, Minor: 2}
	}
	c, known := commandOf(name)
	return known && version.Before(c.Since)
}

// judge compares an answer with what was expected. counts is false where the answer says
// neither that the profile is right nor that it is wrong.
func judge(p *proxycompat.Profile, expected Outcome, a Answer) (counts, agrees bool) {
	switch {
	case expected == "" || a.Outcome == Forbidden || a.Outcome == Timeout:
		return false, false
	case a.Outcome == expected:
		return true, true
	case a.Outcome == Failed && expected == Refused:
		if worded(a.raw, p.RefusalText(a.Command)) {
			return true, true
		}
		return false, false // refused in words that we do not know, or an error of the server
	case a.Outcome == Failed && expected == OK:
		return false, false
	}
	return true, false
}
