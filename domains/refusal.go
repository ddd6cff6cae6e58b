package domains

import "errors"

// Refusal is a rule that says no. Nothing was written, the lock is free again, and
// sending the same operation once more does not help.
//
// The variables named Err… of packages chat, session, mcc and desk are Refusals;
// compare with errors.Is.
type Refusal struct {
	code, text string
}

// NewRefusal returns a rule's refusal. code is stable, short and fit for a program
// ("room_full"); text is for people.
func NewRefusal(code, text string) *Refusal { return &Refusal{code: code, text: text} }

// Error returns the text.
func (r *Refusal) Error() string { return r.text }

// Code returns the stable name.
func (r *Refusal) Code() string { return r.code }

// RefusalOf returns the Refusal within err, or nil: then err is about the store, or
// about the call, and not about a rule.
func RefusalOf(err error) *Refusal {
	r, _ := errors.AsType[*Refusal](err)
	return r
}
