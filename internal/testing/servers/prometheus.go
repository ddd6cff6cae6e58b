package servers

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// StartPrometheus starts a Prometheus with this configuration, in YAML. It keeps its files in dir, and ends with
// ctx. It returns once the server answers queries, which may be before its first scrape.
func StartPrometheus(ctx context.Context, dir, config string) (*Server, error) {
	return prometheusLaunch(dir, config).start(ctx)
}

func prometheusLaunch(dir, config string) launch {
	return launch{
		program: "prometheus",
		dir:     dir,
		ports:   1,
		args: func(s *Server) ([]string, error) {
			file := filepath.Join(dir, "prometheus.yml")
			return []string{
				"--config.file", file, "--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address", s.Addr,
			}, os.WriteFile(file, []byte(config), 0o600)
		},
		ready: prometheusReady,
	}
}

// prometheusReady looks for the folder in the flags, which identifies the started server.
func prometheusReady(ctx context.Context, s *Server) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	get := func(path string) (string, bool) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Addr+path, nil)
		if err != nil {
			return "", false
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return "", false
		}
		body, err := io.ReadAll(resp.Body)
		return string(body), err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
	}
	flags, ok := get("/api/v1/status/flags")
	if !ok || !strings.Contains(flags, fmt.Sprintf("%q", filepath.Join(s.launch.dir, "data"))) {
		return false
	}
	_, ok = get("/-/ready")
	return ok
}

// Promtool returns the path of promtool, which comes with Prometheus, or skips the test like a missing server
// does.
func Promtool(t TB) string {
	t.Helper()
	path, err := find("promtool", systemDirs())
	missing(t, err, "with promtool")
	return path
}
