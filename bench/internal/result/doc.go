// Package result defines the JSON file of a bench. It contains all measurements per slot,
// enough to make tables and plots later.
package result
