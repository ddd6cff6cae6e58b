// Package scriptcheck reads a Lua script, as it is sent with EVAL, before it is ever sent,
// and says what will go wrong with it behind a proxy.
//
// A proxy looks at the keys that are declared with EVAL and never into the script. So what a
// script does to other keys happens on whatever server it was sent to: it answers with
// nothing, or writes where nobody will look, and no error says so. [CheckScript] finds that,
// and what a server of the version behind the proxy does not know or forbids:
//
//	findings, err := scriptcheck.CheckScript(profile, script)
//
// Every kind of finding has a constant below, such as [UndeclaredKey].
//
// # How it looks
//
// The script is parsed, never executed. Values are followed through local variables, tables,
// branches, loops and the script's own functions, as far as where they come from: KEYS, ARGV,
// an answer of Redis, a literal. Both branches of an if are taken to be possible, and a loop
// is followed twice. What cannot be followed and matters is a finding of its own,
// [CannotTell]; a value that comes out of a table into which keys and other things were put is
// one of these.
//
// What is sent with a script is not seen: whether KEYS has one element is a question for
// [proxycompat.Profile.Check], and so is whether the proxy takes EVAL at all.
package scriptcheck
