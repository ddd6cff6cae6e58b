// Package symbolic tells what a text in the code is made of, as far as that can be told
// before it runs, and whether two such texts are keys of one slot.
//
// A [Value] is a sequence of constants and symbols. Followed are literals, constants,
// concatenation, fmt.Sprintf with a constant format, strings.Join with a constant separator,
// the digits of numbers, variables that are assigned once, and functions that only put a key
// together, also those of other packages: what they make of their parameters is a fact. A
// field of a struct is a symbol as long as the function does not assign to it. What cannot be
// followed is a symbol that equals no other.
//
// Two keys are in one slot if they are the same, or have the same hash tag, by the rule of the
// proxy: for Codis the first pair of braces counts even if there is nothing in it. If all that
// the rule looks at is known, they may be proven to be in two.
//
// # Analyzer symbolic
//
// symbolic: tell what the keys in the code are made of
//
// It finds nothing by itself; other analyzers build on it.
package symbolic
