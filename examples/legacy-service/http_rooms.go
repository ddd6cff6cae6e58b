package main

import (
	"cmp"
	"net/http"
	"strconv"
)

func (s *service) createRoom(r *http.Request) (any, error) {
	in, err := decode[struct {
		ID     string `json:"id"`
		Tenant string `json:"tenant"`
		Owner  string `json:"owner"`
		Cap    int    `json:"cap"`
	}](r)
	in.Cap = cmp.Or(in.Cap, 100)
	if err := cmp.Or(err, name("id", in.ID), name("tenant", in.Tenant), name("owner", in.Owner),
		between("cap", in.Cap, 1, 1000)); err != nil {
		return nil, err
	}
	return s.rooms.create(r.Context(), in.ID, in.Tenant, in.Owner, in.Cap)
}

func (s *service) getRoom(r *http.Request) (any, error) {
	return s.rooms.get(r.Context(), r.PathValue("id"))
}

func (s *service) joinRoom(r *http.Request) (any, error) {
	in, err := decode[struct {
		Role string `json:"role"`
	}](r)
	who, role := r.PathValue("member"), cmp.Or(in.Role, roleMember)
	if role != roleMember && role != roleAgent {
		err = cmp.Or[error](err, invalid("role must be member or agent"))
	}
	if err != nil {
		return nil, err
	}
	return s.rooms.change(r.Context(), r.PathValue("id"), func(r *room, now int64) ([]event, error) {
		return r.join(who, role, now)
	})
}

func (s *service) leaveRoom(r *http.Request) (any, error) {
	who := r.PathValue("member")
	return s.rooms.change(r.Context(), r.PathValue("id"), func(r *room, now int64) ([]event, error) {
		return r.leave(who, now)
	})
}

func (s *service) readRoom(r *http.Request) (any, error) {
	in, err := decode[struct {
		Seq int64 `json:"seq"`
	}](r)
	if err != nil {
		return nil, err
	}
	who := r.PathValue("member")
	return s.rooms.change(r.Context(), r.PathValue("id"), func(r *room, _ int64) ([]event, error) {
		return r.read(who, in.Seq)
	})
}

// message is what is said in a room or in a session.
type message struct {
	From string `json:"from"`
	Text string `json:"text"`
}

func decodeMessage(r *http.Request) (message, error) {
	in, err := decode[message](r)
	return in, cmp.Or(err, name("from", in.From), text("text", in.Text))
}

func (s *service) postMessage(r *http.Request) (any, error) {
	in, err := decodeMessage(r)
	if err != nil {
		return nil, err
	}
	return s.rooms.change(r.Context(), r.PathValue("id"), func(r *room, now int64) ([]event, error) {
		return r.post(in.From, in.Text, now)
	})
}

func (s *service) closeRoom(r *http.Request) (any, error) {
	in, err := decode[struct {
		By string `json:"by"`
	}](r)
	if err := cmp.Or(err, name("by", in.By)); err != nil {
		return nil, err
	}
	return s.rooms.change(r.Context(), r.PathValue("id"), func(r *room, now int64) ([]event, error) {
		return r.close(in.By, now)
	})
}

// roomHistory returns what happened in a room ?after= a number.
func (s *service) roomHistory(r *http.Request) (any, error) {
	after, err := number(r.FormValue("after"))
	if err != nil {
		return nil, err
	}
	if _, err := s.rooms.get(r.Context(), r.PathValue("id")); err != nil {
		return nil, err
	}
	events, err := s.rooms.history(r.Context(), r.PathValue("id"), after)
	return map[string]any{"events": events}, err
}

// number reads the number of an event; none is 0.
func number(s string) (int64, error) {
	n, err := strconv.ParseInt(cmp.Or(s, "0"), 10, 64)
	if err != nil || n < 0 {
		return 0, invalid("after must be the number of an event")
	}
	return n, nil
}
