package live

import (
	"math"
	"strconv"

	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/internal/wrap"
)

// Denied is an entry of ACL LOG.
type Denied struct {
	ID       int64   `json:"id,omitempty"` // since Redis 7.2, plus 1
	Count    int64   `json:"count"`
	Reason   string  `json:"reason"`  // "command", "key", "channel", "auth"
	Context  string  `json:"context"` // "toplevel", "multi", "lua", "module"
	Object   string  `json:"object"`  // the command; empty for any other reason
	Username string  `json:"username"`
	Age      float64 `json:"age_seconds"`
	Client   Client  `json:"-"`
	Who      Who     `json:"client"`
	Server   string  `json:"server,omitempty"`
}

// command returns the denied command, or "" for any other reason.
func (d Denied) command() string {
	if d.Reason != "command" {
		return ""
	}
	return commandName(d.Object)
}

// same reports whether a server adds up both entries, which it does for a minute.
func (d Denied) same(o Denied) bool {
	return d.Reason == o.Reason && d.Context == o.Context && d.Object == o.Object && d.Username == o.Username
}

// parseDenied parses a reply to ACL LOG. It drops names of keys and channels.
func parseDenied(r resp.Reply) (all []Denied) {
	entries, _ := r.List()
	for _, entry := range entries {
		var d Denied
		values := entry.Fields()
		for name, value := range values {
			values[name] = wrap.Printable(value)
		}
		if d.Reason = values["reason"]; d.Reason == "" {
			continue
		}
		if d.Reason == "command" {
			d.Object = values["object"]
		}
		if id, known := values["entry-id"]; known {
			d.ID = number(id) + 1 // the first is 0
		}
		if age, err := strconv.ParseFloat(values["age-seconds"], 64); err == nil && !math.IsNaN(age) && !math.IsInf(age, 0) {
			d.Age = age
		}
		d.Count, d.Context, d.Username = number(values["count"]), values["context"], values["username"]
		if info, known := values["client-info"]; known {
			d.Client = parseClient(info)
		}
		d.Who = whoOf(d.Client)
		all = append(all, d)
	}
	return all
}

// newDenied returns the entries of after that are new, or have grown, with the difference of
// their counts. Both lists have the newest entry first.
func newDenied(before, after []Denied) []Denied {
	var grown []Denied
	used := make([]bool, len(before))
	for i := len(after) - 1; i >= 0; i-- { // pairs the oldest first
		d := after[i]
		for j := len(before) - 1; j >= 0; j-- {
			b := before[j]
			// An entry with the same count and a smaller age is another one.
			if used[j] || b.ID != d.ID || !b.same(d) || b.Count > d.Count || b.Count == d.Count && d.Age < b.Age {
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
