// Package redis is a stand-in for radix before its versions had names.
package redis

// Client is a client.
type Client struct{}

// Reply is an answer.
type Reply struct{}

// Cmd sends.
func (c *Client) Cmd(cmd string, args ...any) *Reply { return nil }

// Append sends later.
func (c *Client) Append(cmd string, args ...any) {}
