package session

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
)

// The operations below have no side effects besides the change of the Session. They return [rmw.Keep] if
// nothing changes, or a Refusal; both leave the Session as it was. A function for [Sessions.Edit] may call
// several: see [domains.Steps].

// Escalate queues a session that a bot has answered so far.
func (s *Session) Escalate(at domains.Time, queueID string) error {
	if err := s.move("Escalate", checkQueue(queueID)); err != nil {
		return err
	}
	s.QueuedAt, s.QueueID = s.touch(at), queueID
	return nil
}

// Assign gives a queued session to an agent, provided that the session still has the given epoch, else returns
// [ErrMovedOn]. It does not check the agent's limit: desk.Assign does.
func (s *Session) Assign(at domains.Time, agentID string, epoch uint64) error {
	if err := s.move("Assign", domains.CheckID("agent", agentID), s.at(epoch)); err != nil {
		return err
	}
	s.handTo(at, agentID)
	s.TakenAt = s.AssignedAt
	return nil
}

// Transfer gives the session to another agent, provided that the session still has the given epoch, else
// returns [ErrMovedOn]. by is the id of the requester, empty for the system; reason has at most 256 bytes. It does
// not check the agent's limit: desk.Transfer does.
func (s *Session) Transfer(at domains.Time, toAgentID string, epoch uint64, by, reason string) error {
	if err := cmp.Or(domains.CheckID("agent", toAgentID), checkWhy(by, reason), s.at(epoch)); err != nil {
		return err
	}
	if s.AgentID == toAgentID {
		return ErrSameAgent
	}
	if err := s.move("Transfer"); err != nil {
		return err
	}
	s.addTransfer(Transfer{From: s.AgentID, To: toAgentID, Kind: ToAgent, By: by, At: s.touch(at), Reason: reason})
	s.LastAgentID = s.AgentID
	s.handTo(at, toAgentID)
	return nil
}

// Requeue takes the session from its agent and queues it. If agentID is not empty, that agent must have the
// session, else Requeue returns [ErrNotHolder]. An empty queueID keeps the queue. by and reason are as for Transfer.
func (s *Session) Requeue(at domains.Time, agentID, queueID, by, reason string) error {
	if err := cmp.Or(checkWhy(by, reason), checkQueue(queueID)); err != nil {
		return err
	}
	if !s.Held() {
		return s.notNow("Requeue")
	}
	if agentID != "" && s.AgentID != agentID {
		return ErrNotHolder
	}
	if err := s.move("Requeue"); err != nil {
		return err
	}
	s.QueueID = cmp.Or(queueID, s.QueueID)
	s.addTransfer(Transfer{From: s.AgentID, To: s.QueueID, Kind: ToQueue, By: by, At: s.touch(at), Reason: reason})
	s.backToQueue(at)
	return nil
}

// Decline queues a session that its agent refuses, or does not answer.
func (s *Session) Decline(at domains.Time, agentID string) error {
	if err := s.move("Decline", s.heldBy("Decline", agentID)); err != nil {
		return err
	}
	if !slices.Contains(s.Declined, agentID) {
		s.Declined = appendLast(s.Declined, agentID, maxDeclined)
	}
	s.backToQueue(at)
	return nil
}

// Reply records that the agent has written. The first reply makes the session active.
func (s *Session) Reply(at domains.Time, agentID string) error {
	if err := s.move("Reply", s.heldBy("Reply", agentID)); err != nil {
		return err
	}
	s.LastAgentAt = s.touch(at)
	if s.FirstResponseAt == 0 {
		s.FirstResponseAt = s.LastAgentAt
	}
	s.Declined = nil
	return nil
}

// VisitorWrites records that the visitor has written. It makes a session on hold active.
func (s *Session) VisitorWrites(at domains.Time) error {
	if err := s.move("VisitorWrites"); err != nil {
		return err
	}
	s.LastVisitorAt, s.HoldAt = s.touch(at), 0
	return nil
}

// Hold puts an active session on hold until the visitor writes.
func (s *Session) Hold(at domains.Time, agentID string) error {
	if err := s.heldBy("Hold", agentID); err != nil {
		return err
	}
	if s.Status == OnHold {
		return rmw.Keep
	}
	if err := s.move("Hold"); err != nil {
		return err
	}
	s.HoldAt = s.touch(at)
	return nil
}

