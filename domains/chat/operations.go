package chat

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
)

// System, as by of an operation, is the service itself. It has the rights of the owner.
const System = ""

// The operations below have no side effects besides the change of the Room. They return [rmw.Keep] if nothing
// changes, or a Refusal; both leave the Room as it was. A function for [Rooms.Edit] may call several: see
// [domains.Steps].

// Join adds a member, and makes it the owner if the room has none. It sets JoinedAt and ReadSeq of m: earlier
// messages do not count as unread. A Join of a member changes nothing.
func (r *Room) Join(at domains.Time, memberID string, m Member) error {
	if err := cmp.Or(r.move("Join", ""), domains.CheckID("member", memberID)); err != nil {
		return err
	}
	if _, in := r.Members[memberID]; in {
		return rmw.Keep
	}
	if r.Cap > 0 && len(r.Members) >= r.Cap {
		return fmt.Errorf("%w: %d of %d are in", ErrRoomFull, len(r.Members), r.Cap)
	}
	if err := checkRole(m.Role); err != nil {
		return err
	}
	m.JoinedAt, m.ReadSeq = r.touch(at), r.Seq
	if r.Members == nil {
		r.Members = map[string]Member{}
	}
	r.Members[memberID] = m
	r.OwnerID = cmp.Or(r.OwnerID, memberID)
	return nil
}

// Leave removes a member. A Leave of any other user changes nothing.
func (r *Room) Leave(at domains.Time, memberID string) error {
	return r.takeOut("Leave", at, System, memberID)
}

// Remove removes a member. by must be the owner or System.
func (r *Room) Remove(at domains.Time, by, memberID string) error {
	return r.takeOut("Remove", at, by, memberID)
}

func (r *Room) takeOut(op string, at domains.Time, by, memberID string) error {
	if err := cmp.Or(r.move(op, ""), r.byOwner(by)); err != nil {
		return err
	}
	if _, in := r.Members[memberID]; !in {
		return rmw.Keep
	}
	delete(r.Members, memberID)
	r.touch(at)
	if r.OwnerID == memberID {
		r.OwnerID = r.heir()
	}
	if len(r.Members) > 0 || r.StayOpen {
		return nil
	}
	return r.shut(op, at)
}

// heir returns the member with the earliest JoinedAt; "" if the room has no members.
func (r *Room) heir() string {
	ids := slices.Collect(maps.Keys(r.Members))
	if len(ids) == 0 {
		return ""
	}
	return slices.MinFunc(ids, func(a, b string) int {
		return cmp.Or(cmp.Compare(r.Members[a].JoinedAt, r.Members[b].JoinedAt), cmp.Compare(a, b))
	})
}

// Describe sets the name and the topic, at most 256 and 4096 bytes.
func (r *Room) Describe(at domains.Time, name, topic string) error {
	if err := r.move("Describe", ""); err != nil {
		return err
	}
	if r.Name == name && r.Topic == topic {
		return rmw.Keep
	}
	if err := checkTexts(name, topic); err != nil {
		return err
	}
	r.Name, r.Topic = name, topic
	r.touch(at)
	return nil
}

// SetCap sets the limit of members; 0 is no limit.
func (r *Room) SetCap(at domains.Time, limit int) error {
	if err := r.move("SetCap", ""); err != nil {
		return err
	}
	switch {
	case limit < 0:
		return fmt.Errorf("%w: a cap of %d: 0 is no limit", rmw.ErrInvalid, limit)
	case limit == r.Cap:
		return rmw.Keep
	case limit > 0 && limit < len(r.Members):
		return fmt.Errorf("%w: %d are in", ErrCapTooSmall, len(r.Members))
	}
	r.Cap = limit
	r.touch(at)
	return nil
}

// SetRole sets the role of a member. by must be the owner or System.
func (r *Room) SetRole(at domains.Time, by, memberID string, role Role) error {
	return r.adjust("SetRole", at, by, memberID, func(m *Member) { m.Role = role })
}

