package rediscalls

import (
	"go/types"
	"strings"
)

// goRedis resolves a function or method of go-redis.
func (f *finder) goRedis(c *Call) bool {
	name, sig := c.Func.Name(), c.Func.Signature()
	recv := receiver(sig)
	if recv == "" {
		// NewCmd(ctx, "GET", key); before v8 without a ctx.
		if strings.HasPrefix(name, "New") && sig.Variadic() && sig.Results().Len() == 1 && isCmd(sig.Results().At(0).Type()) {
			return f.byName(c, sig.Params().Len()-1)
		}
		return false
	}
	pipeline := strings.HasPrefix(recv, "Pipeline") || recv == "pipeline"
	switch name {
	case "Watch":
		c.Commands = []string{"WATCH"}
		return true
	case "TxPipeline", "TxPipelined":
		if pipeline {
			return false // it continues the pipeline
		}
		return transaction(c)
	case "Pipeline", "Pipelined":
		if recv == "Tx" && c.Library.Major <= 6 {
			return transaction(c)
		}
		return false
	case "Exec", "Discard":
		return false // of a pipeline, which was found where it was made
	case "Subscribe", "PSubscribe", "SSubscribe", "Unsubscribe", "PUnsubscribe", "SUnsubscribe":
		c.Commands = []string{strings.ToUpper(name)}
		return true
	case "Do":
		skip := sig.Params().Len() - 1 // a ctx, or none
		return sig.Variadic() && f.byName(c, skip)
	}
	if sig.Results().Len() != 1 || !isCmd(sig.Results().At(0).Type()) {
		return false
	}
	command, ok := commandOf(name)
	if !ok {
		return false
	}
	c.Commands = []string{command}
	return true
}

func transaction(c *Call) bool {
	c.How, c.Commands = Transaction, []string{"MULTI", "EXEC"}
	return true
}

// redigo resolves a function or method of redigo.
func (f *finder) redigo(c *Call) bool {
	name, sig := c.Func.Name(), c.Func.Signature()
	if receiver(sig) == "PubSubConn" {
		switch name {
		case "Subscribe", "PSubscribe", "Unsubscribe", "PUnsubscribe":
			c.Commands = []string{strings.ToUpper(name)}
			return true
		}
		return false
	}
	switch name {
	case "Do", "Send", "DoContext", "SendContext", "DoWithTimeout":
	default:
		return false
	}
	// Behind the connection, the ctx, or the time: the first text is the command.
	for i := range sig.Params().Len() {
		if basic, ok := sig.Params().At(i).Type().(*types.Basic); ok && basic.Kind() == types.String {
			return f.byName(c, i)
		}
	}
	return false // of a Script
}

// rueidis resolves a method of the builders of rueidis and valkey-go.
func (f *finder) rueidis(c *Call) bool {
	name := c.Func.Name()
	if receiver(c.Func.Signature()) != "Builder" {
		return false
	}
	if name == "Arbitrary" {
		return f.byName(c, 0)
	}
	command, ok := commandOf(name)
	if !ok {
		return false
	}
	c.How, c.Commands = Builder, []string{command}
	return true
}

// radix resolves a function or method of radix.
func (f *finder) radix(c *Call) bool {
	name, sig := c.Func.Name(), c.Func.Signature()
	switch {
	case name == "Cmd" && receiver(sig) != "": // v2
		return f.byName(c, 0)
	case name == "PipeAppend" && receiver(sig) != "":
		return f.byName(c, 0)
	case (name == "Cmd" || name == "FlatCmd") && sig.Recv() == nil: // behind the receiver
		return f.byName(c, 1)
	}
	if strings.HasPrefix(receiver(sig), "PubSub") || strings.HasPrefix(receiver(sig), "SubClient") {
		switch name {
		case "Subscribe", "PSubscribe", "Unsubscribe", "PUnsubscribe":
			c.Commands = []string{strings.ToUpper(name)}
			return true
		}
	}
	return false
}

// receiver is the name of the type that a method is of; "" if it is none.
func receiver(sig *types.Signature) string {
	if sig.Recv() == nil {
		return ""
	}
	t := types.Unalias(sig.Recv().Type())
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	if named, ok := t.(*types.Named); ok {
		return named.Obj().Name()
	}
	return "?"
}