// Resume makes a session on hold active.
func (s *Session) Resume(at domains.Time, agentID string) error {
	if err := s.heldBy("Resume", agentID); err != nil {
		return err
	}
	if s.Status == Active {
		return rmw.Keep
	}
	if err := s.move("Resume"); err != nil {
		return err
	}
	s.ResumedAt, s.HoldAt = s.touch(at), 0
	return nil
}

// SetPriority sets the order in a queue; higher comes first.
func (s *Session) SetPriority(at domains.Time, priority int) error {
	if err := s.move("SetPriority"); err != nil {
		return err
	}
	if s.Priority == priority {
		return rmw.Keep
	}
	s.Priority = priority
	s.touch(at)
	return nil
}

// SetMerchant sets the merchant that the conversation is about; empty is none.
func (s *Session) SetMerchant(at domains.Time, merchantID string) error {
	if err := s.move("SetMerchant", domains.CheckIDs(map[string]string{"merchant": merchantID})); err != nil {
		return err
	}
	if s.MerchantID == merchantID {
		return rmw.Keep
	}
	s.MerchantID = merchantID
	s.touch(at)
	return nil
}

// Fence raises the epoch above the given one, so that an Assign, Transfer or Reopen at that epoch or an earlier
// one returns [ErrMovedOn].
func (s *Session) Fence(at domains.Time, epoch uint64) error {
	if s.Epoch > epoch {
		return rmw.Keep
	}
	if epoch >= maxEpoch {
		return fmt.Errorf("%w: there is no epoch after %d", rmw.ErrInvalid, uint64(maxEpoch))
	}
	if err := s.move("Fence"); err != nil {
		return err
	}
	s.touch(at)
	s.Epoch = epoch + 1
	return nil
}

// handTo gives the session to an agent.
func (s *Session) handTo(at domains.Time, agentID string) {
	s.AgentID, s.AssignedAt, s.HoldAt = agentID, s.touch(at), 0
	s.Epoch++
}

// backToQueue takes the session from its agent.
func (s *Session) backToQueue(at domains.Time) {
	s.LastAgentID, s.AgentID = s.AgentID, ""
	s.QueuedAt, s.TakenAt, s.AssignedAt, s.HoldAt = s.touch(at), 0, 0, 0
	s.Epoch++
}

func (s *Session) addTransfer(t Transfer) { s.Transfers = appendLast(s.Transfers, t, maxTransfers) }

// appendLast returns a copy of the last elements of list and e: at most limit elements.
func appendLast[E any](list []E, e E, limit int) []E {
	return append(slices.Clone(list[max(0, len(list)-(limit-1)):]), e)
}

// at returns ErrMovedOn if the session has another epoch.
func (s *Session) at(epoch uint64) error {
	if s.Epoch != epoch {
		return fmt.Errorf("%w: from epoch %d to %d", ErrMovedOn, epoch, s.Epoch)
	}
	return nil
}

// heldBy returns a refusal if the agent does not have the session.
func (s *Session) heldBy(op, agentID string) error {
	if err := domains.CheckID("agent", agentID); err != nil {
		return err
	}
	if !s.Held() {
		return s.notNow(op)
	}
	if s.AgentID != agentID {
		return ErrNotHolder
	}
	return nil
}

func checkQueue(id string) error { return domains.CheckIDs(map[string]string{"queue": id}) }

// checkWhy validates the requester and the reason of a transfer.
func checkWhy(by, reason string) error {
	return cmp.Or(domains.CheckIDs(map[string]string{"requester": by}), domains.CheckText("reason", reason, maxReason))
}

// move changes the status as the table says for op, unless one of the checks failed or the table forbids it.
func (s *Session) move(op string, checks ...error) error {
	if err := cmp.Or(checks...); err != nil {
		return err
	}
	to, ok := transitions.Next(op, string(s.Status), "")
	if !ok {
		return s.notNow(op)
	}
	s.Status = Status(to)
	return nil
}

func (s *Session) notNow(op string) error {
	if s.Status == Closed {
		return ErrClosed
	}
	return fmt.Errorf("%w: no %s while it is %s", ErrNotNow, op, s.Status)
}
