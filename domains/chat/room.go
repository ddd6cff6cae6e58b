package chat

import (
	"errors"
	"fmt"

	"github.com/unwatch/unwatch/domains"
)

// Room is one chat room. Its exported methods that change it are the operations; a
// [Rooms] stores what they do.
type Room struct {
	domains.Header
	ID       string `json:"id"`
	TenantID string `json:"tenant_id,omitempty"`
	// Name and Topic are for people.
	Name   string `json:"name,omitempty"`
	Topic  string `json:"topic,omitempty"`
	Status Status `json:"status"`
	// Cap is how many members there may be; 0 is no limit.
	Cap int `json:"cap,omitempty"`
	// StayOpen keeps the room open when the last member leaves.
	StayOpen bool `json:"stay_open,omitempty"`
	// OwnerID is the member who may remove others; empty in a room without members.
	OwnerID string `json:"owner_id,omitempty"`
	// Members are the members by id.
	Members map[string]Member `json:"members,omitempty" hash:"member:"`
	// Seq is the number of the latest message.
	Seq       uint64       `json:"seq,omitempty"`
	CreatedAt domains.Time `json:"created_at,omitempty"`
	// ActiveAt is when something last happened in the room.
	ActiveAt domains.Time `json:"active_at,omitempty"`
	ClosedAt domains.Time `json:"closed_at,omitempty"`

	Unknown domains.Unknown `json:"-"`
}

// Status says whether a room takes part in life.
type Status string

// The states of a room.
const (
	Open   Status = "open"
	Closed Status = "closed"
)

// Member is somebody in a room.
type Member struct {
	Role     Role         `json:"role,omitempty"`
	JoinedAt domains.Time `json:"joined_at,omitempty"`
	// ReadSeq is the number of the last message that the member has read.
	ReadSeq uint64 `json:"read_seq,omitempty"`
	Muted   bool   `json:"muted,omitempty"`

	Unknown domains.Unknown `json:"-"`
}

// Role is what a member is in the room. Owning it is not a role: any member can.
type Role string

// The roles. Other texts are kept as they are: services may have more.
const (
	Visitor  Role = "visitor"
	Agent    Role = "agent"
	Observer Role = "observer" // reads along, and cannot post
)

// The longest texts, in bytes.
const (
	MaxName  = 256
	MaxTopic = 4096
	MaxRole  = 64
)

// Check implements [domains.Entity]: it reports the first rule that does not hold.
func (r *Room) Check() error {
	if err := domains.CheckID("room", r.ID); err != nil {
		return err
	}
	if err := domains.CheckIDs(map[string]string{"tenant": r.TenantID}); err != nil {
		return err
	}
	if err := checkTexts(r.Name, r.Topic); err != nil {
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
	if err := r.checkTimes(); err != nil {
		return err
	}
	return r.checkMembers()
}

func checkTexts(name, topic string) error {
	if err := domains.CheckText("name", name, MaxName); err != nil {
		return err
	}
	return domains.CheckText("topic", topic, MaxTopic)
}

func checkRole(role Role) error { return domains.CheckText("role", string(role), MaxRole) }

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
		if err := domains.CheckID("member", id); err != nil {
			return err
		}
		if err := checkRole(m.Role); err != nil {
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
