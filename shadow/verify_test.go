package shadow_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
	"github.com/unwatch/unwatch/shadow"
)

// The verifier ends with its Store, whatever ctx it was given, and what it found stands.
func TestTheVerifierEndsWithTheStore(t *testing.T) {
	for name, end := range map[string]func(s *shadow.Store){
		"closed": func(s *shadow.Store) { _ = s.Close() },
		"killed": func(s *shadow.Store) { s.Kill("the test is over") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := shadow.New(rmwtest.NewMemory(), rmwtest.NewMemory(), shadow.Config{Sole: true})
				_, err := s.Update(t.Context(), counter(1), add)
				require.NoError(t, err)
				require.NoError(t, s.Drain(t.Context()))
				over := make(chan struct{})
				go func() {
					s.VerifyEvery(context.Background(), time.Hour)
					close(over)
				}()
				synctest.Wait()
				end(s)
				synctest.Wait()
				select {
				case <-over:
				default:
					t.Error("it waits for its next round")
				}
				_, err = s.Verify(t.Context())
				require.ErrorIs(t, err, rmw.ErrClosed)
				v := s.Report().Verify
				assert.Equal(t, 1, v.Rounds)
				assert.EqualValues(t, 1, v.Equal)
			})
		})
	}
}

func TestAnInvalidStoreHasNoVerifier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := shadow.New(rmwtest.NewMemory(), rmwtest.NewMemory(), shadow.Config{Workers: -1})
		s.VerifyEvery(context.Background(), time.Hour) // it returns
		require.NoError(t, s.Close())
	})
}
