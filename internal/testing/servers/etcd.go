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
	return etcdEnsemble(members).start(ctx, dir)
}

func etcdEnsemble(members int) ensemble {
	return ensemble{
		kind:    "etcd",
		members: members,
		ports:   2, // the second is for the other members
		member: func(i int, folder string, ports [][]int) launch {
			var names []string
			for i, p := range ports {
				names = append(names, fmt.Sprintf("m%d=http://%s", i, loopback(p[1])))
			}
			return etcdLaunch(folder, i, strings.Join(names, ","))
		},
		freePorts: freePorts,
	}
}

func etcdLaunch(dir string, number int, cluster string) launch {
	return launch{
		program: "etcd",
		dir:     dir,
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
