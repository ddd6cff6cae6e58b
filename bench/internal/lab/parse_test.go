package lab

import (
	"testing"
	"time"
)

func TestInfo(t *testing.T) {
	got, err := parseInfo("# Commandstats\r\ncmdstat_get:calls=3,usec=5,usec_per_call=1.66\r\n" +
		"cmdstat_info:calls=9,usec=1\r\ncmdstat_client|setinfo:calls=2,usec=1\r\ncmdstat_evalsha:calls=4,usec=1\r\n" +
		"# Stats\r\ntotal_net_input_bytes:100\r\ntotal_net_output_bytes:20\r\ntotal_reads_processed:7\r\n" +
		"# CPU\r\nused_cpu_sys:0.25\r\nused_cpu_user:1.5\r\nused_cpu_sys_children:9\r\n")
	if err != nil {
		t.Fatal(err)
	}
	if got.Total() != 7 || got.Calls["get"] != 3 || got.Bytes != 120 || got.Reads != 7 || got.CPU != 1750*time.Millisecond {
		t.Errorf("%+v", got)
	}
	if _, err := parseInfo("total_reads_processed:many\r\n"); err == nil {
		t.Error("no error for what is no number")
	}
}

func TestProc(t *testing.T) {
	if got := parseStat("cpu  1 2 3 1000 50 4 5 60 0 0\ncpu0 1 1 1 1\n"); got != 15*jiffy {
		t.Errorf("the machine: %v", got)
	}
	if got := parseProcess("12 (a b) c) S 1 2 3 4 5 6 7 8 9 10 30 12 0 0 20"); got != 42*jiffy {
		t.Errorf("the process: %v", got)
	}
	for _, text := range []string{"", "cpu 1", "12 (x) S 1"} {
		if parseStat(text) != 0 || parseProcess(text) != 0 {
			t.Errorf("%q was understood", text)
		}
	}
}
