package servers

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// StartEtcd starts an etcd of this many members, which keep their files in dir, and returns once a majority
// responds. All end with ctx; after an error none is left. They detect a lost leader
// after 300 ms, a third of the default, so that a lease may be as short as a second.
//
// A restarted member rejoins: a majority has persisted each acknowledged write.
func StartEtcd(ctx context.Context, dir string, members int) ([]*Server, error) {
	ports, err := freePorts(2 * members)
	if err != nil {
		return nil, fmt.Errorf("etcd: no free port: %w", err)
	}
	var names []string
	for i := range members {
		names = append(names, fmt.Sprintf("m%d=http://%s", i, loopback(ports[2*i+1])))
	}
	return startMembers(ctx, dir, "etcd", members, func(i int, folder string) launch {
		return etcdLaunch(folder, i, ports[2*i:2*i+2], strings.Join(names, ","))
	})
}

func etcdLaunch(dir string, number int, ports []int, cluster string) launch {
	return launch{
		program: "etcd",
		dir:     dir,
		ports:   2, // the second is for the other members
		args: func(s *Server) ([]string, error) {
			client, peer := "http://"+s.Addr, "http://"+loopback(s.ports[1])
			return []string{
				"--name", fmt.Sprintf("m%d", number), "--data-dir", dir + "/data", "--initial-cluster", cluster,
				"--listen-client-urls", client, "--advertise-client-urls", client,
				"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
				"--heartbeat-interval", "30", "--election-timeout", "300",
			}, nil
		},
		ready: etcdReady,
		// Each member needs the ports of the others before the first one starts.
		freePorts: func(int) ([]int, error) { return ports, nil },
	}
}

// etcdReady reports whether the member has a leader. A member on a port in use exits.
func etcdReady(ctx context.Context, s *Server) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Addr+"/health", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	return resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
}
