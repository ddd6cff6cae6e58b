package chat

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/unwatch/unwatch/domains"
)

// Room is one chat room. The methods that change it are the operations; the methods of [Rooms] with the same
// names store the result.
type Room struct {
	domains.Header
	ID       string `json:"id"`
	TenantID string `json:"tenant_id,omitempty"`
	// Name and Topic are for people, at most 256 and 4096 bytes.
	Name   string `json:"name,omitempty"`
	Topic  string `json:"topic,omitempty"`
	Status Status `json:"status"`
	// Cap is the limit of members; 0 is no limit.
	Cap int `json:"cap,omitempty"`
	// StayOpen keeps the room open when the last member leaves.
	StayOpen bool `json:"stay_open,omitempty"`
	// OwnerID is the member with the right to remove others; empty if the room has no members.
	OwnerID string `json:"owner_id,omitempty"`
	// Members are the members by id.
	Members map[string]Member `json:"members,omitempty" hash:"member:"`
	// Seq is the number of the latest message.
	Seq       uint64       `json:"seq,omitempty"`
	CreatedAt domains.Time `json:"created_at,omitempty"`
	// ActiveAt is the time of the last change.
	ActiveAt domains.Time `json:"active_at,omitempty"`
	ClosedAt domains.Time `json:"closed_at,omitempty"`

	Unknown domains.Unknown `json:"-"`
}

// Status is the state of a room.
type Status string

// The states of a room.
const (
	Open   Status = "open"
	Closed Status = "closed"
)

// Member is one member of a room.
type Member struct {
	Role     Role         `json:"role,omitempty"`
	JoinedAt domains.Time `json:"joined_at,omitempty"`
	// ReadSeq is the number of the last message that the member has read.
	ReadSeq uint64 `json:"read_seq,omitempty"`
	Muted   bool   `json:"muted,omitempty"`

	Unknown domains.Unknown `json:"-"`
}

// Role is the role of a member, at most 64 bytes. Ownership is no role: any member can own the room.
type Role string

// The roles with a meaning here. A service may use others.
const (
	Visitor  Role = "visitor"
	Agent    Role = "agent"
	Observer Role = "observer" // cannot post
)

// Check returns an error for the first rule that the room breaks. It implements [domains.Entity].
func (r *Room) Check() error {
	err := cmp.Or(domains.CheckID("room", r.ID), domains.CheckIDs(map[string]string{"tenant": r.TenantID}), checkTexts(r.Name, r.Topic))
	if err != nil {
		return err
	}
	_, owned := r.Members[r.OwnerID]
	switch {
	case r.Status != Open && r.Status != Closed:
		return fmt.Errorf("the status of a room is %q or %q", Open, Closed)
	case r.Cap < 0:
		return errors.New("cap is negative")
	case r.Cap > 0 && len(r.Members) > r.Cap:
		return fmt.Errorf("%d members where %d are permitted", len(r.Members), r.Cap)
	case len(r.Members) > 0 && !owned:
		return errors.New("the owner is not one of the members")
	case len(r.Members) == 0 && r.OwnerID != "":
		return errors.New("a room without members has an owner")
	case (r.Status == Closed) != (r.ClosedAt != 0):
		return errors.New("a room has a time of closing if and only if it is closed")
	}
	return cmp.Or(r.checkTimes(), r.checkMembers())
}

func checkTexts(name, topic string) error {
	return cmp.Or(domains.CheckText("name", name, 256), domains.CheckText("topic", topic, 4096))
}

func checkRole(role Role) error { return domains.CheckText("role", string(role), 64) }

func (r *Room) checkTimes() error {
	for _, t := range []domains.Time{r.CreatedAt, r.ActiveAt, r.ClosedAt} {
		if !t.Valid() {
			return errors.New("a time is before 1970 or after 9999")
		}
	}
	if r.ActiveAt < r.CreatedAt || r.ClosedAt != 0 && r.ClosedAt < r.ActiveAt {
		return errors.New("created, active and closed are not in this order")
	}
	return nil
}

func (r *Room) checkMembers() error {
	for id, m := range r.Members {
		if err := cmp.Or(domains.CheckID("member", id), checkRole(m.Role)); err != nil {
			return err
		}
		switch {
		case m.ReadSeq > r.Seq:
			return fmt.Errorf("a member has read %d messages of %d", m.ReadSeq, r.Seq)
		case !m.JoinedAt.Valid() || m.JoinedAt > r.ActiveAt:
			return errors.New("a member joined after the room was last active")
		}
	}
	return nil
}
