package servers

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

// StartMariaDB starts a MariaDB with an empty database "test" that any user may use without a password, and
// returns once it answers. It keeps its files in dir. Options are arguments, as --NAME=VALUE.
//
// It does not survive a crash of the machine, because it does not flush its files to the disk. A restarted
// server has all acknowledged writes.
func StartMariaDB(ctx context.Context, dir string, options ...string) (*Server, error) {
	folder, err := subfolder(dir, "mariadb", 0)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(folder, "data")
	// A database is a folder. The server without tables of grants needs no others.
	if err := os.MkdirAll(filepath.Join(data, "test"), 0o700); err != nil {
		return nil, err
	}
	program, err := find("mariadbd", systemDirs())
	if err != nil {
		return nil, err
	}
	common := []string{
		"--no-defaults", "--datadir=" + data, "--skip-grant-tables", "--skip-log-bin", "--performance-schema=OFF",
		"--innodb-flush-log-at-trx-commit=2", "--innodb-buffer-pool-size=16M", "--innodb-log-file-size=8M",
	}
	if os.Geteuid() == 0 { // or the server refuses to run
		common = append(common, "--user=root")
	}
	// A server that is killed before its first clean end cannot read its files again.
	bootstrap := exec.CommandContext(ctx, program, append(slices.Clone(common), "--bootstrap")...)
	bootstrap.Dir = folder
	if out, err := bootstrap.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("mariadbd --bootstrap: %w:\n%s", err, out)
	}
	return launch{
		program: "mariadbd",
		dir:     folder,
		ports:   1,
		args: func(s *Server) ([]string, error) {
			return slices.Concat(common, []string{
				"--bind-address=127.0.0.1", "--port=" + strconv.Itoa(s.ports[0]), "--skip-name-resolve",
				"--socket=socket", "--pid-file=pid",
			}, options), nil
		},
		ready: mariadbReady,
	}.start(ctx)
}

// mariadbReady reports whether the server greets a client with the version of its protocol, 10. A server on
// a port in use exits.
func mariadbReady(ctx context.Context, s *Server) bool {
	conn, err := dial(ctx, s.Addr)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	greeting := make([]byte, 5) // 4 bytes of length and number before it
	_, err = io.ReadFull(conn, greeting)
	return err == nil && greeting[4] == 10
}
