package servers

import "testing"

// A SQL server restarts on its port and its files after a kill.
func TestSQLServersRestart(t *testing.T) {
	for name, start := range map[string]func(TB, ...string) *Server{"postgres": Postgres, "mariadb": MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			for range 2 {
				if err := s.Kill(); err != nil {
					t.Fatal(err)
				}
				if postgresReady(t.Context(), s) || mariadbReady(t.Context(), s) {
					t.Fatal("a killed server answers")
				}
				if err := s.Restart(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
