package worker

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// A child ends with its bench.
func TestChildEndsWithItsBench(t *testing.T) {
	job := `{"relay":{"target":"127.0.0.1:1","delay_ns":1}}` + "\n"
	var out bytes.Buffer
	if err := Main(t.Context(), strings.NewReader(job), &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `"addr":"127.0.0.1:`) {
		t.Errorf("said %q", out.String())
	}
}

func TestChildRefusesInvalidJob(t *testing.T) {
	for _, text := range []string{"", "nonsense\n", "{}\n"} {
		var out bytes.Buffer
		err := Main(t.Context(), strings.NewReader(text), &out)
		if err == nil && !strings.Contains(out.String(), `"err"`) {
			t.Errorf("%q was accepted: %s", text, out.String())
		}
	}
}

func TestUnknownImplementationIsRefused(t *testing.T) {
	in, stdin := io.Pipe()
	go func() {
		_, _ = io.WriteString(stdin, `{"update":{"impl":"nobody","keys":[["k"]]}}`+"\n")
		_ = stdin.Close()
	}()
	var out bytes.Buffer
	if err := Main(t.Context(), in, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "no implementation") {
		t.Errorf("said %q", out.String())
	}
}
