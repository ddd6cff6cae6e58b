package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// zookeeperJar is Debian's; its manifest names the jars that it needs.
const zookeeperJar = "/usr/share/java/zookeeper.jar"

// zookeeperTick is a quarter of the default. Clients may ask for sessions of one tick to one minute.
const zookeeperTick = 500 * time.Millisecond

// StartZooKeeper starts a ZooKeeper of this many members, which keep their files in dir, and returns once
// all of them serve clients. All end with ctx; after an error none is left. Each is a Java process of 100 MB.
// A tick is half a second, and a session may last from 500 ms to a minute.
//
// A restarted member rejoins: its log survives its process, though not its machine, unless an option is forceSync=yes.
// Options are lines of zoo.cfg, as NAME=VALUE.
func StartZooKeeper(ctx context.Context, dir string, members int, options ...string) ([]*Server, error) {
	if _, err := os.Stat(zookeeperJar); err != nil {
		return nil, fmt.Errorf("zookeeper is %w: %s", ErrMissing, Install)
	}
	return ensemble{
		kind:    "zookeeper",
		members: members,
		ports:   3, // the others are for the other members
		member: func(i int, folder string, ports [][]int) launch {
			settings := slices.Clone(options)
			for i, p := range ports {
				if members > 1 { // one alone votes for nothing
					settings = append(settings, fmt.Sprintf("server.%d=127.0.0.1:%d:%d", i+1, p[1], p[2]))
				}
			}
			return zookeeperLaunch(folder, i+1, strings.Join(settings, "\n"))
		},
		freePorts: freePorts,
	}.start(ctx, dir)
}

func zookeeperLaunch(dir string, id int, settings string) launch {
	return launch{
		program: "java",
		dir:     dir,
		args: func(s *Server) ([]string, error) {
			config, myid := filepath.Join(dir, "zoo.cfg"), filepath.Join(dir, "data", "myid")
			text := fmt.Sprintf(`dataDir=%s
clientPortAddress=127.0.0.1
clientPort=%d
tickTime=%d
initLimit=20
syncLimit=4
minSessionTimeout=500
maxSessionTimeout=600000
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=srvr,conf
%s`, filepath.Dir(myid), s.ports[0], zookeeperTick.Milliseconds(), settings)
			err := errors.Join(
				os.MkdirAll(filepath.Dir(myid), 0o700),
				os.WriteFile(myid, fmt.Append(nil, id), 0o600),
				os.WriteFile(config, []byte(text), 0o600),
			)
			return []string{
				"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx128m", // a small heap that starts fast
				"-Dzookeeper.forceSync=no", "-Dzookeeper.admin.enableServer=false",
				"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
				"-cp", zookeeperJar + ":/usr/share/java/slf4j-simple.jar",
				"org.apache.zookeeper.server.quorum.QuorumPeerMain", config,
			}, err
		},
		ready: func(ctx context.Context, s *Server) bool {
			text, err := zookeeperSays(ctx, s, "conf")
			return err == nil && strings.Contains(text, "dataDir="+dir+"/data/")
		},
	}
}

// ZooKeeperMode returns the part that a member plays: "leader", "follower" or "standalone". The error is not
// nil if the member does not serve clients.
func ZooKeeperMode(ctx context.Context, s *Server) (string, error) {
	text, err := zookeeperSays(ctx, s, "srvr")
	if err != nil {
		return "", err
	}
	_, after, ok := strings.Cut(text, "\nMode: ")
	if !ok {
		return "", fmt.Errorf("zookeeper on %s: %s", s.Addr, strings.TrimSpace(text))
	}
	mode, _, _ := strings.Cut(after, "\n")
	return mode, nil
}

// zookeeperSays returns the answer to one of ZooKeeper's commands of four letters.
func zookeeperSays(ctx context.Context, s *Server, command string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.Addr)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return "", err
	}
	if _, err := io.WriteString(conn, command); err != nil {
		return "", err
	}
	text, err := io.ReadAll(conn)
	return string(text), err
}
