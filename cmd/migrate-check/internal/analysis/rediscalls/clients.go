package rediscalls

import (
	"go/types"
	"strings"
)

// resolvers resolve the functions of each client.
var resolvers = map[Name]func(c *Call) (name int, ok bool){
	GoRedis: goRedis, Redigo: redigo, Rueidis: rueidis, Radix: radix, GoZero: goZero, Gredis: gredis,
}

// goRedis resolves a function or method of go-redis. Like the resolvers of other clients it returns the index of the
// argument with the command's name, or -1, and whether the function sends a command at all.
func goRedis(c *Call) (name int, ok bool) {
	method, sig := c.Func.Name(), c.Func.Signature()
	recv := Receiver(c.Func)
	if recv == "" {
		// NewCmd(ctx, "GET", key); before v8 without a ctx.
		if strings.HasPrefix(method, "New") && sig.Variadic() && sig.Results().Len() == 1 && isCmd(sig.Results().At(0).Type()) {
			return sig.Params().Len() - 1, true
		}
		return -1, false
	}
	if recv == "SentinelClient" || c.on == "SentinelClient" { // it talks to a sentinel, never to the proxy
		return -1, false
	}
	pipeline := strings.HasPrefix(recv, "Pipeline") || strings.HasPrefix(c.on, "Pipeline") || recv == "pipeline"
	switch method {
	case "Watch":
		c.Commands = []string{"WATCH"}
		return -1, true
	case "TxPipeline", "TxPipelined":
		if pipeline {
			return -1, false // of the same pipeline
		}
		return -1, transaction(c)
	case "Pipeline", "Pipelined":
		if recv == "Tx" && c.Library.Major <= 6 {
			return -1, transaction(c)
		}
		return -1, false
	case "MultiExec": // v4
		return -1, recv == "Tx" && transaction(c)
	case "Exec", "Discard":
		if (recv == "Multi" || recv == "Tx") && method == "Exec" && sig.Params().Len() == 1 { // v2 and v3
			return -1, transaction(c)
		}
		return -1, false // the call that makes the pipeline is the finding
	case "Do":
		skip := sig.Params().Len() - 1 // a ctx, or none
		return skip, sig.Variadic()
	}
	return -1, subscribes(c) || sig.Results().Len() == 1 && isCmd(sig.Results().At(0).Type()) && named(c, method)
}

func transaction(c *Call) bool {
	c.How, c.Commands = Transaction, []string{"MULTI", "EXEC"}
	return true
}

// redigo resolves a function or method of redigo.
func redigo(c *Call) (name int, ok bool) {
	method, sig := c.Func.Name(), c.Func.Signature()
	if Receiver(c.Func) == "PubSubConn" {
		return -1, subscribes(c)
	}
	switch method {
	case "Do", "Send", "DoContext", "SendContext", "DoWithTimeout":
	case "Put": // of a batch of redis-go-cluster
		if Receiver(c.Func) != "Batch" {
			return -1, false
		}
	default:
		return -1, false
	}
	// The first text is the command, behind the connection, the ctx, or the time. A Script has none.
	return firstText(sig)
}

// rueidis resolves a method of the builders of rueidis and valkey-go.
func rueidis(c *Call) (name int, ok bool) {
	method := c.Func.Name()
	if Receiver(c.Func) != "Builder" {
		return -1, false
	}
	if method == "Arbitrary" {
		return 0, true
	}
	c.How = Builder
	return -1, named(c, method)
}

// radix resolves a function or method of radix.
func radix(c *Call) (name int, ok bool) {
	method, sig := c.Func.Name(), c.Func.Signature()
	switch {
	case method == "Cmd" && Receiver(c.Func) != "": // v2
		return 0, true
	case (method == "PipeAppend" || c.Library.Major < 2 && method == "Append") && Receiver(c.Func) != "": // v2, and before that
		return 0, true
	case (method == "Cmd" || method == "FlatCmd") && sig.Recv() == nil: // behind the receiver
		return 1, true
	}
	if strings.HasPrefix(Receiver(c.Func), "PubSub") || strings.HasPrefix(Receiver(c.Func), "SubClient") {
		return -1, subscribes(c)
	}
	return -1, false
}

// subscribes resolves a method of a subscriber's connection.
func subscribes(c *Call) bool {
	switch c.Func.Name() {
	case "Subscribe", "PSubscribe", "SSubscribe", "Unsubscribe", "PUnsubscribe", "SUnsubscribe":
		c.Commands = []string{strings.ToUpper(c.Func.Name())}
		return true
	}
	return false
}

// goZero resolves a method of go-zero's stores. Each has a variant with a ctx.
func goZero(c *Call) (name int, ok bool) {
	method, sig := strings.TrimSuffix(c.Func.Name(), "Ctx"), c.Func.Signature()
	if Receiver(c.Func) != "Redis" {
		return -1, false
	}
	switch method {
	case "Do":
		return sig.Params().Len() - 1, sig.Variadic()
	case "TxPipeline", "TxPipelined":
		return -1, transaction(c)
	case "ScriptRun": // it sends EVALSHA, no command of SCRIPT
		return -1, false
	}
	return -1, named(c, method)
}

// gredis resolves a method of GoFrame's client.
func gredis(c *Call) (name int, ok bool) {
	method, sig := c.Func.Name(), c.Func.Signature()
	if sig.Recv() == nil {
		return -1, false
	}
	switch method {
	case "Do", "DoVar", "DoWithTimeout", "DoVarWithTimeout", "Send":
		return firstText(sig)
	}
	return -1, subscribes(c) || named(c, method)
}

// named resolves a method that is named after its command.
func named(c *Call, method string) bool {
	command, ok := commandOf(method)
	if ok {
		c.Commands = []string{command}
	}
	return ok
}

// firstText finds the first string parameter.
func firstText(sig *types.Signature) (index int, ok bool) {
	for i := range sig.Params().Len() {
		if basic, ok := sig.Params().At(i).Type().(*types.Basic); ok && basic.Kind() == types.String {
			return i, true
		}
	}
	return -1, false
}

// Receiver is the name of a method's receiver type; "" for a function.
func Receiver(fn *types.Func) string {
	recv := fn.Signature().Recv()
	if recv == nil {
		return ""
	}
	if named := Named(recv.Type()); named != nil {
		return named.Obj().Name()
	}
	return "?"
}
