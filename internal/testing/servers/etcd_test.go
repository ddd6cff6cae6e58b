package servers

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// kv sends a request to a member's gateway until it answers: a request during a leader election gets no
// answer for seconds.
func kv(t *testing.T, s *Server, method, body string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	err := poll(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.Addr+"/v3/kv/"+method, strings.NewReader(body))
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answered %s: %w", method, resp.Status, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Two of three members accept writes, and the third rejoins after its restart.
func TestEtcdSurvivesLossOfAMember(t *testing.T) {
	all := Etcd(t, 3)
	all[0].Stop()
	kv(t, all[1], "put", `{"key": "aw==", "value": "dg=="}`)
	if err := all[0].Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	kv(t, all[0], "range", `{"key": "aw=="}`)
}
