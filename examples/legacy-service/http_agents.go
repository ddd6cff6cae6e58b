package main

import (
	"cmp"
	"net/http"
)

func (s *service) setAgent(r *http.Request) (any, error) {
	in, err := decode[struct {
		Status string `json:"status"`
		Max    int    `json:"max"`
	}](r)
	in.Max = cmp.Or(in.Max, 3)
	switch in.Status {
	case agentOnline, agentAway, agentOffline:
	default: // busy is what the service finds
		err = cmp.Or[error](err, invalid("status must be online, away or offline"))
	}
	if err := cmp.Or(err, between("max", in.Max, 1, 50)); err != nil {
		return nil, err
	}
	return s.agents.set(r.Context(), r.PathValue("id"), in.Status, in.Max)
}

func (s *service) getAgent(r *http.Request) (any, error) {
	return s.agents.get(r.Context(), r.PathValue("id"))
}

// nextSession gives an agent the session that has waited longest, if there is one.
func (s *service) nextSession(r *http.Request) (any, error) {
	in, err := decode[struct {
		Queues []string `json:"queues"`
	}](r)
	err = cmp.Or(err, between("the number of queues", len(in.Queues), 1, 20))
	for _, queue := range in.Queues {
		err = cmp.Or(err, name("queue", queue))
	}
	if err != nil {
		return nil, err
	}
	se, found, err := s.sessions.next(r.Context(), r.PathValue("id"), in.Queues)
	if err != nil || !found {
		return nil, err
	}
	return se, nil
}

func (s *service) getQueue(r *http.Request) (any, error) {
	ids, length, err := s.queues.waiting(r.Context(), r.PathValue("queue"))
	return map[string]any{"sessions": ids, "length": length}, err
}
