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

// StartPostgres starts a PostgreSQL with an empty database "postgres" for the user "postgres", which needs no
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
	err = postgresRun(ctx, folder, "initdb", "--pgdata", filepath.Join(folder, "data"), "--username", "postgres", "--auth", "trust",
		"--encoding", "UTF8", "--locale", "C", "--no-sync", "--no-instructions")
	return postgresOver(folder, options), err
}

// StartPostgresReplica starts an asynchronous replica of a PostgreSQL, which has the data that the primary had
// at that time, and returns once it answers. It keeps its files in dir, which must not be the one of the
// primary. It needs the options of the primary.
//
// pg_promote() makes it a primary. It then lacks each write that had not arrived, also acknowledged ones.
func StartPostgresReplica(ctx context.Context, dir string, primary *Server, options ...string) (*Server, error) {
	folder, err := subfolder(dir, "postgres", 0)
	if err != nil {
		return nil, err
	}
	// --write-recovery-conf makes it a replica.
	err = postgresRun(ctx, folder, "pg_basebackup", "--pgdata", filepath.Join(folder, "data"), "--write-recovery-conf",
		"--host", "127.0.0.1", "--port", strconv.Itoa(primary.ports[0]), "--username", "postgres",
		"--checkpoint", "fast", "--no-sync", "--no-manifest")
	if err != nil {
		return nil, err
	}
	return postgresOver(folder, options).start(ctx)
}

// postgresRun runs a program of PostgreSQL to its end.
func postgresRun(ctx context.Context, folder, program string, args ...string) error {
	path, err := find(program, systemDirs())
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = folder
	if err := leaveRoot(cmd, folder); err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w:\n%s", program, err, out)
	}
	return nil
}

// postgresOver describes a server over the files in a folder.
func postgresOver(folder string, options []string) launch {
	return launch{
		program: "postgres",
		dir:     folder,
		ports:   1,
		args: func(s *Server) ([]string, error) {
			args := []string{
				"-D", filepath.Join(folder, "data"), "-h", "127.0.0.1", "-p", strconv.Itoa(s.ports[0]), "-c", "unix_socket_directories=",
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
	}
}

// postgresReady reports whether the server admits a client. While it recovers, it answers with an error. A
// server on a port in use exits.
func postgresReady(ctx context.Context, s *Server) bool {
	conn, err := dial(ctx, s.Addr)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write(postgresStartup()); err != nil {
		return false
	}
	answer := make([]byte, 1)
	_, err = conn.Read(answer)
	return err == nil && answer[0] == 'R' // authentication succeeded; an error is 'E'
}

// postgresStartup is the first message of a client.
func postgresStartup() []byte {
	const version3 = 3 << 16
	start := binary.BigEndian.AppendUint32(nil, version3)
	start = append(start, "user\x00postgres\x00database\x00postgres\x00\x00"...)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(start)+4)), start...)
}

// postgresDirs returns the folders in which Debian keeps the programs of PostgreSQL, newest version first.
func postgresDirs() []string {
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is valid
	slices.Sort(dirs)
	slices.Reverse(dirs)
	return dirs
}
