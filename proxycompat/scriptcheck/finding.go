package scriptcheck

import (
	"cmp"
	"fmt"
	"slices"
)

// The rules, most serious first.
const (
	// UndeclaredKey: a key is not one of KEYS, but a literal, from ARGV, computed, or read from Redis. The
	// proxy does not know the key, so it may belong to another server. Not reported for a single server.
	UndeclaredKey = "undeclared-key"
	// SeveralKeys: the script uses more than the first of KEYS, and the proxy routes by the first alone.
	SeveralKeys = "several-keys"
	// LiteralKeys: a key comes from KEYS but is not spelt KEYS[1] in the call, and the proxy refuses such
	// scripts.
	LiteralKeys = "literal-keys"
	// NotInScripts: the server rejects the command inside a script.
	NotInScripts = "not-in-scripts"
	// Unheard: the script publishes a message, and no client behind the proxy can subscribe to it.
	Unheard = "unheard"
	// OneServer: the command covers all data of one server, and there are several servers.
	OneServer = "one-server"
	// TooNew: the server behind the proxy lacks a command, an option or a function.
	TooNew = "too-new"
	// RandomThenWrite: before Redis 5 a script must not write after a command with a nondeterministic
	// reply, such as TIME.
	RandomThenWrite = "random-then-write"
	// GlobalVariable: the script assigns a global variable, or reads one that Redis does not define. Redis
	// answers with an error: Script attempted to create global variable, or to access nonexistent global
	// variable; since Redis 7, Attempt to modify a readonly table.
	GlobalVariable = "global-variable"
	// ErrorText: an error raised by the script arrives garbled, or without a code.
	ErrorText = "error-text"
	// CannotTell: the analysis cannot follow the script here.
	CannotTell = "cannot-tell"
)

// Finding describes one line of a script that will fail.
type Finding struct {
	Line    int    // of the script, from 1
	Rule    string // a constant such as UndeclaredKey
	Command string // a command of Redis in upper case, or another subject, such as "KEYS[2]"
	Why     string // the consequence, in one sentence
	Instead string // the alternative; may be empty
}

// String returns the finding in one line.
func (f Finding) String() string {
	s := fmt.Sprintf("line %d: %s: %s: %s", f.Line, f.Rule, f.Command, f.Why)
	if f.Instead != "" {
		s += "; instead: " + f.Instead
	}
	return s
}

// findings collects findings in any order and drops duplicates: the walker may visit a line more than once.
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
	f.seen[at] = true
	f.list = append(f.list, Finding{line, rule, command, fmt.Sprintf(why, args...), instead})
}

// sorted returns the findings by line.
func (f *findings) sorted() []Finding {
	slices.SortStableFunc(f.list, func(a, b Finding) int { return cmp.Compare(a.Line, b.Line) })
	return f.list
}
