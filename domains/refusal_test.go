package domains_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
)

func TestRefusalOf(t *testing.T) {
	wrapped := fmt.Errorf("ticket %q: %w", "7", fmt.Errorf("%w: 3 of 3", errTooLoud))
	require.ErrorIs(t, wrapped, errTooLoud)
	assert.Same(t, errTooLoud, domains.RefusalOf(wrapped))
	assert.Same(t, errTooLoud, domains.RefusalOf(errors.Join(rmw.ErrClosed, errTooLoud)))
	assert.Equal(t, "too_loud", errTooLoud.Code())
	assert.Equal(t, "the ticket is loud enough", errTooLoud.Error())
	assert.NotErrorIs(t, domains.NewRefusal(errTooLoud.Code(), errTooLoud.Error()), errTooLoud, "two refusals are two")
	assert.Nil(t, domains.RefusalOf(nil))
	assert.Nil(t, domains.RefusalOf(rmw.ErrContended))
}
