package main

import (
	"cmp"
	"net/http"
)

func (s *service) openSession(r *http.Request) (any, error) {
	in, err := decode[struct {
		Tenant   string `json:"tenant"`
		Visitor  string `json:"visitor"`
		Room     string `json:"room"`
		Merchant string `json:"merchant"`
	}](r)
	if err := cmp.Or(err, name("tenant", in.Tenant), name("visitor", in.Visitor),
		name("room", in.Room), name("merchant", in.Merchant)); err != nil {
		return nil, err
	}
	return s.sessions.open(r.Context(),
		session{Tenant: in.Tenant, Visitor: in.Visitor, Room: in.Room, Merchant: in.Merchant})
}

func (s *service) getSession(r *http.Request) (any, error) {
	return s.sessions.get(r.Context(), r.PathValue("id"))
}

func (s *service) latestSessions(r *http.Request) (any, error) {
	ids, err := s.sessions.latest(r.Context(), r.PathValue("tenant"))
	return map[string]any{"sessions": ids}, err
}

func (s *service) escalateSession(r *http.Request) (any, error) {
	in, err := decode[struct {
		Queue    string `json:"queue"`
		Priority int    `json:"priority"`
	}](r)
	if err := cmp.Or(err, name("queue", in.Queue), between("priority", in.Priority, 0, 9)); err != nil {
		return nil, err
	}
	return s.sessions.escalate(r.Context(), r.PathValue("id"), in.Queue, in.Priority)
}

// decodeAgent reads a body that names an agent.
func decodeAgent(r *http.Request) (string, error) {
	in, err := decode[struct {
		Agent string `json:"agent"`
	}](r)
	return in.Agent, cmp.Or(err, name("agent", in.Agent))
}

func (s *service) assignSession(r *http.Request) (any, error) {
	agent, err := decodeAgent(r)
	if err != nil {
		return nil, err
	}
	return s.sessions.assign(r.Context(), r.PathValue("id"), agent)
}

func (s *service) transferSession(r *http.Request) (any, error) {
	agent, err := decodeAgent(r)
	if err != nil {
		return nil, err
	}
	return s.sessions.transfer(r.Context(), r.PathValue("id"), agent)
}

func (s *service) holdSession(r *http.Request) (any, error) {
	agent, err := decodeAgent(r)
	if err != nil {
		return nil, err
	}
	return s.sessions.change(r.Context(), r.PathValue("id"), func(se *session, _ int64) error {
		return se.hold(agent)
	})
}

func (s *service) saySession(r *http.Request) (any, error) {
	in, err := decodeMessage(r)
	if err != nil {
		return nil, err
	}
	return s.sessions.say(r.Context(), r.PathValue("id"), in.From, in.Text)
}

func (s *service) closeSession(r *http.Request) (any, error) {
	in, err := decode[struct {
		Reason string `json:"reason"`
	}](r)
	if err := cmp.Or(err, text("reason", in.Reason)); err != nil {
		return nil, err
	}
	return s.sessions.close(r.Context(), r.PathValue("id"), in.Reason)
}

func (s *service) rateSession(r *http.Request) (any, error) {
	in, err := decode[struct {
		Score   int    `json:"score"`
		Comment string `json:"comment"`
	}](r)
	if err := cmp.Or(err, between("score", in.Score, 1, 5)); err != nil {
		return nil, err
	}
	return s.sessions.change(r.Context(), r.PathValue("id"), func(se *session, now int64) error {
		return se.rate(in.Score, in.Comment, now)
	})
}
