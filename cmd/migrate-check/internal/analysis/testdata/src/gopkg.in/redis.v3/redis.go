// Package redis is a stand-in for go-redis v3, whose transactions are functions.
package redis

// Client is a client.
type Client struct{}

// Tx is a transaction.
type Tx struct{}

// Pipeline is a list of commands.
type Pipeline struct{}

// Cmder is a command.
type Cmder interface{ Err() error }

// StatusCmd is a command.
type StatusCmd struct{}

// Watch begins.
func (c *Client) Watch(keys ...string) (*Tx, error) { return nil, nil }

// Pipeline is no transaction.
func (c *Client) Pipeline() *Pipeline { return nil }

// Exec sends.
func (p *Pipeline) Exec() ([]Cmder, error) { return nil, nil }

// Exec sends.
func (t *Tx) Exec(f func() error) ([]Cmder, error) { return nil, nil }

// Unwatch ends.
func (t *Tx) Unwatch(keys ...string) *StatusCmd { return nil }
