package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// sessionTTL is for how long a session is kept, from its beginning or from its end; not
// counted while an agent has it.
const sessionTTL = 30 * 24 * time.Hour

// sessions are the sessions in Redis, at session:ID. What concerns their agents,
// too, is in assignment.go.
type sessions struct {
	rdb    redis.UniversalClient
	now    func() int64
	rooms  *rooms
	queues *queues
}

func sessionKey(id string) string    { return "session:" + id }
func tenantKey(tenant string) string { return "tenant:" + tenant + ":sessions" }

func (s *sessions) get(ctx context.Context, id string) (session, error) {
	return loadSession(ctx, s.rdb, id)
}

func loadSession(ctx context.Context, rdb redis.Cmdable, id string) (session, error) {
	se, found, err := load[session](ctx, rdb, sessionKey(id))
	if err == nil && !found {
		err = errNoSession
	}
	return se, err
}

// open stores a new session and puts it into its tenant's index. Nobody else knows
// its id yet, so there is nothing to watch.
func (s *sessions) open(ctx context.Context, se session) (session, error) {
	r, err := s.rooms.get(ctx, se.Room)
	if err != nil {
		return se, err
	}
	if r.Tenant != se.Tenant {
		return se, errOtherTenant
	}
	if err := r.mayAct(se.Visitor); err != nil {
		return se, err
	}
	se.ID, se.Status, se.OpenedAt = rand.Text(), stateBot, s.now()
	raw, err := json.Marshal(se)
	if err != nil {
		return se, err
	}
	_, err = s.rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		expired := se.OpenedAt - sessionTTL.Milliseconds()
		pipe.Set(ctx, sessionKey(se.ID), raw, sessionTTL)
		pipe.ZAdd(ctx, tenantKey(se.Tenant), redis.Z{Score: float64(se.OpenedAt), Member: se.ID})
		pipe.ZRemRangeByScore(ctx, tenantKey(se.Tenant), "-inf", strconv.FormatInt(expired, 10))
		pipe.Expire(ctx, tenantKey(se.Tenant), sessionTTL)
		return nil
	})
	return se, err
}

// latest returns the ids of the sessions that a tenant opened last.
func (s *sessions) latest(ctx context.Context, tenant string) ([]string, error) {
	ids, err := s.rdb.ZRange(ctx, tenantKey(tenant), -100, -1).Result()
	slices.Reverse(ids)
	return ids, err
}

// change applies a rule to a session.
func (s *sessions) change(
	ctx context.Context, id string, rule func(se *session, now int64) error, also ...func(redis.Pipeliner) error,
) (session, error) {
	return watchUpdate(ctx, s.rdb, sessionKey(id), func(se *session, found bool) error {
		if !found {
			return errNoSession
		}
		return rule(se, s.now())
	}, also...)
}

// escalate puts a session into a queue: the session says so exactly if it is there.
func (s *sessions) escalate(ctx context.Context, id, queue string, priority int) (session, error) {
	var place float64
	return s.change(ctx, id, func(se *session, now int64) error {
		err := se.escalate(queue, priority, now)
		place = se.place()
		return err
	}, func(pipe redis.Pipeliner) error {
		return pipe.ZAdd(ctx, queueKey(queue), redis.Z{Score: place, Member: id}).Err()
	})
}

// say is a message of the visitor or the agent. The session knows who may talk, the
// room who is there, and gets the message.
func (s *sessions) say(ctx context.Context, id, from, text string) (room, error) {
	se, err := s.get(ctx, id)
	if err != nil {
		return room{}, err
	}
	r, err := s.rooms.get(ctx, se.Room)
	if err != nil {
		return r, err
	}
	if err := r.mayAct(from); err != nil {
		return r, err
	}
	if _, err := s.change(ctx, id, func(se *session, now int64) error { return se.said(from, now) }); err != nil {
		return r, err
	}
	return s.rooms.change(ctx, se.Room, func(r *room, now int64) ([]event, error) {
		return r.post(from, text, now)
	})
}
