package scriptcheck

import (
	"strconv"
	"strings"

	"github.com/unwatch/unwatch/proxycompat"
)

// newer finds what the server behind is known to be too old for.
func (w *walker) newer(line int, command, what string, since proxycompat.Version) {
	if w.lacks(since) {
		w.add(line, TooNew, command, "", "%s is known from Redis %v on, and the server behind is %v", what, since, w.backend)
	}
}

// scriptFunctions are the functions that scripts have of Redis, and since when: Redis Lua API
// reference (redis.io, lua-api). What is not here was there in 2.6.
func scriptFunctions() map[string]proxycompat.Version {
	return map[string]proxycompat.Version{
		"redis.replicate_commands": {Major: 3, Minor: 2},
		"redis.set_repl":           {Major: 3, Minor: 2},
		"redis.breakpoint":         {Major: 3, Minor: 2},
		"redis.debug":              {Major: 3, Minor: 2},
		"redis.setresp":            {Major: 6, Minor: 0},
		"redis.acl_check_cmd":      {Major: 7, Minor: 0},
	}
}

// age: the command, and how it is used here.
func (w *walker) age(c *redisCall) {
	known, found := proxycompat.CommandOf(c.words...)
	if !found {
		return
	}
	if w.lacks(known.Since) {
		w.newer(c.line, known.Name, "the command", known.Since)
		return
	}
	for _, f := range forms() {
		if w.lacks(f.since) && f.of(c) {
			w.newer(c.line, known.Name, f.what(), f.since)
		}
	}
}

// form is a way to use a command that came later than the command.
type form struct {
	commands string // separated by spaces
	option   string // one of these words, separated by spaces; empty: any
	first    int    // index of the word where it may stand
	last     int    // 0: it may stand there or later; -1: among the options that start there
	since    proxycompat.Version
}

// forms are from the "History" of each command's page on redis.io, as of Redis 8.4.
func forms() []form {
	return []form{
		{"SET", "KEEPTTL", 3, 0, proxycompat.Version{Major: 6, Minor: 0}},
		{"SET", "GET EXAT PXAT", 3, 0, proxycompat.Version{Major: 6, Minor: 2}},
		{"SET", "IFEQ IFNE IFDEQ IFDNE", 3, 0, proxycompat.Version{Major: 8, Minor: 4}},
		{"HSET", "", 4, 0, proxycompat.Version{Major: 4, Minor: 0}},
		{"ZADD", "GT LT", 2, -1, proxycompat.Version{Major: 6, Minor: 2}},
		{"ZADD", "NX XX CH INCR", 2, -1, proxycompat.Version{Major: 3, Minor: 0}},
		{"GEOADD", "NX XX CH", 2, -1, proxycompat.Version{Major: 6, Minor: 2}},
		{"EXPIRE PEXPIRE EXPIREAT PEXPIREAT", "NX XX GT LT", 3, 3, proxycompat.Version{Major: 7, Minor: 0}},
		{"LPOP RPOP", "", 2, 0, proxycompat.Version{Major: 6, Minor: 2}},
		{"SPOP", "", 2, 0, proxycompat.Version{Major: 3, Minor: 2}},
		{"SRANDMEMBER", "", 2, 0, proxycompat.Version{Major: 2, Minor: 6}},
		{"ZRANGE", "BYSCORE BYLEX REV LIMIT", 4, 0, proxycompat.Version{Major: 6, Minor: 2}},
		{"ZRANK ZREVRANK", "WITHSCORE", 3, 3, proxycompat.Version{Major: 7, Minor: 2}},
		{"BITCOUNT", "BYTE BIT", 4, 4, proxycompat.Version{Major: 7, Minor: 0}},
		{"BITPOS", "BYTE BIT", 5, 5, proxycompat.Version{Major: 7, Minor: 0}},
		{"XADD", "NOMKSTREAM MINID", 2, 2, proxycompat.Version{Major: 6, Minor: 2}},
		{"XTRIM", "MINID", 2, 2, proxycompat.Version{Major: 6, Minor: 2}},
		{"SCAN", "TYPE", 2, 0, proxycompat.Version{Major: 6, Minor: 0}},
		{"HSCAN", "NOVALUES", 3, 0, proxycompat.Version{Major: 7, Minor: 4}},
		{"FLUSHALL FLUSHDB", "ASYNC", 1, 1, proxycompat.Version{Major: 4, Minor: 0}},
		{"FLUSHALL FLUSHDB", "SYNC", 1, 1, proxycompat.Version{Major: 6, Minor: 2}},
		{"RESTORE", "ABSTTL IDLETIME FREQ", 4, 0, proxycompat.Version{Major: 5, Minor: 0}},
		{"BITOP", "DIFF DIFF1 ANDOR ONE", 1, 1, proxycompat.Version{Major: 8, Minor: 2}},
	}
}

// of reports whether the call is sure to be of this form.
func (f form) of(c *redisCall) bool {
	if !contains(f.commands, c.name()) {
		return false
	}
	if f.option == "" {
		return c.fixed() > f.first
	}
	for i := f.first; i < c.fixed() && (f.last <= 0 || i <= f.last); i++ {
		word, known := c.known(i)
		if known && contains(f.option, strings.ToUpper(word)) {
			return true
		}
		if _, err := strconv.ParseFloat(word, 64); f.last < 0 && (!known || err == nil) {
			return false
		}
	}
	return false
}

func (f form) what() string {
	if f.option == "" {
		return "the form with more arguments"
	}
	return "the option " + strings.Join(strings.Fields(f.option), " or ")
}

func contains(words, word string) bool {
	for w := range strings.FieldsSeq(words) {
		if w == word {
			return true
		}
	}
	return false
}
