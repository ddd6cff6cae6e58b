// Package radix has what the tests need of radix v3.
package radix

type CmdAction interface{}

func Cmd(rcv any, cmd string, args ...string) CmdAction       { return nil }
func FlatCmd(rcv any, cmd, key string, args ...any) CmdAction { return nil }
