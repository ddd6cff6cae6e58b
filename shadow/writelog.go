package shadow

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/unwatch/unwatch/internal/keyhash"
	"github.com/unwatch/unwatch/rmw"
)

// The write log of a key holds digests of the values that the processes of a fleet mirrored
// to it lately, under a scratch key. Each process adds a digest before it writes the value.
// A value on the hidden path that the log lacks was written by another program: no process
// could know that from its own calls. The log begins with an identifier of the rules that
// the digests depend on. While the rules change, process by process, a log by other rules
// proves nothing and is started anew.

const (
	maxLogged = 64
	logTTL    = time.Hour
)

func logKey(key rmw.Key) rmw.Key {
	return rmw.Key{Name: scratch("trail", key, ""), TTL: logTTL, Label: key.Label}
}

// logEntry differs for each key: the hidden path may keep the logs and the values of two
// keys under one name.
func logEntry(key rmw.Key, d digest) string {
	return hex.EncodeToString(binary.BigEndian.AppendUint64(nil, binary.BigEndian.Uint64(d[:])^keyhash.Of(key.Name)))
}

// logged returns the entries of a log, and whether it is one by these rules.
func logged(rules string, log rmw.Value) (entries []string, ok bool) {
	words := strings.Fields(log.Text())
	if len(words) == 0 || words[0] != rules {
		return nil, false
	}
	return words[1:], true
}

// addToLog returns an update that adds an entry. Without a log, it starts one with first;
// if first is empty, it returns errInput instead.
func addToLog(rules, first, entry string) rmw.UpdateFunc {
	return func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		entries, ok := logged(rules, cur)
		if !ok {
			if first == "" {
				return rmw.Value{}, errInput
			}
			entries = []string{first}
		}
		return rmw.String(rules + " " + strings.Join(moveLast(entries, entry, maxLogged), " ")), nil
	}
}

// logWrite adds the value that is about to be written to the key's log. A sole process
// needs no log.
func (e *engine) logWrite(t *keyState, d digest) error {
	if e.cfg.Sole {
		return nil
	}
	rules, entry := t.op.compare.rules, logEntry(t.key, d)
	_, err := e.hidden.update(logKey(t.key), addToLog(rules, "", entry))
	if !errors.Is(err, errInput) {
		return err
	}
	v, err := e.hidden.read(t.key) // its value may be older than the log that has expired
	if err != nil {
		return err
	}
	_, err = e.hidden.update(logKey(t.key), addToLog(rules, logEntry(t.key, t.op.compare.digest(v)), entry))
	return err
}

// unlogged reports whether no process mirrored a value that the hidden path holds. An
// absent value may have expired.
func (e *engine) unlogged(t *keyState, v rmw.Value) bool {
	if !v.Exists() {
		return false
	}
	log, err := e.hidden.read(logKey(t.key))
	entries, ok := logged(t.op.compare.rules, log)
	return err == nil && ok && !slices.Contains(entries, logEntry(t.key, t.op.compare.digest(v)))
}
