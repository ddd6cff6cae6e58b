package live

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Who identifies a group of similar connections.
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

// Seen is evidence that some connections send a command. It is a sample, and no count.
type Seen struct {
	Who
	Connections int    `json:"connections"`       // distinct ones
	Samples     int    `json:"samples,omitempty"` // in CLIENT LIST
	Lines       int    `json:"lines,omitempty"`   // of MONITOR
	MaxAge      int64  `json:"max_age_seconds,omitempty"`
	Server      string `json:"server"`
}

// compareEvidence puts the most evidence first.
func (s Seen) compareEvidence(o Seen) int {
	return cmp.Or(cmp.Compare(o.Lines, s.Lines), cmp.Compare(o.Samples, s.Samples), s.compare(o.Who))
}

// people are the clients of a server.
type people struct {
	ids      map[int64]bool // of services
	byAddr   map[string]Who
	seen     map[string]map[Who]*sighting // by command
	held     map[string]int               // by command: the maximum of all looks
	sentinel map[string]bool              // names of their command connections
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

// look adds a CLIENT LIST, elapsed after the start of the window. matters reports the commands to
// record.
func (p *people) look(clients []Client, own func(Client) bool, elapsed time.Duration, matters func(string) bool) {
	p.looks++
	window := int64(elapsed / time.Second)
	held := map[string]int{}
	for _, c := range clients {
		switch kind := c.Kind(); {
		case own(c) || kind == Replica || kind == Monitor:
			continue
		case kind == Sentinel:
			if id, isCmd := strings.CutSuffix(c.Name, "-cmd"); isCmd {
				p.sentinel[id] = true
			} else if c.Age <= window {
				p.fresh[c.ID] = true
			}
			continue
		}
		p.ids[c.ID] = true
		p.byAddr[c.Addr] = whoOf(c)
		holds := c.Holds()
		for _, command := range holds {
			held[command]++
			p.sighted(command, c)
		}
		// A command from before the window does not count.
		if c.Cmd != "" && !slices.Contains(holds, c.Cmd) && c.Idle <= window && matters(c.Cmd) {
			p.sighted(c.Cmd, c)
		}
	}
	for command, n := range held {
		p.held[command] = max(p.held[command], n)
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

// monitored adds lines of MONITOR.
func (p *people) monitored(command, addr string, lines int) {
	who, known := p.byAddr[addr]
	if !known {
		who = whoOf(Client{Addr: addr})
	}
	p.sighting(command, who).lines += lines
}

// from returns the evidence for a command, the most first.
func (p *people) from(command, server string) (all []Seen) {
	for who, s := range p.seen[command] {
		all = append(all, Seen{
			Who: who, Connections: len(s.ids), Samples: s.samples, Lines: s.lines, MaxAge: s.age, Server: server,
		})
	}
	slices.SortFunc(all, Seen.compareEvidence)
	return all
}
