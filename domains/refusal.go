package domains

import "errors"

// Refusal is the error of a change that a rule forbids. Nothing was written, the lock is free again, and a
// retry of the same operation does not help.
//
// The variables Err… of packages chat, session, mcc and desk are Refusals; compare with errors.Is.
type Refusal struct {
	code, text string
}

// NewRefusal returns the refusal of a rule. code is stable and for programs, such as "room_full"; text is for
// people.
func NewRefusal(code, text string) *Refusal { return &Refusal{code: code, text: text} }

// Error returns the text.
func (r *Refusal) Error() string { return r.text }

// Code returns the stable name of the rule.
func (r *Refusal) Code() string { return r.code }

// RefusalOf returns the Refusal in the tree of err. It returns nil if err is about the store or the call.
func RefusalOf(err error) *Refusal {
	r, _ := errors.AsType[*Refusal](err)
	return r
}
