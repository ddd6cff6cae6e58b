package main

import (
	"cmp"
	_ "embed" // the profile of blind writers, and the scripts of this module
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/live"
	"github.com/unwatch/unwatch/internal/wrap"
	"github.com/unwatch/unwatch/proxycompat"
)

// blindWritersProfile refuses the commands of blind writers.
//
//go:embed blind-writers.yaml
var blindWritersProfile []byte

// ownScriptsTable lists the SHA1 and the file of each script of this module, also of older versions. They check the
// key before they write.
//
//go:embed own-scripts.tsv
var ownScriptsTable string

// blindWriter is a client, or a script of it, that sends one command that destroys markers.
type blindWriter struct {
	Command string `json:"command"`
	// Script begins as the script's SHA1, or is the name of a function. Empty: the client sends the command itself.
	Script string   `json:"script,omitempty"`
	Client string   `json:"client"` // name and host
	Keys   []string `json:"keys"`   // empty: every key of the server
	list   bool     // a command for lists, which changes a marker
}

func (b blindWriter) String() string {
	text := b.Command
	if b.Script != "" {
		text += " in script " + b.Script
	}
	const few = 3
	keys := b.Keys[:min(len(b.Keys), few)]
	if text += " by " + b.Client; len(keys) > 0 {
		text += " of " + strings.Join(keys, " ")
	}
	if more := len(b.Keys) - few; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// monitorLines finds blind writers in the lines of MONITOR. A server shows the call of a script before the commands
// of that script, whose client it calls "lua", and the commands of a transaction between its MULTI and its EXEC.
type monitorLines struct {
	profile *proxycompat.Profile
	own     map[string]bool        // SHA1 of scripts that check the key
	counts  func(name string) bool // nil: every key
	db      int
	// grace is how long after the first line a client may go on with a WATCH that was sent before it.
	grace time.Duration
	began time.Time // of the first line

	early   map[string]bool       // addresses seen in that time: true until the first transaction there has ended
	script  scriptCall            // the last line; zero if it was no call
	clients [2]map[string]*client // those with a WATCH or MULTI, by address: the recent ones, and older ones
	found   map[writerID]*foundWriter
}

// maxWatching bounds the clients of each map, and maxWatched the keys of a client. A client above them is reported.
const (
	maxWatching = 4096
	maxWatched  = 256
)

type writerID struct{ addr, command, script string }

type foundWriter struct {
	keys map[string]bool
	list bool
}

// scriptCall is a call of a script, and the keys that it has read by a command that a marker refuses.
type scriptCall struct {
	addr, name string
	own        bool
	read       map[string]bool
}

// client is the state of a connection: the keys that it watches, and whether it has read them since.
type client struct {
	watched map[string]bool
	multi   bool
	unseen  bool // its WATCH may have been sent before the first line
}

func newMonitorLines(profile *proxycompat.Profile, db int, counts func(name string) bool) *monitorLines {
	own := map[string]bool{}
	for line := range strings.Lines(ownScriptsTable) {
		sha, _, _ := strings.Cut(line, "\t")
		own[sha] = true
	}
	return &monitorLines{
		profile: profile, own: own, counts: counts, db: db,
		clients: [2]map[string]*client{{}, {}}, found: map[writerID]*foundWriter{}, early: map[string]bool{},
	}
}

// take looks at a line. It keeps names of keys, and no values.
func (m *monitorLines) take(line live.MonitorLine) {
	args := line.Args
	known, _ := proxycompat.CommandOf(args...)
	name := cmp.Or(known.Name, strings.ToUpper(args[0]))
	if line.Source == "lua" {
		if s := &m.script; !s.own {
			m.judge(line, known, writerID{s.addr, name, cmp.Or(s.name, "of unknown name")}, s.read)
			s.read = reads(s.read, known, args, maxWatched)
		}
		return
	}
	m.script = scriptCall{}
	if known.Group == "scripting" {
		m.script = m.called(line, name)
		return
	}
	m.arrived(line.Source, known)
	c := m.client(line.Source)
	switch name {
	case "WATCH":
		if c == nil || c.multi { // no WATCH is permitted in a transaction: that one has ended
			c = m.begin(line.Source)
		}
		for _, key := range args[1:] {
			if len(c.watched) < maxWatched {
				c.watched[key] = false
			}
		}
	case "MULTI":
		if c == nil || c.multi {
			unseen := m.early[line.Source]
			c = m.begin(line.Source)
			c.unseen = unseen
		}
		c.multi = true
	case "UNWATCH":
		if c != nil && !c.multi { // it has no effect within a transaction
			m.end(line.Source)
		}
	case "EXEC", "DISCARD", "RESET":
		m.end(line.Source)
	default:
		var checked map[string]bool
		if c != nil && c.multi {
			checked = c.watched
		} else if c != nil {
			c.reads(known, args)
		}
		if c == nil || !c.multi || !c.unseen {
			m.judge(line, known, writerID{line.Source, name, ""}, checked)
		}
	}
}

// arrived notes a client that may have sent a WATCH before the first line. The first line of a new connection is that of
// a handshake, or comes later.
func (m *monitorLines) arrived(addr string, known proxycompat.Command) {
	if m.began.IsZero() {
		m.began = time.Now()
	}
	if _, seen := m.early[addr]; !seen && len(m.early) < maxWatching && time.Since(m.began) < m.grace {
		m.early[addr] = known.Group != "connection"
	}
}

// called returns the script that the line calls.
func (m *monitorLines) called(line live.MonitorLine, name string) scriptCall {
	s := scriptCall{addr: line.Source}
	if len(line.Args) < 2 {
		return s
	}
	sha := strings.ToLower(line.Args[1])
	switch {
	case strings.HasPrefix(name, "FCALL"):
		s.name = line.Args[1]
		return s
	case name == "EVAL" && line.Cut && len(line.Args) == 2: // the text may be incomplete
		return s
	case name == "EVAL":
		sha = redis.NewScript(line.Args[1]).Hash()
	}
	s.name, s.own = sha[:min(len(sha), 8)], m.own[sha]
	return s
}

// client returns the state of a connection, or nil. The clients of a socket share its path, so nothing is known of one.
func (m *monitorLines) client(addr string) *client {
	for _, some := range m.clients {
		if c := some[addr]; c != nil {
			return c
		}
	}
	return nil
}

func (m *monitorLines) begin(addr string) *client {
	m.end(addr)
	c := &client{watched: map[string]bool{}}
	if strings.HasPrefix(addr, "unix:") || strings.HasPrefix(addr, "/") {
		return c
	}
	if len(m.clients[0]) >= maxWatching {
		m.clients = [2]map[string]*client{{}, m.clients[0]}
	}
	m.clients[0][addr] = c
	return c
}

func (m *monitorLines) end(addr string) {
	if m.early[addr] {
		m.early[addr] = false
	}
	delete(m.clients[0], addr)
	delete(m.clients[1], addr)
}

// refusesMarkers reports whether a marker refuses the command, which reads the key, with WRONGTYPE.
func refusesMarkers(known proxycompat.Command) bool {
	return known.Name == "GETEX" ||
		known.ReadOnly() && slices.Contains([]string{"string", "hash", "bitmap"}, known.Group) && known.Name != "MGET"
}

// reads adds the keys of the command to those that were read, if a marker refuses it.
func reads(read map[string]bool, known proxycompat.Command, args []string, most int) map[string]bool {
	if !refusesMarkers(known) {
		return read
	}
	if read == nil {
		read = map[string]bool{}
	}
	for _, at := range known.Keys(args) {
		if len(read) < most {
			read[args[at]] = true
		}
	}
	return read
}

func (c *client) reads(known proxycompat.Command, args []string) {
	if !refusesMarkers(known) {
		return
	}
	for _, at := range known.Keys(args) {
		if _, watched := c.watched[args[at]]; watched {
			c.watched[args[at]] = true
		}
	}
}

// judge adds the keys whose markers the command destroys or changes, unless its client has checked them.
func (m *monitorLines) judge(line live.MonitorLine, known proxycompat.Command, id writerID, checked map[string]bool) {
	if m.profile.Rule(id.command).Verdict != proxycompat.Refused {
		return
	}
	keys, all := destroys(known, line.Args)
	keys = slices.DeleteFunc(keys, func(key string) bool { return checked[key] || m.counts != nil && !m.counts(key) })
	if len(keys) == 0 && !all || !all && line.DB != m.db || id.command == "FLUSHDB" && line.DB != m.db {
		return
	}
	w := m.found[id]
	if w == nil {
		w = &foundWriter{keys: map[string]bool{}, list: known.Group == "list"}
		m.found[id] = w
	}
	for _, key := range keys {
		w.keys[key] = true
	}
}

// destroys returns the keys that hold no whole marker after the command, if they hold one before. all: every key.
func destroys(known proxycompat.Command, args []string) (keys []string, all bool) {
	has := func(from int, words ...string) bool {
		return slices.ContainsFunc(args[min(from, len(args)):], func(arg string) bool {
			return slices.Contains(words, strings.ToUpper(arg))
		})
	}
	at := func(i int) []string { return slices.Clone(args[min(i, len(args)):min(i+1, len(args))]) }
	switch name := known.Name; name {
	case "FLUSHDB", "FLUSHALL", "SWAPDB":
		return nil, true
	case "SET": // a marker is a value, and none that could be returned or compared
		if has(3, "NX", "GET", "IFEQ", "IFNE", "IFDEQ", "IFDNE") {
			return nil, false
		}
		return at(1), false
	case "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT": // a marker has no expiry, as if it were infinite
		if has(3, "XX", "GT") {
			return nil, false
		}
		return at(1), false
	case "COPY":
		if has(3, "REPLACE") {
			return at(2), false
		}
		return nil, false
	case "RESTORE":
		if has(4, "REPLACE") {
			return at(1), false
		}
		return nil, false
	case "DELEX":
		if len(args) > 2 {
			return nil, false
		}
		return at(1), false
	case "RENAMENX":
		return at(1), false
	case "MIGRATE":
		if has(6, "COPY") {
			return nil, false
		}
	case "BITOP":
		return at(2), false
	case "SORT", "GEORADIUS", "GEORADIUSBYMEMBER":
		for i := len(args) - 2; i > 1; i-- {
			if option := strings.ToUpper(args[i]); option == "STORE" || option == "STOREDIST" {
				return at(i + 1), false
			}
		}
		return nil, false
	default:
		if strings.HasSuffix(name, "STORE") {
			return at(1), false
		}
	}
	for _, i := range known.Keys(args) {
		keys = append(keys, args[i])
	}
	return keys, false
}

// writers returns the blind writers, in the order of their texts. Connections of one client are one.
func (m *monitorLines) writers(monitored live.Monitored) (all []blindWriter) {
	merged := map[writerID]*foundWriter{}
	for id, w := range m.found {
		who := monitored.Client(id.addr)
		id.addr = wrap.Printable(cmp.Or(strings.TrimSpace(who.Name+" "+who.Host), "a client that was not seen"))
		if merged[id] == nil {
			merged[id] = &foundWriter{keys: map[string]bool{}, list: w.list}
		}
		maps.Copy(merged[id].keys, w.keys)
	}
	for id, w := range merged {
		all = append(all, blindWriter{id.command, id.script, id.addr, slices.Sorted(maps.Keys(w.keys)), w.list})
	}
	slices.SortFunc(all, func(a, b blindWriter) int {
		return cmp.Or(cmp.Compare(a.Command, b.Command), cmp.Compare(a.Client, b.Client), cmp.Compare(a.Script, b.Script))
	})
	return all
}
