package migration

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// process is a running service.
type process struct {
	url string
	end func()
}

var serving = regexp.MustCompile(`serving http=(\S+)`)

// launch starts a program, and returns when it accepts requests.
func launch(t *testing.T, program string, args ...string) process {
	t.Helper()
	cmd := exec.Command(program, append([]string{"-listen", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), "SERVE=1")
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var log strings.Builder
	addr, drained := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(drained)
		defer close(addr)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			log.WriteString(lines.Text() + "\n")
			if found := serving.FindStringSubmatch(lines.Text()); found != nil {
				addr <- found[1]
			}
		}
	}()
	end := sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		stuck := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		defer stuck.Stop()
		<-drained
		assert.NoError(t, cmd.Wait(), log.String())
	})
	t.Cleanup(end)
	at, ok := <-addr
	if !ok {
		_ = cmd.Process.Signal(os.Kill)
		<-drained
		t.Fatalf("%s does not serve:\n%s", program, log.String())
	}
	return process{url: "http://" + at, end: end}
}

// do sends a request and returns the answer. It may be called on any goroutine.
func (p process) do(t *testing.T, method, path, body string) (status int, answer string) {
	req, err := http.NewRequestWithContext(t.Context(), method, p.url+path, strings.NewReader(body))
	if !assert.NoError(t, err) {
		return 0, ""
	}
	resp, err := http.DefaultClient.Do(req)
	if !assert.NoError(t, err) {
		return 0, ""
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	assert.NoError(t, err)
	return resp.StatusCode, string(raw)
}

// want is do for a request that must succeed.
func (p process) want(t *testing.T, method, path, body string) string {
	t.Helper()
	status, answer := p.do(t, method, path, body)
	assert.Less(t, status, 300, "%s %s: %s", method, path, answer)
	return answer
}
