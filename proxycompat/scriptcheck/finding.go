package scriptcheck

import (
	"cmp"
	"fmt"
	"slices"
)

// The rules, in the order in which a reader will care.
const (
	// UndeclaredKey: a key is not one of KEYS, but a literal, of ARGV, put together, or read
	// from Redis. The proxy does not know of it, so it may belong to another server. Not
	// found over a single server.
	UndeclaredKey = "undeclared-key"
	// SeveralKeys: the script uses more than the first of KEYS, and the proxy goes by the
	// first alone.
	SeveralKeys = "several-keys"
	// LiteralKeys: a key does come from KEYS, but is not spelt KEYS[1] in the call, and the
	// proxy refuses a script for that.
	LiteralKeys = "literal-keys"
	// NotInScripts: the server takes a command from clients only, and answers a script that
	// calls it with an error.
	NotInScripts = "not-in-scripts"
	// Unheard: a message is published that nobody behind the proxy can subscribe to.
	Unheard = "unheard"
	// OneServer: a command is about all there is on a server, of which there are several.
	OneServer = "one-server"
	// TooNew: the server behind the proxy does not know a command, an option or a function.
	TooNew = "too-new"
	// RandomThenWrite: before Redis 5 a script must not write once it has asked for something
	// that a replica would answer otherwise, such as TIME.
	RandomThenWrite = "random-then-write"
	// GlobalVariable: the script assigns to a global variable, or reads one that Redis does not
	// give it, and Redis answers with an error: Script attempted to create global variable, or
	// to access nonexistent global variable; since Redis 7, Attempt to modify a readonly table.
	GlobalVariable = "global-variable"
	// ErrorText: an error that the script makes arrives garbled, or without a code.
	ErrorText = "error-text"
	// CannotTell: here the script does something that cannot be followed.
	CannotTell = "cannot-tell"
)

// Finding is one thing in a script that will go wrong.
type Finding struct {
	Line    int    // of the script, from 1
	Rule    string // one of the constants, such as UndeclaredKey
	Command string // of Redis, in upper case, or what else it is about, such as "KEYS[2]"
	Why     string // what happens, one sentence
	Instead string // what to write instead; may be empty
}

// String is the finding in one line.
func (f Finding) String() string {
	s := fmt.Sprintf("line %d: %s: %s: %s", f.Line, f.Rule, f.Command, f.Why)
	if f.Instead != "" {
		s += "; instead: " + f.Instead
	}
	return s
}

// findings are collected in any order, and one place may be come by more than once.
type findings struct {
	list []Finding
	seen map[seen]bool
}

type seen struct {
	line          int
	rule, command string
}

func (f *findings) add(line int, rule, command, instead, why string, args ...any) {
	at := seen{line, rule, command}
	if f.seen[at] {
		return
	}
	if f.seen == nil {
		f.seen = map[seen]bool{}
	}
	f.seen[at] = true
	f.list = append(f.list, Finding{line, rule, command, fmt.Sprintf(why, args...), instead})
}

// sorted are the findings by line.
func (f *findings) sorted() []Finding {
	slices.SortStableFunc(f.list, func(a, b Finding) int { return cmp.Compare(a.Line, b.Line) })
	return f.list
}
