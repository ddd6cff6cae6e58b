package proxytest

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/unwatch/unwatch/internal/resp"
)

// Store selects the support for scripts and native compare-and-set commands behind a proxy. The servers
// stay the same: missing commands run as scripts, atomically, and scripts of clients are refused.
type Store uint8

const (
	// Lua is a server with scripts, without changes.
	Lua Store = iota
	// Redis84 has SET … IFEQ, SET … IFNE and DELEX … IFEQ, as Redis since 8.4; no scripts, as if an ACL
	// forbade them.
	Redis84
	// Valkey9 has SET … IFEQ and DELIFEQ, as Valkey since 9.0; no scripts.
	Valkey9
	// Pika has SET … VX and DELVX and no Lua.
	Pika
	// OldPika is Pika before 4, which stores expiries in whole seconds of its clock. An expiry below a
	// second is none, PTTL returns whole seconds, and a key lives until the end of its last second.
	OldPika
	// Kvrocks has CAS and CAD, as Kvrocks and Tair; no scripts.
	Kvrocks
)

// String returns the store's name.
func (s Store) String() string {
	return [...]string{"lua", "redis 8.4", "valkey 9", "pika", "old pika", "kvrocks"}[s]
}

// compareAndSet compares ARGV[1] with the value, then sets ARGV[2] with the expiry ARGV[3] (milliseconds,
// "keep" or "none"), or deletes; the reply has the form of ARGV[4]. With "ne" the comparison must fail.
const compareAndSet = `
local now = redis.call('GET', KEYS[1])
local answers = {ok = {redis.status_reply('OK'), false, false}, int = {1, 0, 0}, vx = {1, 0, -1}, cas = {1, -1, 0}}
local a = answers[ARGV[4]]
if ARGV[4] == 'ne' then
  a = answers.ok
  if now == ARGV[1] then return a[3] end
else
  if not now then return a[2] end
  if now ~= ARGV[1] then return a[3] end
end
local ttl = ARGV[3]
if ttl == 'del' then redis.call('DEL', KEYS[1]) return a[1] end
if ttl == 'keep' then ttl = redis.call('PTTL', KEYS[1]) end
if ttl == 'none' or ttl == -1 then redis.call('SET', KEYS[1], ARGV[2])
else redis.call('SET', KEYS[1], ARGV[2], 'PX', ttl) end
return a[1]`

// secondsLeft is PTTL in whole seconds, without the last second of a key. ARGV[1] is the elapsed part of
// the current second.
const secondsLeft = `
local ttl = redis.call('PTTL', KEYS[1])
if ttl < 0 then return ttl end
return math.floor((ttl - 500 + ARGV[1]) / 1000) * 1000`

func (s Store) isPika() bool { return s == Pika || s == OldPika }

// translate returns the command that a server behind the proxy executes instead of args, or an error reply
// if the store lacks the command.
func (s Store) translate(args []string) (instead []string, refusal string) {
	if s == Lua {
		return args, ""
	}
	swap := func(key, old, value, answers string, options []string) ([]string, string) {
		ttl, ok := s.expiry(options)
		if !ok {
			return nil, "ERR syntax error"
		}
		return []string{"EVAL", compareAndSet, "1", key, old, value, ttl, answers}, ""
	}
	drop := func(answers string) ([]string, string) {
		old := args[len(args)-1]
		return []string{"EVAL", compareAndSet, "1", args[1], old, "", "del", answers}, ""
	}
	name, n := strings.ToUpper(args[0]), len(args)
	switch {
	case name == "SET" && n > 4 && strings.EqualFold(args[3], "IFEQ") && (s == Redis84 || s == Valkey9):
		return swap(args[1], args[4], args[2], "ok", args[5:])
	case name == "SET" && n > 4 && strings.EqualFold(args[3], "IFNE") && s == Redis84:
		return swap(args[1], args[4], args[2], "ne", args[5:])
	case name == "SET" && n > 4 && strings.EqualFold(args[3], "VX") && s.isPika():
		return swap(args[1], args[4], args[2], "vx", args[5:])
	case name == "CAS" && n > 3 && s == Kvrocks:
		return swap(args[1], args[2], args[3], "cas", args[4:])
	case name == "DELEX" && n == 4 && strings.EqualFold(args[2], "IFEQ") && s == Redis84,
		name == "DELIFEQ" && n == 3 && s == Valkey9:
		return drop("int")
	case name == "DELVX" && n == 3 && s.isPika():
		return drop("vx")
	case name == "CAD" && n == 3 && s == Kvrocks:
		return drop("cas")
	case strings.HasPrefix(name, "EVAL"), name == "CAS", name == "CAD", name == "DELEX", name == "DELIFEQ", name == "DELVX",
		name == "GETEX" && (s.isPika() || s == Kvrocks):
		return nil, "ERR unknown command '" + args[0] + "'"
	case name == "PTTL" && n == 2 && s == OldPika:
		return []string{"EVAL", secondsLeft, "1", args[1], strconv.FormatInt(time.Now().UnixMilli()%1000, 10)}, ""
	case name == "PEXPIRE" && n == 3 && s == OldPika:
		if ttl, ok := s.expiry([]string{"PX", args[2]}); ok && ttl != "none" {
			return []string{args[0], args[1], ttl}, ""
		}
		return []string{"DEL", args[1]}, ""
	case name == "SET" && n == 6 && strings.EqualFold(args[4], "PX") && s == OldPika:
		ttl, ok := s.expiry(args[4:])
		switch {
		case !ok:
			return nil, "ERR syntax error"
		case ttl == "none":
			return args[:4], ""
		}
		return append(slices.Clone(args[:5]), ttl), ""
	}
	return args, ""
}

// expiry parses the options that follow the values of a command.
func (s Store) expiry(options []string) (ttl string, ok bool) {
	switch {
	case len(options) == 0:
		return "none", true
	case len(options) == 1 && strings.EqualFold(options[0], "KEEPTTL") && (s == Redis84 || s == Valkey9):
		return "keep", true
	case len(options) != 2 || !strings.EqualFold(options[0], "PX"):
		return "", false
	}
	ms, err := strconv.ParseInt(options[1], 10, 64)
	if err != nil || ms <= 0 {
		return "", false
	}
	if s == OldPika {
		if ms < 1000 {
			return "none", true
		}
		// The key expires at the end of its second.
		ms = ms/1000*1000 + 1000 - time.Now().UnixMilli()%1000
	}
	return strconv.FormatInt(ms, 10), true
}

// ask is link.do for a store.
func (s Store) ask(l *link, args []string) (resp.Reply, error) {
	instead, refusal := s.translate(args)
	if refusal != "" {
		return resp.AppendError(nil, refusal), nil
	}
	return l.do(instead)
}
