package session_test

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/session"
)

// rules is a second opinion, which shares no code with the package: the rules of its
// document, as they show in what is stored.
type rules struct{ broken []string }

func (r *rules) want(ok bool, format string, args ...any) {
	if !ok {
		r.broken = append(r.broken, fmt.Sprintf(format, args...))
	}
}

func fits(text string, limit int) bool { return len(text) <= limit && utf8.ValidString(text) }

// brokenBy returns the rules that a session breaks.
func brokenBy(s session.Session) []string {
	r := &rules{}
	states := []string{"bot", "queued", "assigned", "active", "on_hold", "closed"}
	r.want(slices.Contains(states, string(s.Status)), "the status is %q", s.Status)
	busy := s.Status == "assigned" || s.Status == "active" || s.Status == "on_hold"
	r.want(busy == (s.AgentID != ""), "%s, and the agent is %q", s.Status, s.AgentID)
	r.want((s.Status == "closed") == (s.ClosedAt != 0), "%s, and closed at %d", s.Status, s.ClosedAt)
	r.want((s.Status == "closed") == (s.CloseReason != ""), "%s, and closed for %q", s.Status, s.CloseReason)
	r.want(s.Epoch < 1<<53, "the epoch is %d", s.Epoch)

	r.want(s.ID != "", "no id")
	ids := append([]string{
		s.ID, s.TenantID, s.VisitorID, s.RoomID, s.QueueID, s.MerchantID, s.AgentID, s.LastAgentID,
	}, s.Declined...)
	for _, t := range s.Transfers {
		ids = append(ids, t.From, t.To, t.By)
		r.want(fits(t.Reason, 256), "a reason of %d bytes", len(t.Reason))
	}
	for _, id := range ids {
		r.want(fits(id, 128), "an id of %d bytes", len(id))
	}
	r.want(!slices.Contains(s.Declined, ""), "somebody declined who has no id")
	r.want(len(s.Declined) <= 16 && len(s.Transfers) <= 16, "%d declined, %d transfers", len(s.Declined), len(s.Transfers))
	r.want(fits(string(s.CloseReason), 256), "a reason of %d bytes", len(s.CloseReason))

	r.rating(s)
	r.times(s)
	r.header(s.Header)
	return r.broken
}

func (r *rules) rating(s session.Session) {
	if s.Rating == nil {
		return
	}
	r.want(s.Status == "closed", "rated while it is %s", s.Status)
	r.want(s.Rating.Score >= 1 && s.Rating.Score <= 5, "a score of %d", s.Rating.Score)
	r.want(fits(s.Rating.Comment, 4096), "a comment of %d bytes", len(s.Rating.Comment))
	if s.Rating.At != 0 {
		r.want(s.Rating.At >= s.ClosedAt, "rated before it was closed")
		r.want(s.RateUntil == 0 || s.Rating.At <= s.RateUntil, "rated late")
	}
}

// moments are the times of a session, by name. Two that follow each other in a row of
// life are in order.
func moments(s session.Session) map[string]domains.Time {
	return map[string]domains.Time{
		"created": s.CreatedAt, "queued": s.QueuedAt, "taken": s.TakenAt, "assigned": s.AssignedAt,
		"first response": s.FirstResponseAt, "visitor": s.LastVisitorAt, "agent": s.LastAgentAt,
		"hold": s.HoldAt, "resumed": s.ResumedAt, "closed": s.ClosedAt,
	}
}

func (r *rules) times(s session.Session) {
	const end = 253402300799999
	all := []domains.Time{s.UpdatedAt, s.RateUntil, s.ReopenUntil}
	if s.Rating != nil {
		all = append(all, s.Rating.At)
	}
	for _, t := range s.Transfers {
		all = append(all, t.At)
		r.want(t.At == 0 || t.At >= s.CreatedAt, "transferred before it was created")
	}
	for what, t := range moments(s) {
		all = append(all, t)
		if t != 0 {
			r.want(t >= s.CreatedAt, "%s before it was created", what)
			r.want(s.ClosedAt == 0 || t <= s.ClosedAt, "%s after it was closed", what)
		}
	}
	r.want(s.AssignedAt == 0 || s.AssignedAt >= s.QueuedAt, "assigned before it was queued")
	for _, t := range all {
		r.want(t >= 0 && t <= end, "the time %d", t)
	}
}

func (r *rules) header(h domains.Header) {
	r.want(h.Format >= 0 && h.Format <= 1, "the format is %d", h.Format)
	r.want(len(h.Applied) <= 32, "%d operations", len(h.Applied))
	seen := map[string]bool{}
	for _, a := range h.Applied {
		r.want(a.ID != "" && !seen[a.ID], "the operation %q", a.ID)
		seen[a.ID] = true
	}
}

// brokenBetween returns the rules that one operation broke, of those that show in how
// a session changes. before is nil if there was none.
func brokenBetween(op string, before *session.Session, after session.Session) []string {
	r := &rules{}
	if before == nil {
		r.want(after.Version == 1, "a new session has version %d", after.Version)
		r.want(after.HoldAt == 0 && after.AssignedAt == 0, "a new session is somebody's")
		return r.broken
	}
	r.want(after.Version == before.Version+1, "version %d after %d", after.Version, before.Version)

	changes := before.AgentID != after.AgentID || (before.Status == "closed") != (after.Status == "closed") || op == "Fence"
	r.want(changes == (after.Epoch > before.Epoch), "epoch %d after %d", after.Epoch, before.Epoch)
	r.want(op == "Fence" || after.Epoch <= before.Epoch+1, "epoch %d after %d", after.Epoch, before.Epoch)
	r.want(after.Epoch >= before.Epoch, "epoch %d after %d", after.Epoch, before.Epoch)

	r.want(after.UpdatedAt >= before.UpdatedAt, "updated at %d after %d", after.UpdatedAt, before.UpdatedAt)
	r.want(after.CreatedAt == before.CreatedAt, "created again")
	earlier := moments(*before)
	for what, t := range moments(after) {
		r.want(t == 0 || t >= earlier[what], "%s at %d after %d", what, t, earlier[what])
		r.want(t == 0 || t == earlier[what] || t == after.UpdatedAt, "%s at %d, updated at %d", what, t, after.UpdatedAt)
		r.want(t <= after.UpdatedAt, "%s at %d, after it was updated at %d", what, t, after.UpdatedAt)
	}
	r.want(before.FirstResponseAt == 0 || after.FirstResponseAt == before.FirstResponseAt, "a second first response")
	r.want((after.Status == "on_hold") == (after.HoldAt != 0), "%s, and on hold since %d", after.Status, after.HoldAt)
	if before.Rating != nil {
		r.want(after.Status == "closed" && after.Rating != nil && *after.Rating == *before.Rating, "a rating that is not the first")
	}
	if before.AgentID != "" && before.AgentID != after.AgentID {
		r.want(after.LastAgentID == before.AgentID, "%q had it last, not %q", before.AgentID, after.LastAgentID)
	}
	if before.Status == "closed" && after.Status == "closed" {
		same := after
		same.Header, same.Epoch, same.Rating, same.UpdatedAt = before.Header, before.Epoch, before.Rating, before.UpdatedAt
		r.want(fmt.Sprintf("%+v", same) == fmt.Sprintf("%+v", *before), "a closed session has changed")
	}
	return r.broken
}
