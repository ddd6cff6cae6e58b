// Package redis looks like a client, and needs no other package: to build for another system
// is quick.
package redis

// Tx is a transaction.
type Tx struct{}

// Client is a client.
type Client struct{}

// Watch begins a transaction.
func (*Client) Watch(fn func(*Tx) error, keys ...string) error { return fn(&Tx{}) }

// IntCmd is a reply.
type IntCmd struct{}

// Publish sends a message.
func (*Client) Publish(channel string, message any) *IntCmd { return nil }
