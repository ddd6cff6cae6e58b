package resp

import (
	"slices"
	"strings"
)

// Meaning is what the text of an error reply says about the command, and about the server.
type Meaning uint8

// The meanings. All but Unclear, Declined and Lost prove that the command did not run, or changed nothing.
const (
	Unclear    Meaning = iota // any other text
	Declined                  // the words of a refusal, in a text that is not in the table
	Lost                      // a proxy or a server has lost its peer: the command may have run
	NotRun                    // for another reason
	Passing                   // the server cannot run the command now
	NoReplicas                // the server has too few replicas for a write
	NoSpace                   // the memory or the disk is full
	Loading                   // the server is reading its data
	ReadOnly                  // the server is a replica
	Elsewhere                 // the server is a replica that cannot serve; another connection may lead to one that does
	Full                      // the server accepts no more connections
	Denied                    // the server accepts no connections from this machine
	Moved                     // another server of the cluster has the slot
	Asked                     // another server of the cluster has the key, while its slot moves
	NoScript                  // the server lacks the script of an EVALSHA
	Refused                   // the command is unknown, or not permitted to anyone
	Misused                   // the command is known, and its arguments are not
	Forbidden                 // the user lacks the permission
	Password                  // a password is missing, wrong, or not wanted
	WrongType                 // the key holds a value of another type
)

// NotDone reports whether the text proves that the command did not run, or changed nothing.
func (m Meaning) NotDone() bool { return m > Lost }

// Temporary reports whether the same command may succeed later.
func (m Meaning) Temporary() bool {
	return m == Lost || m >= Passing && m <= Full
}

// LeadsElsewhere reports whether a new connection may lead to a server that serves, as after a failover.
func (m Meaning) LeadsElsewhere() bool { return m >= Loading && m <= Elsewhere }

// Unsupported reports whether the server refuses the command as such, to anyone or to this user.
func (m Meaning) Unsupported() bool {
	return slices.Contains([]Meaning{Denied, Refused, Misused, Forbidden, Password}, m)
}

// row is the beginning of an error reply, without "ERR " and "-", in any case; and the end, if not every reply
// that begins so means this.
type row struct {
	begin, end string
	means      Meaning
}

// rows is the one table of reply texts. The first row that fits decides. Texts of servers are from src/server.c,
// src/scripting.c and src/script.c of Redis 3.2.13, 5.0.14, 6.0.20, 6.2.16, 7.0.15 and 7.2.6, and of Valkey 8.0;
// integration/replies_test.go provokes them on the installed server. codis-server is a Redis 3.2. Texts of Codis
// are those of pkg/proxy/{session,forward,router,backend}.go of release3.2.
var rows = []row{
	// servers
	{"LOADING", "", Loading},
	{"MASTERDOWN", "", Elsewhere},
	{"READONLY", "", ReadOnly},
	{"Can not execute the command on a stale replica", "", Elsewhere}, // in a script, 7.0 and later
	{"max number of clients", "", Full},
	{"DENIED", "", Denied},
	{"BUSY ", "", Passing},
	{"OOM ", "", NoSpace},
	{"MISCONF", "", NoSpace},
	{"NOREPLICAS", "", NoReplicas},
	{"CLUSTERDOWN", "", Passing},
	{"TRYAGAIN", "", Passing},
	{"MOVED ", "", Moved},
	{"ASK ", "", Asked},
	{"NOSCRIPT", "", NoScript},
	{"EXECABORT", "", NotRun},
	{"WRONGTYPE", "", WrongType},
	{"Invalid argument: WRONGTYPE", "", WrongType}, // Kvrocks
	{"NOPERM", "", Forbidden},
	{"ACL failure in script", "", Forbidden},               // 7.2 and later
	{"The user executing the script can't", "", Forbidden}, // 6.0–7.0
	{"The user executing the script is lacking", "", Forbidden},
	{"NOAUTH", "", Password},
	{"WRONGPASS", "", Password},
	{"invalid password", "", Password},                         // before 6.0, Codis, twemproxy, Envoy
	{"operation not permitted", "", Password},                  // Redis before 2.8, old proxies
	{"Client sent AUTH, but no password is set", "", Password}, // before 6.0, Codis, twemproxy, Envoy
	{"AUTH <password> called without any password configured", "", Password},
	{"CROSSSLOT", "", Refused},
	{"DB index is out of range", "", Misused}, // of the SELECT of a handshake
	{"invalid DB index", "", Misused},
	{"SELECT is not allowed in cluster mode", "", Refused},
	{"unknown command", "", Refused},
	{"unknown subcommand", "", Refused},
	{"Unknown Redis command", "", Refused},
	{"This Redis command is not allowed from script", "", Refused},
	{"Script attempted to access", "", Refused},
	{"wrong number of arguments", "", Misused},
	{"syntax error", "", Misused},
	{"no such key", "", NotRun},
	{"value is ", "", NotRun}, // "… not an integer or out of range"
	{"The XGROUP subcommand requires the key to exist", "", NotRun},
	{"IOERR ", "", Lost}, // of MIGRATE
	// Codis. Other texts "handle request, …" stay open: during a semi-async slot migration the wrapped command may
	// have run on the old server already.
	{"handle request, command", "is not allowed", Refused},
	{"handle request, command", "", NotRun},
	{"handle request, slot is not ready", "", Passing},
	{"handle request, bad slotsmgrt resp", "", Passing},
	{"handle request, backend", "", Lost},
	{"handle response", "", Lost},
	{"router is not online", "", Passing},
	// other proxies, and servers with texts of their own
	{"Connection ", "", Lost},                                  // twemproxy
	{"command '", "' not support", Refused},                    // camellia
	{"Err unknown or unsupported command", "", Refused},        // Pika
	{"unsupported command", "", Refused},                       // Envoy 1.14 and 1.16
	{"forbid transaction in current server pool", "", Refused}, // predixy
}

