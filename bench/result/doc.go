// Package result has what a bench writes to its JSON file: everything that was
// measured, slot by slot, so that tables and plots can be made again later.
package result
