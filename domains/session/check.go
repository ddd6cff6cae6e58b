package session

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/unwatch/unwatch/domains"
)

// Check returns an error for the first rule that the session breaks. It implements [domains.Entity].
func (s *Session) Check() error {
	if err := domains.CheckID("session", s.ID); err != nil {
		return err
	}
	switch {
	case !slices.Contains(states, string(s.Status)):
		return errors.New("the status is unknown")
	case (s.AgentID != "") != s.Held():
		return fmt.Errorf("a session has an agent if and only if it is assigned, active or on hold; this one is %s", s.Status)
	case s.Epoch > maxEpoch:
		return fmt.Errorf("the epoch is above %d", uint64(maxEpoch))
	case len(s.Transfers) > maxTransfers:
		return fmt.Errorf("%d transfers, at most %d are stored", len(s.Transfers), maxTransfers)
	case len(s.Declined) > maxDeclined:
		return fmt.Errorf("%d agents have declined, at most %d are stored", len(s.Declined), maxDeclined)
	}
	return cmp.Or(s.checkTexts(), s.checkEnd(), s.checkTimes())
}

func (s *Session) checkTexts() error {
	for _, id := range s.Declined {
		if err := domains.CheckID("agent", id); err != nil {
			return err
		}
	}
	for _, t := range s.Transfers {
		ids := map[string]string{"transfer's source": t.From, "transfer's destination": t.To}
		if err := cmp.Or(checkWhy(t.By, t.Reason), domains.CheckIDs(ids)); err != nil {
			return err
		}
	}
	return cmp.Or(domains.CheckText("reason", string(s.CloseReason), maxReason), domains.CheckIDs(map[string]string{
		"tenant": s.TenantID, "visitor": s.VisitorID, "room": s.RoomID, "queue": s.QueueID, "merchant": s.MerchantID,
		"agent": s.AgentID, "last agent": s.LastAgentID,
	}))
}

// checkEnd checks the closing and the rating.
func (s *Session) checkEnd() error {
	closed := s.Status == Closed
	switch {
	case closed != (s.ClosedAt != 0), closed != (s.CloseReason != ""):
		return errors.New("a session has a time and a reason of closing if and only if it is closed")
	case s.Rating == nil:
		return nil
	case !closed:
		return errors.New("a session is rated that is not closed")
	case s.Rating.At != 0 && s.Rating.At < s.ClosedAt:
		return errors.New("a session was rated before it was closed")
	case s.RateUntil != 0 && s.Rating.At > s.RateUntil:
		return errors.New("a session was rated too late")
	case !s.Rating.inRange():
		return errors.New("a score is not from 1 to 5") // not ErrScore: the stored value is wrong, not an argument
	}
	return domains.CheckText("comment", s.Rating.Comment, maxComment)
}

func (r *Rating) inRange() bool { return r.Score >= 1 && r.Score <= 5 }

func (s *Session) checkTimes() error {
	for _, t := range s.times() {
		switch {
		case !t.Valid():
			return errors.New("a time is before 1970 or after 9999")
		case t != 0 && t < s.CreatedAt:
			return errors.New("something happened before the session was created")
		}
	}
	switch {
	case s.AssignedAt != 0 && s.AssignedAt < s.QueuedAt:
		return errors.New("the session was assigned before it was queued")
	case s.ClosedAt != 0 && s.ClosedAt < s.latest():
		return errors.New("something happened after the session was closed")
	case !s.UpdatedAt.Valid() || !s.RateUntil.Valid() || !s.ReopenUntil.Valid():
		return errors.New("a time is before 1970 or after 9999")
	}
	return nil
}

// latest returns the last time before the closing.
func (s *Session) latest() domains.Time {
	return max(s.QueuedAt, s.TakenAt, s.AssignedAt, s.FirstResponseAt, s.LastVisitorAt, s.LastAgentAt, s.HoldAt, s.ResumedAt)
}
