package servers

import (
	"context"
	"encoding/binary"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

// StartPostgres starts a PostgreSQL with an empty database "postgres" for the user "postgres", who needs no
// password, and returns once it answers. It keeps its files in dir. Options are settings, as NAME=VALUE.
//
// It does not survive a crash of the machine, because it does not flush its files to the disk. A restarted
// server has all acknowledged writes.
func StartPostgres(ctx context.Context, dir string, options ...string) (*Server, error) {
	l, err := postgresLaunch(ctx, dir, options)
	if err != nil {
		return nil, err
	}
	return l.start(ctx)
}

func postgresLaunch(ctx context.Context, dir string, options []string) (launch, error) {
	folder, err := subfolder(dir, "postgres", 0)
	if err != nil {
		return launch{}, err
	}
	data := filepath.Join(folder, "data")
	initdb, err := find("initdb", systemDirs())
	if err != nil {
		return launch{}, err
	}
	cmd := exec.CommandContext(ctx, initdb, "--pgdata", data, "--username", "postgres", "--auth", "trust",
		"--encoding", "UTF8", "--locale", "C", "--no-sync", "--no-instructions")
	cmd.Dir = folder
	if err := leaveRoot(cmd, folder); err != nil {
		return launch{}, fmt.Errorf("initdb: %w", err)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return launch{}, fmt.Errorf("initdb: %w:\n%s", err, out)
	}
	return launch{
		program: "postgres",
		dir:     folder,
		ports:   1,
		args: func(s *Server) ([]string, error) {
			args := []string{
				"-D", data, "-h", "127.0.0.1", "-p", strconv.Itoa(s.ports[0]), "-c", "unix_socket_directories=",
				"-c", "fsync=off", "-c", "shared_buffers=16MB", "-c", "dynamic_shared_memory_type=mmap",
			}
			for _, o := range options {
				args = append(args, "-c", o)
			}
			return args, nil
		},
		ready:   postgresReady,
		lingers: true, // its backends notice the end of the server, but are in groups of their own
		setup:   func(cmd *exec.Cmd) error { return leaveRoot(cmd, folder) },
	}, nil
}

// postgresReady reports whether the server admits a client. While it recovers, it answers with an error. A
// server on a port in use exits.
func postgresReady(ctx context.Context, s *Server) bool {
	conn, err := dial(ctx, s.Addr)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	const version3 = 3 << 16
	start := binary.BigEndian.AppendUint32(nil, version3)
	start = append(start, "user\x00postgres\x00database\x00postgres\x00\x00"...)
	if _, err := conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(start)+4)), start...)); err != nil {
		return false
	}
	answer := make([]byte, 1)
	_, err = conn.Read(answer)
	return err == nil && answer[0] == 'R' // authentication succeeded; an error is 'E'
}

// postgresDirs returns the folders in which Debian keeps the programs of PostgreSQL, newest version first.
func postgresDirs() []string {
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is valid
	slices.Sort(dirs)
	slices.Reverse(dirs)
	return dirs
}