// Mute forbids or permits a member to post. by must be the owner or System.
func (r *Room) Mute(at domains.Time, by, memberID string, muted bool) error {
	return r.adjust("Mute", at, by, memberID, func(m *Member) { m.Muted = muted })
}

func (r *Room) adjust(op string, at domains.Time, by, memberID string, set func(*Member)) error {
	old, err := r.member(memberID)
	if err := cmp.Or(r.move(op, ""), r.byOwner(by), err); err != nil {
		return err
	}
	m := old
	if set(&m); m == old {
		return rmw.Keep
	}
	if err := checkRole(m.Role); err != nil {
		return err
	}
	r.Members[memberID] = m
	r.touch(at)
	return nil
}

// TransferOwner makes a member the owner. by must be the owner or System.
func (r *Room) TransferOwner(at domains.Time, by, memberID string) error {
	_, err := r.member(memberID)
	if err := cmp.Or(r.move("TransferOwner", ""), r.byOwner(by), err); err != nil {
		return err
	}
	if r.OwnerID == memberID {
		return rmw.Keep
	}
	r.OwnerID = memberID
	r.touch(at)
	return nil
}

// Post counts one more message and returns its number. The author's ReadSeq follows.
func (r *Room) Post(at domains.Time, memberID string) (seq uint64, err error) {
	m, err := r.member(memberID)
	if err := cmp.Or(r.move("Post", ""), err); err != nil {
		return 0, err
	}
	if m.Muted || m.Role == Observer {
		return 0, ErrMayNotPost
	}
	r.Seq++
	m.ReadSeq = r.Seq
	r.Members[memberID] = m
	r.touch(at)
	return r.Seq, nil
}

// MarkRead records that a member has read all messages up to number seq. A lower number than before changes
// nothing.
func (r *Room) MarkRead(at domains.Time, memberID string, seq uint64) error {
	m, err := r.member(memberID)
	if err := cmp.Or(r.move("MarkRead", ""), err); err != nil {
		return err
	}
	switch {
	case seq > r.Seq:
		return fmt.Errorf("%w: %d of %d", ErrUnread, seq, r.Seq)
	case seq <= m.ReadSeq:
		return rmw.Keep
	}
	m.ReadSeq = seq
	r.Members[memberID] = m
	r.touch(at)
	return nil
}

// Touch sets ActiveAt, unless it is later already.
func (r *Room) Touch(at domains.Time) error {
	if err := r.move("Touch", ""); err != nil {
		return err
	}
	if at <= r.ActiveAt {
		return rmw.Keep
	}
	r.touch(at)
	return nil
}

// Close closes the room for good, and keeps the list of members. by must be the owner or System.
func (r *Room) Close(at domains.Time, by string) error {
	if r.Status == Closed {
		return rmw.Keep
	}
	if err := r.byOwner(by); err != nil {
		return err
	}
	return r.shut("Close", at)
}

func (r *Room) shut(op string, at domains.Time) error {
	if err := r.move(op, Closed); err != nil {
		return err
	}
	r.ClosedAt = r.touch(at)
	return nil
}

// move asks the table whether op may happen now, and follows it. want chooses among several rows.
func (r *Room) move(op string, want Status) error {
	to, ok := transitions.Next(op, string(r.Status), string(want))
	if !ok {
		return ErrRoomClosed
	}
	if want != "" {
		r.Status = Status(to)
	}
	return nil
}

// touch advances ActiveAt to at, unless it is later already, and returns it.
func (r *Room) touch(at domains.Time) domains.Time {
	r.ActiveAt = max(r.ActiveAt, at)
	return r.ActiveAt
}

func (r *Room) byOwner(by string) error {
	if by != System && by != r.OwnerID {
		return ErrNotOwner
	}
	return nil
}

func (r *Room) member(id string) (Member, error) {
	m, in := r.Members[id]
	if !in {
		return Member{}, ErrNotMember
	}
	return m, nil
}
