package chat

import "github.com/unwatch/unwatch/domains"

// The methods below keep fields that another service stores.

var (
	roomNames   = domains.NamesOf[Room]()
	memberNames = domains.NamesOf[Member]()
)

// UnmarshalJSON implements [json.Unmarshaler].
func (r *Room) UnmarshalJSON(data []byte) error {
	type plain Room
	return roomNames.Unmarshal(data, (*plain)(r), &r.Unknown)
}

// MarshalJSON implements [json.Marshaler].
func (r Room) MarshalJSON() ([]byte, error) {
	type plain Room
	return roomNames.Marshal(plain(r), r.Unknown)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (m *Member) UnmarshalJSON(data []byte) error {
	type plain Member
	return memberNames.Unmarshal(data, (*plain)(m), &m.Unknown)
}

// MarshalJSON implements [json.Marshaler].
func (m Member) MarshalJSON() ([]byte, error) {
	type plain Member
	return memberNames.Marshal(plain(m), m.Unknown)
}
