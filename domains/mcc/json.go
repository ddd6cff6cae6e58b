package mcc

import "github.com/unwatch/unwatch/domains"

// The methods below keep fields that another service stores.

var (
	agentNames = domains.NamesOf[Agent]()
	slotNames  = domains.NamesOf[Slot]()
)

// UnmarshalJSON implements [json.Unmarshaler].
func (a *Agent) UnmarshalJSON(data []byte) error {
	type plain Agent
	return agentNames.Unmarshal(data, (*plain)(a), &a.Unknown)
}

// MarshalJSON implements [json.Marshaler].
func (a Agent) MarshalJSON() ([]byte, error) {
	type plain Agent
	return agentNames.Marshal(plain(a), a.Unknown)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (s *Slot) UnmarshalJSON(data []byte) error {
	type plain Slot
	return slotNames.Unmarshal(data, (*plain)(s), &s.Unknown)
}

// MarshalJSON implements [json.Marshaler].
func (s Slot) MarshalJSON() ([]byte, error) {
	type plain Slot
	return slotNames.Marshal(plain(s), s.Unknown)
}
