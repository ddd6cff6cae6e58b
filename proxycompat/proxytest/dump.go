package proxytest

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"

	"github.com/unwatch/unwatch/internal/resp"
)

// dump is what a backend holds under a key: commands that make the same elsewhere.
type dump [][]string

// dumpOf reads a key over l. A key that is not there is a dump that deletes it.
func dumpOf(l *link, key string) (dump, error) {
	d := dump{{"DEL", key}}
	kind, err := l.text("TYPE", key)
	if err != nil {
		return nil, err
	}
	var set []string
	switch kind {
	case "none":
		return d, nil
	case "string":
		var text string
		text, err = l.text("GET", key)
		set = []string{"SET", key, text}
	case "hash":
		set, err = l.list([]string{"HSET", key}, "HGETALL", key)
	case "list":
		set, err = l.list([]string{"RPUSH", key}, "LRANGE", key, "0", "-1")
	case "set":
		set, err = l.list([]string{"SADD", key}, "SMEMBERS", key)
	case "zset":
		set, err = l.list([]string{"ZADD", key}, "ZRANGE", key, "0", "-1", "WITHSCORES")
		for i := 2; i+1 < len(set); i += 2 { // ZADD wants the score first
			set[i], set[i+1] = set[i+1], set[i]
		}
	default:
		err = fmt.Errorf("proxytest: cannot copy a %s", kind)
	}
	if err != nil {
		return nil, err
	}
	d = append(d, set)
	left, err := l.text("PTTL", key)
	if err != nil {
		return nil, err
	}
	if ms, _ := strconv.Atoi(left); ms >= 0 {
		d = append(d, []string{"PEXPIRE", key, strconv.Itoa(max(ms, 1))})
	}
	return d, nil
}

// restore makes it over l, whatever is there.
func (d dump) restore(l *link) error {
	for _, args := range d {
		reply, err := l.do(args)
		if err != nil {
			return err
		}
		if text, bad := reply.ErrorText(); bad {
			return fmt.Errorf("proxytest: copying a key: %s", text)
		}
	}
	return nil
}

// text asks for one string, or a number.
func (l *link) text(args ...string) (string, error) {
	reply, err := l.do(args)
	if err != nil {
		return "", err
	}
	if n, ok := reply.Int(); ok {
		return strconv.FormatInt(n, 10), nil
	}
	text, _ := reply.Text()
	return text, nil
}

// list asks for an array of strings, and adds it to words.
func (l *link) list(words []string, args ...string) ([]string, error) {
	reply, err := l.do(args)
	if err != nil {
		return nil, err
	}
	n, raw, _ := reply.Elements()
	br := bufio.NewReader(bytes.NewReader(raw))
	for range n {
		element, err := resp.ReadReply(nil, br, resp.Limits{})
		if err != nil {
			return nil, err
		}
		text, _ := element.Text()
		words = append(words, text)
	}
	return words, nil
}
