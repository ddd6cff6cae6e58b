// Package symbolic evaluates texts in the code symbolically, and decides whether two such texts are keys of one slot.
//
// A [Value] is a sequence of constants and symbols. The evaluator follows literals, constants,
// concatenation, fmt.Sprintf with a constant format, strings.Join with a constant separator,
// the digits of numbers, variables that are assigned once, and functions that only concatenate a key. A function of
// another package has a fact for that. A field of a struct is a symbol as long as the function does not assign to it.
// Any other expression is a symbol that equals no other.
//
// Two keys are in one slot if they are equal, or have the same hash tag, by the rule of the
// proxy: for Codis the first pair of braces counts even if it is empty. Two keys may be
// proven to have different slots if their hashed parts are known.
//
// # Analyzer symbolic
//
// symbolic: evaluate the keys in the code
//
// It reports nothing; other analyzers build on it.
package symbolic
