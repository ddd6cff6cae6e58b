package session

import (
	"fmt"
	"slices"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
)

// The operations below compute on the Session they are given, and nothing else. They
// return [rmw.Keep] when there is nothing to change, or a Refusal, and leave the
// Session as it was then. One function given to [Sessions.Edit] may use several;
// see [domains.Steps].

// Escalate asks for an agent where a program has answered so far.
func (s *Session) Escalate(at domains.Time, queueID string) error {
	if err := checkQueue(queueID); err != nil {
		return err
	}
	if err := s.move("Escalate"); err != nil {
		return err
	}
	s.QueuedAt, s.QueueID = s.touch(at), queueID
	return nil
}

// Assign gives a queued session to an agent, provided that it still has the epoch
// that was seen. Whoever calls it has made sure that the agent has room: see package
// desk.
func (s *Session) Assign(at domains.Time, agentID string, epoch uint64) error {
	if err := domains.CheckID("agent", agentID); err != nil {
		return err
	}
	if err := s.at(epoch); err != nil {
		return err
	}
	if err := s.move("Assign"); err != nil {
		return err
	}
	s.handTo(at, agentID)
	s.TakenAt = s.AssignedAt
	return nil
}

// Transfer gives the session from its agent to another, provided that it still has
// the epoch that was seen.
func (s *Session) Transfer(at domains.Time, toAgentID string, epoch uint64, by, reason string) error {
	if err := domains.CheckID("agent", toAgentID); err != nil {
		return err
	}
	if err := checkWhy(by, reason); err != nil {
		return err
	}
	if err := s.at(epoch); err != nil {
		return err
	}
	if s.AgentID == toAgentID {
		return ErrSameAgent
	}
	if err := s.move("Transfer"); err != nil {
		return err
	}
	s.note(Transfer{From: s.AgentID, To: toAgentID, Kind: ToAgent, By: by, At: s.touch(at), Reason: reason})
	s.LastAgentID = s.AgentID
	s.handTo(at, toAgentID)
	return nil
}

// Requeue takes the session from an agent and puts it into a queue. agentID is who
// must have it; empty is whoever does. An empty queueID leaves it in its queue.
func (s *Session) Requeue(at domains.Time, agentID, queueID, by, reason string) error {
	if err := checkWhy(by, reason); err != nil {
		return err
	}
	if err := checkQueue(queueID); err != nil {
		return err
	}
	if !s.Held() {
		return s.notNow("Requeue")
	}
	if agentID != "" && s.AgentID != agentID {
		return ErrNotHolder
	}
	if queueID == "" {
		queueID = s.QueueID
	}
	from := s.AgentID
	if err := s.move("Requeue"); err != nil {
		return err
	}
	s.note(Transfer{From: from, To: queueID, Kind: ToQueue, By: by, At: s.touch(at), Reason: reason})
	s.QueueID = queueID
	s.backToQueue(at)
	return nil
}

// Decline is an agent who does not want the session, or lets it ring out.
func (s *Session) Decline(at domains.Time, agentID string) error {
	if err := s.heldBy("Decline", agentID); err != nil {
		return err
	}
	if err := s.move("Decline"); err != nil {
		return err
	}
	if !slices.Contains(s.Declined, agentID) {
		s.Declined = append(slices.Clone(s.Declined[max(0, len(s.Declined)-(MaxDeclined-1)):]), agentID)
	}
	s.backToQueue(at)
	return nil
}

// Reply notes that the agent has written. The first time, it makes the session
// active.
func (s *Session) Reply(at domains.Time, agentID string) error {
	if err := s.heldBy("Reply", agentID); err != nil {
		return err
	}
	if err := s.move("Reply"); err != nil {
		return err
	}
	s.LastAgentAt = s.touch(at)
	if s.FirstResponseAt == 0 {
		s.FirstResponseAt = s.LastAgentAt
	}
	s.Declined = nil
	return nil
}

// VisitorWrites notes that the visitor has written. It ends being on hold.
func (s *Session) VisitorWrites(at domains.Time) error {
	if err := s.move("VisitorWrites"); err != nil {
		return err
	}
	s.LastVisitorAt, s.HoldAt = s.touch(at), 0
	return nil
}

// Hold sets the session aside until the visitor writes.
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

// Resume takes up a session that is on hold.
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

// SetPriority puts the session before or behind others.
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

// SetMerchant says which merchant the conversation is about.
func (s *Session) SetMerchant(at domains.Time, merchantID string) error {
	if merchantID != "" {
		if err := domains.CheckID("merchant", merchantID); err != nil {
			return err
		}
	}
	if err := s.move("SetMerchant"); err != nil {
		return err
	}
	if s.MerchantID == merchantID {
		return rmw.Keep
	}
	s.MerchantID = merchantID
	s.touch(at)
	return nil
}

// Fence makes sure that whoever has seen the session at epoch, or before, cannot
// change its agent any more.
func (s *Session) Fence(at domains.Time, epoch uint64) error {
	if s.Epoch > epoch {
		return rmw.Keep
	}
	if epoch >= MaxEpoch {
		return fmt.Errorf("%w: there is no epoch after %d", rmw.ErrInvalid, uint64(MaxEpoch))
	}
	if err := s.move("Fence"); err != nil {
		return err
	}
	s.touch(at)
	s.Epoch = epoch + 1
	return nil
}

// handTo makes an agent the one who has the session.
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

func (s *Session) note(t Transfer) {
	s.Transfers = append(slices.Clone(s.Transfers[max(0, len(s.Transfers)-(MaxTransfers-1)):]), t)
}

// at refuses who has seen the session at another epoch.
func (s *Session) at(epoch uint64) error {
	if s.Epoch != epoch {
		return fmt.Errorf("%w: from epoch %d to %d", ErrMovedOn, epoch, s.Epoch)
	}
	return nil
}

// heldBy refuses an agent who does not have the session.
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

// checkWhy looks at who wants a transfer, and why.
func checkWhy(by, reason string) error {
	if err := domains.CheckIDs(map[string]string{"one who wants it": by}); err != nil {
		return err
	}
	return domains.CheckText("reason", reason, MaxReason)
}

// move asks the table whether op may happen now, and follows it.
func (s *Session) move(op string) error {
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
