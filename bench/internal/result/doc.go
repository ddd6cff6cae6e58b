// Package result has the measurements of a bench, per slot.
package result
