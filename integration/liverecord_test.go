package integration

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"strings"

	"github.com/unwatch/unwatch/internal/resp"
)

// mayLeave matches all commands that an observation may send to a server.
var mayLeave = regexp.MustCompile(`^(INFO|INFO commandstats|CLIENT LIST|CLIENT SETNAME migrate-check-live-[0-9a-z]{8}|` +
	`ACL WHOAMI|ACL LOG 1000|CLUSTER NODES|MONITOR|SENTINEL GET-MASTER-ADDR-BY-NAME [^ ]+|AUTH [^ ]+( [^ ]+)?)$`)

// recorded opens a connection that panics when another command is sent.
func recorded(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &recorder{Conn: conn}, nil
}

type recorder struct {
	net.Conn
	secret bool // TLS: the content is not visible here
}

const handshake = 0x16

func (r *recorder) Write(p []byte) (int, error) {
	r.secret = r.secret || len(p) > 0 && p[0] == handshake
	for rest := p; !r.secret && len(rest) > 0; {
		n, words, err := resp.ScanCommand(rest, nil, resp.Limits{})
		if err != nil || n == 0 {
			panic(fmt.Sprintf("a look has sent %q", rest))
		}
		args := make([]string, len(words))
		for i, w := range words {
			args[i] = string(w)
		}
		if line := strings.Join(args, " "); !mayLeave.MatchString(line) {
			panic("a look has sent " + line)
		}
		rest = rest[n:]
	}
	return r.Conn.Write(p)
}
