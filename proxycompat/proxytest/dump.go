package proxytest

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/unwatch/unwatch/internal/resp"
)

// dump is the content of a key as a command that recreates it.
type dump struct {
	key   string
	set   []string  // nil: the key is absent
	until time.Time // the expiry; zero: none
}

// lookups returns commands that read a key of any type. Only one of those in the middle matches the type.
func lookups(key string) [][]string {
	return [][]string{
		{"TYPE", key},
		{"GET", key},
		{"HGETALL", key},
		{"LRANGE", key, "0", "-1"},
		{"SMEMBERS", key},
		{"ZRANGE", key, "0", "-1", "WITHSCORES"},
		{"PTTL", key},
	}
}

// dumpOf reads keys over l in one transaction.
func dumpOf(l *link, keys ...string) ([]dump, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	commands := [][]string{{"MULTI"}}
	for _, key := range keys {
		commands = append(commands, lookups(key)...)
	}
	if err := l.queue(commands...); err != nil {
		return nil, err
	}
	now := time.Now()
	replies, err := l.commit()
	if err != nil {
		return nil, err
	}
	each := len(lookups(""))
	if len(replies) != each*len(keys) {
		return nil, errors.New("proxytest: a copied key has no answers")
	}
	var out []dump
	for i, key := range keys {
		d, err := dumpFrom(key, now, replies[i*each:(i+1)*each])
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

// dumpFrom makes a dump from the replies to lookups, read at now.
func dumpFrom(key string, now time.Time, replies []resp.Reply) (d dump, err error) {
	d.key = key
	kind, _ := replies[0].Text()
	left, ok := replies[len(replies)-1].Int()
	if kind == "none" || left == -2 { // or it expired meanwhile: PTTL is the last that was asked
		return d, nil
	}
	if !ok {
		return d, fmt.Errorf("proxytest: copying a %s: it has no PTTL", kind)
	}
	switch kind {
	case "string":
		text, _ := replies[1].Text()
		d.set = []string{"SET", key, text}
	case "hash":
		d.set, err = texts([]string{"HSET", key}, replies[2])
	case "list":
		d.set, err = texts([]string{"RPUSH", key}, replies[3])
	case "set":
		d.set, err = texts([]string{"SADD", key}, replies[4])
	case "zset":
		d.set, err = texts([]string{"ZADD", key}, replies[5])
		for i := 2; i+1 < len(d.set); i += 2 { // ZADD takes the score first
			d.set[i], d.set[i+1] = d.set[i+1], d.set[i]
		}
	default:
		err = fmt.Errorf("proxytest: cannot copy a %s", kind)
	}
	if left >= 0 {
		d.until = now.Add(time.Duration(left) * time.Millisecond)
	}
	return d, err
}

// commands recreate the key, replacing any value, with the remaining expiry.
func (d dump) commands() [][]string {
	out := [][]string{{"DEL", d.key}}
	left := time.Until(d.until).Milliseconds()
	switch {
	case d.set == nil:
		return out
	case d.until.IsZero():
		return append(out, d.set)
	case left <= 0:
		return out
	}
	return append(out, d.set, []string{"PEXPIRE", d.key, strconv.FormatInt(left, 10)})
}

// restore executes dumps over l in one transaction; flush deletes everything else first.
func restore(l *link, flush bool, dumps ...dump) error {
	commands := [][]string{{"MULTI"}}
	if flush {
		commands = append(commands, []string{"FLUSHDB"})
	}
	for _, d := range dumps {
		commands = append(commands, d.commands()...)
	}
	if err := l.queue(commands...); err != nil {
		return err
	}
	replies, err := l.commit()
	for _, reply := range replies {
		if text, bad := reply.ErrorText(); bad {
			return fmt.Errorf("proxytest: copying a key: %s", text)
		}
	}
	return err
}

// queue sends commands, the first of which is MULTI or follows it.
func (l *link) queue(commands ...[]string) error {
	replies, err := l.pipeline(commands)
	if err != nil {
		return err
	}
	for _, reply := range replies {
		if text, bad := reply.ErrorText(); bad {
			return fmt.Errorf("proxytest: copying a key: %s", text)
		}
	}
	return nil
}

// commit sends EXEC, and returns the replies of the queued commands.
func (l *link) commit() ([]resp.Reply, error) {
	reply, err := l.do([]string{"EXEC"})
	if err != nil {
		return nil, err
	}
	return elementsOf(reply)
}

// elementsOf returns the elements of an array.
func elementsOf(reply resp.Reply) ([]resp.Reply, error) {
	elements, ok := reply.List()
	if !ok {
		return nil, fmt.Errorf("proxytest: %s is no array", replyKind(reply))
	}
	return elements, nil
}

// texts adds the strings of an array to words.
func texts(words []string, reply resp.Reply) ([]string, error) {
	elements, err := elementsOf(reply)
	for _, element := range elements {
		text, _ := element.Text()
		words = append(words, text)
	}
	return words, err
}
