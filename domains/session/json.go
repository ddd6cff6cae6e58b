package session

import "github.com/unwatch/unwatch/domains"

// The methods below keep fields that another service stores.

var (
	sessionNames  = domains.NamesOf[Session]()
	ratingNames   = domains.NamesOf[Rating]()
	transferNames = domains.NamesOf[Transfer]()
	visitorNames  = domains.NamesOf[Visitor]()
)

// UnmarshalJSON implements [json.Unmarshaler].
func (s *Session) UnmarshalJSON(data []byte) error {
	type plain Session
	return sessionNames.Unmarshal(data, (*plain)(s), &s.Unknown)
}

// MarshalJSON implements [json.Marshaler].
func (s Session) MarshalJSON() ([]byte, error) {
	type plain Session
	return sessionNames.Marshal(plain(s), s.Unknown)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (r *Rating) UnmarshalJSON(data []byte) error {
	type plain Rating
	return ratingNames.Unmarshal(data, (*plain)(r), &r.Unknown)
}

// MarshalJSON implements [json.Marshaler].
func (r Rating) MarshalJSON() ([]byte, error) {
	type plain Rating
	return ratingNames.Marshal(plain(r), r.Unknown)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (t *Transfer) UnmarshalJSON(data []byte) error {
	type plain Transfer
	return transferNames.Unmarshal(data, (*plain)(t), &t.Unknown)
}

// MarshalJSON implements [json.Marshaler].
func (t Transfer) MarshalJSON() ([]byte, error) {
	type plain Transfer
	return transferNames.Marshal(plain(t), t.Unknown)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (v *Visitor) UnmarshalJSON(data []byte) error {
	type plain Visitor
	return visitorNames.Unmarshal(data, (*plain)(v), &v.Unknown)
}

// MarshalJSON implements [json.Marshaler].
func (v Visitor) MarshalJSON() ([]byte, error) {
	type plain Visitor
	return visitorNames.Marshal(plain(v), v.Unknown)
}
