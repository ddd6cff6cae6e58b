package lockupdate

import "github.com/unwatch/unwatch/rmw"

// reads is what an fn has read of the hash it was given: some fields, or all there is.
type reads struct {
	partly bool
	fields []string
}

// add takes in what another fn has read.
func (r *reads) add(other reads) {
	if !r.partly || !other.partly {
		*r = reads{}
		return
	}
	r.fields = append(r.fields, other.fields...)
}

// show returns what fn is given: a hash that remembers what is read of it.
func (u *update) show() rmw.Value {
	u.trace = nil
	if u.key.Kind != rmw.KindHash || !u.given.Exists() {
		return u.given
	}
	var traced rmw.Value
	traced, u.trace = u.given.Traced()
	return traced
}

// readsOf is what fn has read when it returned.
func (u *update) readsOf(next rmw.Value, err error) reads {
	if u.trace == nil {
		return reads{}
	}
	var fields []string
	var partly bool
	if err != nil {
		fields, partly = u.trace.ReadsAnyway()
	} else {
		fields, partly = u.trace.Reads(next)
	}
	return reads{partly: partly, fields: fields}
}
