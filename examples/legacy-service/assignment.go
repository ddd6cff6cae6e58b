package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// A session names its agent, and the agent names the session. Both are written in
// one transaction, so nobody ever sees one without the other.

// assign gives a waiting session to an agent.
func (s *sessions) assign(ctx context.Context, id, agentID string) (session, error) {
	var se session
	err := watch(ctx, s.rdb, func(tx *redis.Tx) (err error) {
		if se, err = loadSession(ctx, tx, id); err != nil {
			return err
		}
		a, err := loadAgent(ctx, tx, agentID)
		if err != nil {
			return err
		}
		now := s.now()
		if err := se.assign(agentID, now); err != nil {
			return err
		}
		if err := a.take(id, now); err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Persist(ctx, sessionKey(id))
			pipe.ZRem(ctx, queueKey(se.Queue), id)
			return errors.Join(save(ctx, pipe, sessionKey(id), se), save(ctx, pipe, agentKey(agentID), a))
		})
		return err
	}, sessionKey(id), agentKey(agentID))
	return se, err
}

// transfer takes a session from its agent and gives it to another one.
func (s *sessions) transfer(ctx context.Context, id, to string) (session, error) {
	var se session
	err := watch(ctx, s.rdb, func(tx *redis.Tx) (err error) {
		if se, err = loadSession(ctx, tx, id); err != nil {
			return err
		}
		from, now := se.Agent, s.now()
		if err := se.transfer(to, now); err != nil {
			return err
		}
		if err := tx.Watch(ctx, agentKey(from)).Err(); err != nil {
			return err
		}
		giver, err := loadAgent(ctx, tx, from)
		if err != nil {
			return err
		}
		taker, err := loadAgent(ctx, tx, to)
		if err != nil {
			return err
		}
		giver.release(id, now)
		if err := taker.take(id, now); err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			return errors.Join(save(ctx, pipe, sessionKey(id), se),
				save(ctx, pipe, agentKey(from), giver), save(ctx, pipe, agentKey(to), taker))
		})
		return err
	}, sessionKey(id), agentKey(to))
	return se, err
}

// close ends a session, wherever it is: with the bot, in a queue, or with an agent,
// who has a hand free then.
func (s *sessions) close(ctx context.Context, id, reason string) (session, error) {
	var se session
	err := watch(ctx, s.rdb, func(tx *redis.Tx) (err error) {
		if se, err = loadSession(ctx, tx, id); err != nil {
			return err
		}
		now := s.now()
		if err := se.close(reason, now); err != nil {
			return err
		}
		var a agent
		if se.Agent != "" {
			if err := tx.Watch(ctx, agentKey(se.Agent)).Err(); err != nil {
				return err
			}
			if a, err = loadAgent(ctx, tx, se.Agent); err != nil {
				return err
			}
			a.release(id, now)
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Expire(ctx, sessionKey(id), sessionTTL)
			if se.Queue != "" {
				pipe.ZRem(ctx, queueKey(se.Queue), id)
			}
			if se.Agent != "" {
				if err := save(ctx, pipe, agentKey(se.Agent), a); err != nil {
					return err
				}
			}
			return save(ctx, pipe, sessionKey(id), se)
		})
		return err
	}, sessionKey(id))
	return se, err
}

// next gives an agent the session that has waited longest in these queues. It
// reports whether there was one.
func (s *sessions) next(ctx context.Context, agentID string, queues []string) (session, bool, error) {
	for range maxTries {
		queue, id, found, err := s.queues.first(ctx, queues)
		if err != nil || !found {
			return session{}, false, err
		}
		se, err := s.assign(ctx, id, agentID)
		switch {
		case errors.Is(err, errTransition): // another agent was quicker
			continue
		case errors.Is(err, errNoSession): // it expired while it waited
			if err := s.queues.remove(ctx, queue, id); err != nil {
				return se, false, err
			}
			continue
		}
		return se, err == nil, err
	}
	return session{}, false, fmt.Errorf("%v: others were quicker %d times", queues, maxTries)
}