// MeaningOf looks up the text of an error reply.
func MeaningOf(text string) Meaning {
	if cause, ok := strings.CutPrefix(text, "EXECABORT Transaction discarded because of: "); ok {
		return max(MeaningOf(cause), NotRun)
	}
	text = plain(text)
	inner, raised := uncaught(text)
	if !raised {
		return lookUp(text)
	}
	// The script may have written before this command failed, unless the state of the server refuses each write:
	// that does not change while a script runs. A server asks for memory at the first write only.
	switch m := lookUp(inner); m {
	case NoReplicas, NoSpace, Loading, ReadOnly, Elsewhere:
		return m
	default:
		return Unclear
	}
}

// MeaningInScript is MeaningOf, or, if a script called the failed command, the meaning for that command. It
// proves nothing about the script.
func MeaningInScript(text string) Meaning {
	if inner, raised := uncaught(plain(text)); raised {
		return lookUp(inner)
	}
	return MeaningOf(text)
}

func lookUp(text string) Meaning {
	for _, r := range rows {
		if hasFold(text, r.begin) && strings.HasSuffix(text, r.end) {
			return r.means
		}
	}
	return declined(text)
}

// refusals are words with which proxies refuse a command. In a text that is not in the table they prove nothing.
var refusals = []string{
	"unknown command", "unknown subcommand", "invalid command",
	"not allowed", "not support", "unsupported", "not implemented", // Codis, camellia, Envoy, redis-cluster-proxy
	"only support", "invalid request", "cluster subcommand", "client subcommand", "pub/sub is not enabled", // camellia, Envoy
	"forbid transaction", "auth permission deny", // predixy
	acrossSlots[0], acrossSlots[1], acrossSlots[2], "same resources", // clusters, camellia
	"can't be negative or zero", "bad lua script for redis cluster", // Alibaba Cloud
	"disabled command", "command is disabled",
}

// acrossSlots are words with which clusters, and proxies in front of one, refuse keys of several slots.
var acrossSlots = [...]string{"crossslot", "cross-slot", "same slot"}

// AcrossSlots reports whether an error reply, or an error with its text, refuses keys of several slots.
func AcrossSlots(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(acrossSlots[:], func(words string) bool { return strings.Contains(text, words) })
}

func declined(text string) Meaning {
	text = strings.ToLower(text)
	if slices.ContainsFunc(refusals, func(words string) bool { return strings.Contains(text, words) }) {
		return Declined
	}
	return Unclear
}

func hasFold(text, prefix string) bool {
	return len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix)
}

// plain returns an error reply without what servers put before the text: "ERR ", "-", and, before Redis 7, the
// place in the script for an error that the script has caught and returned. Our scripts return the error of a
// read, or of the first write: nothing was written then.
func plain(text string) string {
	text = strings.TrimRight(text, " \r\n")                                         // Redis before 7 leaves the line end
	text = strings.TrimPrefix(text, "EXECABORT Transaction discarded because of: ") // the cause of a failed EXEC
	for {
		was := text
		text = strings.TrimPrefix(strings.TrimPrefix(text, "ERR "), "-")
		if rest, ok := strings.CutPrefix(text, "@user_script:"); ok {
			if number, after, found := strings.Cut(strings.TrimPrefix(rest, " "), ": "); found && isNumber(number) {
				text = after
			}
		}
		if text == was {
			return text
		}
	}
}

func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// uncaught recognizes the error of a command that a script called and did not catch, by the texts of Redis 3.2
// to 8, and returns that error.
func uncaught(text string) (inner string, ok bool) {
	if rest, before7 := strings.CutPrefix(text, "Error running script"); before7 {
		if i := strings.Index(rest, "@user_script:"); i >= 0 {
			return plain(rest[i:]), true
		}
		return rest, true
	}
	if i := strings.LastIndex(text, " script: "); i >= 0 && strings.Contains(text[i:], ", on ") {
		return text[:i], true
	}
	return "", strings.Contains(text, "@user_script")
}
