package domains_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
)

func TestChecksOfTexts(t *testing.T) {
	long, bytes := strings.Repeat(secret, 22), secret+"\xff"
	for name, test := range map[string]struct {
		err  error
		says string
	}{
		"id":            {domains.CheckID("agent", strings.Repeat("a", 128)), ""},
		"no id":         {domains.CheckID("agent", ""), "the id of the agent is empty"},
		"long id":       {domains.CheckID("agent", long), "the id of the agent has 132 bytes, at most 128 are permitted"},
		"id of bytes":   {domains.CheckID("agent", bytes), "the id of the agent is not UTF-8: JSON cannot hold it"},
		"text":          {domains.CheckText("topic", "abc", 3), ""},
		"no text":       {domains.CheckText("topic", "", 0), ""},
		"long text":     {domains.CheckText("topic", long, 131), "the topic has 132 bytes, at most 131 are permitted"},
		"text of bytes": {domains.CheckText("topic", bytes, 100), "the topic is not UTF-8: JSON cannot hold it"},
		"ids":           {domains.CheckIDs(map[string]string{"agent": "", "queue": "q"}), ""},
		"no ids":        {domains.CheckIDs(nil), ""},
		"one id is long": {
			domains.CheckIDs(map[string]string{"agent": "", "queue": long}),
			"the id of the queue has 132 bytes, at most 128 are permitted",
		},
	} {
		if test.says == "" {
			require.NoError(t, test.err, name)
			continue
		}
		require.ErrorIs(t, test.err, rmw.ErrInvalid, name)
		assert.EqualError(t, test.err, "invalid argument: "+test.says, name)
		requireSilent(t, test.err)
	}
}
