// Package worker runs the measured work in a child process of the bench, from the same
// executable. So CPU time, allocations and heap are those of one implementation in one slot,
// and "4 processes" are four.
//
// The child reads a [Job] from stdin, prepares, prints a [Ready], waits for the line "go"
// and prints an [Answer]. It ends with its stdin, so it does not outlive the bench.
package worker
