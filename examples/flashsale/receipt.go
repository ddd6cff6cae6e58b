package main

import (
	"errors"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// fate is what a buyer was told.
type fate string

const (
	untold       fate = "" // the process ended before
	sold         fate = "sold"
	soldOut      fate = "sold out"
	boughtBefore fate = "bought before"
	failed       fate = "failed"  // an error that says that nothing was written
	stopped      fate = "stopped" // the same, because the round was given up
	unclear      fate = "unclear" // an error that does not say
)

// fateOf tells what an error means for the buyer.
func fateOf(err error) fate {
	switch {
	case err == nil:
		return sold
	case errors.Is(err, errSoldOut):
		return soldOut
	case errors.Is(err, errBoughtBefore):
		return boughtBefore
	case errors.Is(err, rmw.ErrOutcomeUnknown):
		return unclear
	}
	return failed
}

// receipt is what one order came to.
type receipt struct {
	No       int           `json:"no"`
	Fate     fate          `json:"fate"`
	Left     int           `json:"left,omitempty"` // if sold: how many were left after it
	Computed int           `json:"computed"`       // how often
	Took     time.Duration `json:"took_ns"`        // from the click to the answer
	Thought  time.Duration `json:"thought_ns"`     // of that, between reading and writing
	Err      string        `json:"err,omitempty"`
}

// report is one line that a child writes.
type report struct {
	Ready   bool     `json:"ready,omitempty"`
	Receipt *receipt `json:"receipt,omitempty"`
	Done    bool     `json:"done,omitempty"` // all orders served and all locks given back
	Err     string   `json:"err,omitempty"`  // it cannot go on
}
