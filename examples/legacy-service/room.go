package main

import (
	"cmp"
	"maps"
	"slices"
)

const (
	roomOpen   = "open"
	roomClosed = "closed"

	roleMember = "member"
	roleAgent  = "agent"
)

// room is a chat room. Its methods are the rules: they change it and say what has
// happened, or refuse. All times are Unix milliseconds.
type room struct {
	ID        string            `json:"id"`
	Tenant    string            `json:"tenant"`
	Status    string            `json:"status"`
	Cap       int               `json:"cap"`
	Owner     string            `json:"owner"` // "" while nobody is in
	Members   map[string]member `json:"members"`
	Seq       int64             `json:"seq"` // number of the latest event
	CreatedAt int64             `json:"created_at"`
	ActiveAt  int64             `json:"active_at"`
	ClosedAt  int64             `json:"closed_at,omitempty"`
}

type member struct {
	Role     string `json:"role"`
	JoinedAt int64  `json:"joined_at"`
	ReadSeq  int64  `json:"read_seq"` // the last event they have seen
}

func newRoom(id, tenant, owner string, limit int, now int64) (room, []event) {
	r := room{ID: id, Tenant: tenant, Status: roomOpen, Cap: limit, CreatedAt: now, Members: map[string]member{}}
	events := []event{r.happened(eventCreated, owner, "", now)}
	joined, _ := r.join(owner, roleMember, now) // an empty room has no limit
	return r, append(events, joined...)
}

// happened numbers an event.
func (r *room) happened(kind, by, text string, now int64) event {
	r.Seq++
	r.ActiveAt = now
	return event{Room: r.ID, Seq: r.Seq, Kind: kind, By: by, Text: text, At: now}
}

// mayAct refuses who is not in, and everybody once the room is closed.
func (r *room) mayAct(who string) error {
	if r.Status == roomClosed {
		return errRoomClosed
	}
	if _, in := r.Members[who]; !in {
		return errNotMember
	}
	return nil
}

// join lets somebody in. Who is in already stays as they are.
func (r *room) join(who, role string, now int64) ([]event, error) {
	_, in := r.Members[who]
	switch {
	case r.Status == roomClosed:
		return nil, errRoomClosed
	case in:
		return nil, nil
	case len(r.Members) >= r.Cap:
		return nil, errRoomFull
	}
	events := []event{r.happened(eventJoined, who, "", now)}
	if r.Owner == "" {
		r.Owner = who
	}
	r.Members[who] = member{Role: role, JoinedAt: now, ReadSeq: r.Seq}
	return events, nil
}

// leave lets somebody out. When the owner leaves, the member who joined first is the
// next.
func (r *room) leave(who string, now int64) ([]event, error) {
	if err := r.mayAct(who); err != nil {
		return nil, err
	}
	delete(r.Members, who)
	events := []event{r.happened(eventLeft, who, "", now)}
	if r.Owner != who {
		return events, nil
	}
	r.Owner = r.heir()
	if r.Owner != "" {
		events = append(events, r.happened(eventOwner, r.Owner, "", now))
	}
	return events, nil
}

func (r *room) heir() string {
	ids := slices.Collect(maps.Keys(r.Members))
	if len(ids) == 0 {
		return ""
	}
	return slices.MinFunc(ids, func(a, b string) int {
		return cmp.Or(cmp.Compare(r.Members[a].JoinedAt, r.Members[b].JoinedAt), cmp.Compare(a, b))
	})
}

// post is a message of a member, who has read everything before it.
func (r *room) post(from, text string, now int64) ([]event, error) {
	if err := r.mayAct(from); err != nil {
		return nil, err
	}
	e := r.happened(eventMessage, from, text, now)
	m := r.Members[from]
	m.ReadSeq = r.Seq
	r.Members[from] = m
	return []event{e}, nil
}

// read notes how far a member has read. It is no event.
func (r *room) read(who string, seq int64) ([]event, error) {
	if err := r.mayAct(who); err != nil {
		return nil, err
	}
	if seq > r.Seq {
		return nil, errNotSaid
	}
	m := r.Members[who]
	m.ReadSeq = max(m.ReadSeq, seq)
	r.Members[who] = m
	return nil, nil
}

func (r *room) close(by string, now int64) ([]event, error) {
	if err := r.mayAct(by); err != nil {
		return nil, err
	}
	if r.Owner != by {
		return nil, errNotOwner
	}
	e := r.happened(eventClosed, by, "", now)
	r.Status, r.ClosedAt = roomClosed, now
	return []event{e}, nil
}
