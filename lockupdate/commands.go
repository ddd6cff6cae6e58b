package lockupdate

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"
)

// Commands is the part of a client that a Store needs: a way to send one command, and a
// way to send several in one plain pipeline. *redis.Client, *redis.ClusterClient,
// *redis.Ring and redis.UniversalClient have it.
//
// All that is ever sent through it has exactly one key; see [Config.RequiredCommands].
type Commands interface {
	Process(ctx context.Context, cmd redis.Cmder) error
	Pipeline() redis.Pipeliner
}

// String returns the name of the constant, without "Commit".
func (c Commit) String() string {
	switch c {
	case CommitGuarded:
		return "Guarded"
	case CommitIFEQ:
		return "IFEQ"
	case CommitDELIFEQ:
		return "DELIFEQ"
	case CommitVX:
		return "VX"
	case CommitCAS:
		return "CAS"
	}
	return fmt.Sprintf("Commit(%d)", uint8(c))
}

// RequiredCommands returns the name of every command that a Store with this Config may send,
// and of every command its scripts call. A server or proxy has to allow the former; an
// ACL has to allow both.
func (c Config) RequiredCommands() (sent, called []string) {
	switch c.Commit {
	case CommitIFEQ:
		sent = []string{"DELEX", "GET", "GETEX", "PTTL", "SET", "TYPE"}
	case CommitDELIFEQ:
		sent = []string{"DELIFEQ", "GET", "GETEX", "PTTL", "SET", "TYPE"}
	case CommitVX:
		sent = []string{"DELVX", "GET", "PTTL", "SET", "TYPE"}
	case CommitCAS:
		sent = []string{"CAD", "CAS", "GET", "PTTL", "SET", "TYPE"}
	default:
		sent = []string{"EVAL", "EVALSHA"}
		if c.MasterReads {
			sent = append(sent, "GET", "HGETALL")
		}
		called = []string{"DEL", "GET", "HDEL", "HEXISTS", "HGETALL", "HLEN", "HMGET", "HSET", "PERSIST", "PEXPIRE", "PTTL", "SET", "TYPE"}
		if c.NotifyRedisson {
			called = slices.Insert(called, slices.Index(called, "SET"), "PUBLISH")
		}
	}
	if c.MasterReads {
		sent = slices.DeleteFunc(sent, func(command string) bool { return command == "GETEX" })
	}
	if c.LockOnDemand {
		sent = append(sent, "EXISTS")
		slices.Sort(sent)
	}
	return sent, called
}
