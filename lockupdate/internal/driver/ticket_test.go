package driver

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A caller that has claimed its commands may build them again, to refuse them, and replies may still come. The Ticket stays
// claimed, and tells the end of the flush.
func TestClaimedTicketEndsWithItsFlush(t *testing.T) {
	cmds := []*Command{PTTL("a"), PTTL("b"), PTTL("c")}
	ticket := NewTicket(cmds)
	for _, c := range cmds {
		c.Build(context.Background(), false)
	}
	ticket.Sent()
	cmds[0].Replied()
	require.Len(t, ticket.Claim(cmds), 3)
	cmds[0].Build(context.Background(), false)
	assert.Equal(t, Claimed, ticket.State())
	for _, c := range cmds {
		c.Replied()
	}
	assert.Equal(t, Claimed, ticket.State())
	ticket.Finish()
	<-cmds[0].FirstEnded()
}
