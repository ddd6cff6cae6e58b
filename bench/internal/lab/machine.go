package lab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/bench/internal/result"
)

// Machine describes this machine. Unknown fields stay empty.
func (l *Lab) Machine(ctx context.Context) result.Machine {
	m := result.Machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU(), Go: runtime.Version(),
	}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(text))
	}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		m.CPU = field(string(text), "model name")
	}
	for _, p := range l.paths {
		if len(p.servers) == 0 {
			continue
		}
		if text, err := p.servers[0].Info(ctx, "server").Result(); err == nil {
			m.Redis = field(text, "redis_version")
		}
	}
	if p := l.paths[Proxy]; p != nil {
		// nutcracker prints its version to stderr and exits with an error.
		text, _ := exec.CommandContext(ctx, fmt.Sprintf("/proc/%d/exe", p.proxy.PID()), "--version").CombinedOutput()
		if _, version, ok := strings.Cut(string(text), "nutcracker-"); ok {
			m.Nutcracker = strings.Fields(version)[0]
		}
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if slices.ContainsFunc(compared(), func(peer string) bool { return strings.HasSuffix(dep.Path, peer) }) {
				m.Peers = append(m.Peers, dep.Path+" "+dep.Version)
			}
		}
	}
	return m
}

// compared returns the ends of the paths of the modules whose versions matter.
func compared() []string {
	return []string{"go-redis/v9", "redsync/v4", "bsm/redislock", "redis/rueidis"}
}

// field returns the value of the first line "name: value".
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
