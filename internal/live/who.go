package live

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// Who is a group of connections that are alike.
type Who struct {
	Name string `json:"name,omitempty"` // CLIENT SETNAME
	Host string `json:"host"`
	Lib  string `json:"lib,omitempty"`
	User string `json:"user,omitempty"`
}

func whoOf(c Client) Who { return Who{c.Name, c.Host(), c.Lib, c.User} }

func (w Who) compare(o Who) int {
	return cmp.Or(cmp.Compare(w.Name, o.Name), cmp.Compare(w.Host, o.Host), cmp.Compare(w.Lib, o.Lib), cmp.Compare(w.User, o.User))
}

// Seen is who was seen with a command, and how: evidence of who it is, and no count.
type Seen struct {
	Who
	Connections int    `json:"connections"`       // different ones
	Samples     int    `json:"samples,omitempty"` // in so many looks at CLIENT LIST
	Lines       int    `json:"lines,omitempty"`   // in so many lines of MONITOR
	MaxAge      int64  `json:"max_age_seconds,omitempty"`
	Server      string `json:"server"`
}

// compareEvidence puts those with the most evidence first.
func (s Seen) compareEvidence(o Seen) int {
	return cmp.Or(cmp.Compare(o.Lines, s.Lines), cmp.Compare(o.Samples, s.Samples), s.compare(o.Who))
}

// people are the clients of one server.
type people struct {
	ids      map[int64]bool // of services
	byAddr   map[string]Who
	seen     map[string]map[Who]*sighting // by command
	held     map[string]int               // by command: at most so many at one look
	sentinel map[string]bool              // the names of their command connections
	fresh    map[int64]bool               // subscriptions of sentinels that began within the window
	looks    int
}

type sighting struct {
	ids            map[int64]bool
	samples, lines int
	age            int64
}

func newPeople() *people {
	return &people{
		ids: map[int64]bool{}, byAddr: map[string]Who{}, seen: map[string]map[Who]*sighting{},
		held: map[string]int{}, sentinel: map[string]bool{}, fresh: map[int64]bool{},
	}
}

// look takes a CLIENT LIST of a moment of the window. matters says of which commands it
// is good to know who sent them.
func (p *people) look(clients []Client, own func(Client) bool, elapsed time.Duration, matters func(string) bool) {
	p.looks++
	held := map[string]int{}
	for _, c := range clients {
		if own(c) {
			continue
		}
		switch c.Kind() {
		case Sentinel:
			p.sentinelSeen(c, elapsed)
			continue
		case Replica, Monitor:
			continue
		}
		p.ids[c.ID] = true
		p.byAddr[c.Addr] = whoOf(c)
		holds := c.Holds()
		for _, command := range holds {
			held[command]++
			p.sighted(command, c)
		}
		// What was sent before the window is no use within it.
		if c.Cmd != "" && !slices.Contains(holds, c.Cmd) && c.Idle <= int64(elapsed/time.Second) && matters(c.Cmd) {
			p.sighted(c.Cmd, c)
		}
	}
	for command, n := range held {
		p.held[command] = max(p.held[command], n)
	}
}

func (p *people) sentinelSeen(c Client, elapsed time.Duration) {
	id, isCmd := strings.CutSuffix(c.Name, "-cmd")
	switch {
	case isCmd:
		p.sentinel[id] = true
	case c.Age <= int64(elapsed/time.Second):
		p.fresh[c.ID] = true
	}
}

func (p *people) sighted(command string, c Client) {
	s := p.sighting(command, whoOf(c))
	s.ids[c.ID] = true
	s.samples++
	s.age = max(s.age, c.Age)
}

func (p *people) sighting(command string, who Who) *sighting {
	if p.seen[command] == nil {
		p.seen[command] = map[Who]*sighting{}
	}
	s := p.seen[command][who]
	if s == nil {
		s = &sighting{ids: map[int64]bool{}}
		p.seen[command][who] = s
	}
	return s
}

// monitored notes that MONITOR has shown a command of an address.
func (p *people) monitored(command, addr string, lines int) {
	who, known := p.byAddr[addr]
	if !known {
		who = whoOf(Client{Addr: addr})
	}
	p.sighting(command, who).lines += lines
}

// from are those who were seen with a command, those with the most evidence first.
func (p *people) from(command, server string) []Seen {
	var all []Seen
	for who, s := range p.seen[command] {
		all = append(all, Seen{
			Who: who, Connections: len(s.ids), Samples: s.samples, Lines: s.lines, MaxAge: s.age, Server: server,
		})
	}
	slices.SortFunc(all, Seen.compareEvidence)
	return all
}

// heldCommands are the commands whose effect was seen.
func (p *people) heldCommands() []string { return slices.Sorted(maps.Keys(p.held)) }
