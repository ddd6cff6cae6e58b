// Package worker does the measured work in a process of its own: the child of a
// bench, which starts it from its own executable. So CPU time, allocations and heap
// are those of one implementation in one slot, and "4 processes" are four.
//
// The child reads a [Job] from stdin, prepares itself, prints a [Ready], waits for
// the line "go" and prints an [Answer]. It ends when its stdin does, not before, and
// so does not outlive the bench.
package worker
