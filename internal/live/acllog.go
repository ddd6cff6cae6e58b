package live

import (
	"bufio"
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/internal/wrap"
)

// Denied is an entry of ACL LOG: what a user was refused.
type Denied struct {
	ID       int64   `json:"id,omitempty"` // since Redis 7.2
	Count    int64   `json:"count"`
	Reason   string  `json:"reason"`  // "command", "key", "channel", "auth"
	Context  string  `json:"context"` // "toplevel", "multi", "lua", "module"
	Object   string  `json:"object"`  // the command, or the key's pattern if the reason is another
	Username string  `json:"username"`
	Age      float64 `json:"age_seconds"`
	Client   Client  `json:"-"`
	Who      Who     `json:"client"`
	Server   string  `json:"server,omitempty"`
}

// command is the command that was denied, if it was a command.
func (d Denied) command() string {
	if d.Reason != "command" {
		return ""
	}
	return commandName(d.Object)
}

// same reports whether two entries are of the same thing, which a server adds up for a
// minute.
func (d Denied) same(o Denied) bool {
	return d.Reason == o.Reason && d.Context == o.Context && d.Object == o.Object && d.Username == o.Username
}

// elements are those of an array; nil if it is none.
func elements(r resp.Reply) []resp.Reply {
	n, raw, ok := r.Elements()
	if !ok {
		return nil
	}
	br := bufio.NewReader(bytes.NewReader(raw))
	var all []resp.Reply
	for range n {
		one, err := resp.ReadReply(nil, br, resp.Limits{})
		if err != nil {
			return all
		}
		all = append(all, one)
	}
	return all
}

// parseDenied reads an answer to ACL LOG. A name that is no command's is not kept: it is
// that of a key, or of a channel.
func parseDenied(r resp.Reply) []Denied {
	var all []Denied
	for _, entry := range elements(r) {
		fields := elements(entry)
		var d Denied
		for i := 0; i+1 < len(fields); i += 2 {
			d.field(textOf(fields[i]), textOf(fields[i+1]))
		}
		if d.Reason == "" {
			continue
		}
		if d.Reason != "command" {
			d.Object = ""
		}
		d.Who = whoOf(d.Client)
		all = append(all, d)
	}
	return all
}

func (d *Denied) field(key, value string) {
	value = wrap.Printable(value)
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		n = 0
	}
	switch key {
	case "entry-id":
		d.ID = n + 1 // they begin with 0, which is ours for none
	case "count":
		d.Count = n
	case "reason":
		d.Reason = value
	case "context":
		d.Context = value
	case "object":
		d.Object = value
	case "username":
		d.Username = value
	case "age-seconds":
		if f, err := strconv.ParseFloat(value, 64); err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
			d.Age = f
		}
	case "client-info":
		d.Client = parseClient(value)
	}
}

func textOf(r resp.Reply) string {
	if text, ok := r.Text(); ok {
		return text
	}
	if n, ok := r.Int(); ok {
		return strconv.FormatInt(n, 10)
	}
	if strings.HasPrefix(string(r), ",") { // a number of RESP3
		return strings.TrimSpace(string(r[1:]))
	}
	return ""
}

// newDenied are the entries of a later look that are new since an earlier one, or have
// grown, with how much. Both have the newest first.
func newDenied(before, after []Denied) []Denied {
	var grown []Denied
	used := make([]bool, len(before))
	for i := len(after) - 1; i >= 0; i-- { // the oldest pair up first
		d := after[i]
		for j := len(before) - 1; j >= 0; j-- {
			b := before[j]
			if used[j] || b.ID != d.ID || !b.same(d) || b.Count > d.Count {
				continue
			}
			if b.Count == d.Count && d.Age < b.Age { // what did not grow only gets older: this is another
				continue
			}
			used[j] = true
			d.Count -= b.Count
			break
		}
		if d.Count > 0 {
			grown = append(grown, d)
		}
	}
	return grown
}
