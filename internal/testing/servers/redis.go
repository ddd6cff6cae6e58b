package servers

import (
	"context"
	"strconv"
)

// StartRedis starts a redis-server that keeps its files in dir and persists nothing. It returns once the
// server answers; the server ends with ctx. The options are those of redis-server: "--maxmemory", "1mb".
// With "--appendonly", "yes", "--appendfsync", "always" it persists every write, also across
// [Server.Restart].
func StartRedis(ctx context.Context, dir string, options ...string) (*Server, error) {
	return redisLaunch(dir, options).start(ctx)
}

func redisLaunch(dir string, options []string) launch {
	return launch{
		program: "redis-server",
		dir:     dir,
		ports:   1,
		args: func(s *Server) ([]string, error) {
			args := []string{
				"--port", strconv.Itoa(s.ports[0]), "--bind", "127.0.0.1", "--dir", dir,
				"--save", "", "--appendonly", "no", "--daemonize", "no",
			}
			return append(args, options...), nil
		},
		ready: redisReady,
	}
}

// redisReady checks PING and the process id, which identifies the started server.
func redisReady(ctx context.Context, s *Server) bool {
	c, err := connect(ctx, s.Addr)
	if err != nil {
		return false
	}
	defer c.Close()
	if pong, err := c.Do(ctx, "PING"); err != nil || pong.Word() != "PONG" {
		return false
	}
	reply, err := c.Do(ctx, "INFO", "server")
	return err == nil && info(reply)["process_id"] == strconv.Itoa(s.PID())
}
