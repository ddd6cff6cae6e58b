package servers

import (
	"fmt"
	"net"
	"testing"
)

// A foreign proxy on the port accepts, too. Only the statistics of the pool identify the started proxy.
func TestForeignNutcrackerIsNotReady(t *testing.T) {
	tests := map[string]struct {
		stats string
		want  bool
	}{
		"ours":                 {`{"service":"nutcracker","ours":{"client_eof":1}}`, true},
		"reached another":      {`{"service":"nutcracker","ours":{"client_eof":0}}`, false},
		"statistics elsewhere": {`{"service":"nutcracker","another":{"client_eof":1}}`, false},
		"no statistics":        {`-ERR unknown command`, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := &Server{Addr: answering(t, ""), ports: []int{0, portOf(t, answering(t, test.stats))}}
			if got := nutcrackerReady(t.Context(), s, "ours"); got != test.want {
				t.Errorf("ready = %v, want %v", got, test.want)
			}
		})
	}
}

// answering listens, and sends the same text to every client.
func answering(t *testing.T, text string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed at the end of the test
			}
			_, _ = fmt.Fprint(conn, text)
			_ = conn.Close()
		}
	}()
	return l.Addr().String()
}
