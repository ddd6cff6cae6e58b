package main

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// agents are the agents in Redis, at agent:ID. They are kept for ever.
type agents struct {
	rdb redis.UniversalClient
	now func() int64
}

func agentKey(id string) string { return "agent:" + id }

func (s *agents) get(ctx context.Context, id string) (agent, error) {
	return loadAgent(ctx, s.rdb, id)
}

func loadAgent(ctx context.Context, rdb redis.Cmdable, id string) (agent, error) {
	a, found, err := load[agent](ctx, rdb, agentKey(id))
	if err == nil && !found {
		err = errNoAgent
	}
	return a, err
}

// set stores what an agent says of themselves; the first time, that there is one.
func (s *agents) set(ctx context.Context, id, status string, limit int) (agent, error) {
	return watchUpdate(ctx, s.rdb, agentKey(id), func(a *agent, found bool) error {
		if !found {
			*a = agent{ID: id, Sessions: []string{}}
		}
		return a.set(status, limit, s.now())
	})
}
