package live

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/unwatch/unwatch/internal/resp"
)

// askSentinels returns the address of the primary. The first answer wins.
func askSentinels(ctx context.Context, a Address, cfg Config) (Address, error) {
	var all []error
	for _, host := range a.Sentinels {
		to := Address{Host: host, TLS: a.TLS}
		primary, err := askSentinel(ctx, to, a.Primary, cfg)
		if meaning(err) == resp.Password && a.Password != "" {
			to.Username, to.Password = a.Username, a.Password
			primary, err = askSentinel(ctx, to, a.Primary, cfg)
		}
		if err == nil {
			return Address{Host: primary, Username: a.Username, Password: a.Password, TLS: a.TLS}, nil
		}
		all = append(all, fmt.Errorf("sentinel %s: %s", host, clean(err.Error())))
	}
	err := errors.Join(all...)
	return Address{}, &SetupError{Server: a.String(), What: strings.ReplaceAll(err.Error(), "\n", "; "), Err: err}
}

func askSentinel(ctx context.Context, to Address, name string, cfg Config) (string, error) {
	w, err := dial(ctx, to, cfg, func([]string, bool) {}) // counts of a sentinel are not reported
	if err != nil {
		return "", err
	}
	defer w.Close()
	reply, err := w.Do(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", name)
	if err != nil {
		return "", err
	}
	words := reply.Words()
	if len(words) != 2 {
		return "", fmt.Errorf("knows no primary of the name %s", name)
	}
	addr := net.JoinHostPort(words[0], words[1])
	return addr, checkHost(addr)
}

// askSentinelsAgain detects a failover that a partitioned old primary has not noticed.
func (n *node) askSentinelsAgain(ctx context.Context) {
	if n.behind == nil {
		return
	}
	now, err := askSentinels(ctx, *n.behind, n.cfg)
	switch {
	case err != nil:
		n.trouble("may be the primary no more: %s", clean(err.Error()))
	case now.Host != n.addr.Host:
		n.trouble("is the primary no more: the sentinels name %s", now.Host)
	}
}
