package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/unwatch/unwatch/internal/testing/servers"
)

// group holds the running servers by kind: "redis", "nutcracker" and "cluster".
type group map[string][]*servers.Server

// start starts all servers of the plan. After an error the group has those that did start.
func (g group) start(ctx context.Context, dir string, p plan) error {
	if p.nutcracker > 0 && p.redis < 2 {
		return errors.New("-nutcracker needs -redis 2 or more: the first stands alone")
	}
	for range p.redis {
		s, err := servers.StartRedis(ctx, dir)
		if err != nil {
			return err
		}
		g["redis"] = append(g["redis"], s)
	}
	for range p.nutcracker {
		s, err := servers.StartNutcracker(ctx, dir, g.backends(), p.connections)
		if err != nil {
			return err
		}
		g["nutcracker"] = append(g["nutcracker"], s)
	}
	if p.cluster == 0 {
		return nil
	}
	var err error
	g["cluster"], err = servers.StartCluster(ctx, filepath.Join(dir, "cluster"), p.cluster)
	return err
}

// backends returns the servers behind every proxy: all Redis servers but the first.
func (g group) backends() []string {
	var addrs []string
	for _, s := range g["redis"][1:] {
		addrs = append(addrs, s.Addr)
	}
	return addrs
}

func (g group) stop() {
	for _, s := range slices.Concat(g["nutcracker"], g["redis"], g["cluster"]) {
		s.Stop()
	}
}

// fill replaces the placeholders in the arguments. Other braces stay: they may be hash tags.
func (g group) fill(args []string) ([]string, error) {
	placeholder := regexp.MustCompile(`\{(redis|nutcracker|cluster)(\d+)\}`)
	var errs []error
	filled := make([]string, len(args))
	for i, arg := range args {
		filled[i] = placeholder.ReplaceAllStringFunc(arg, func(found string) string {
			match := placeholder.FindStringSubmatch(found)
			kind := g[match[1]]
			n, err := strconv.Atoi(match[2])
			if err != nil || n >= len(kind) {
				errs = append(errs, fmt.Errorf("%s: only %d %s started", found, len(kind), match[1]))
				return found
			}
			return kind[n].Addr
		})
	}
	return filled, errors.Join(errs...)
}
