package probe

import (
	"context"
	"strings"

	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/internal/serverlimits"
	"github.com/unwatch/unwatch/proxycompat"
)

// askServer identifies the server that stores the keys. A proxy may answer INFO about itself, but not a
// script.
func (p *prober) askServer(ctx context.Context) error {
	replies, outcome, err := p.do(ctx, []string{"INFO"})
	if err != nil {
		return err
	}
	var limits []string
	if outcome == OK {
		p.report.Server, limits = serverOf(text(replies[0]), "INFO"), serverlimits.Of(text(replies[0]))
	}
	replies, outcome, err = p.do(ctx, []string{"EVAL", scriptInfo, "1", p.keys.home(0, "s")})
	if err != nil {
		return err
	}
	if outcome == OK {
		if s := serverOf(text(replies[0]), "EVAL"); s.Version != "" {
			p.report.Server = s
		}
	}
	p.report.Server.Limits = limits
	p.oracle = newOracle(p.report.Server)
	return nil
}

// serverOf parses INFO. Servers other than Redis have a line with their own name, and redis_version for
// compatibility.
func serverOf(info, by string) Server {
	s := Server{By: by}
	for line := range strings.SplitSeq(info, "\n") {
		field, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch field {
		case "redis_version":
			if _, err := proxycompat.ParseVersion(value); err == nil {
				s.Version = clean(value)
			}
		case "redis_mode", "server_mode":
			s.Mode = clean(value)
		case "valkey_version", "pika_version", "kvrocks_version", "dragonfly_version", "camellia_version", "tendis_version":
			s.Product, _, _ = strings.Cut(field, "_")
		}
	}
	switch {
	case s.Version == "" && s.Product == "":
		return Server{}
	case s.Product == "":
		s.Product = "redis"
	}
	return s
}

// text returns the content of a bulk or status reply; empty for others.
func text(r resp.Reply) string {
	content, _ := r.Text()
	return content
}
