// Package radix has what the tests need of radix v4.
package radix

import "context"

type Action interface{}

type Cluster struct{}

type ClusterConfig struct{}

func (cfg ClusterConfig) New(ctx context.Context, clusterAddrs []string) (*Cluster, error) {
	return nil, nil
}

type Dialer struct{ SelectDB string }

type PoolConfig struct{ Dialer Dialer }

type EvalScript struct{}

func NewEvalScript(script string) EvalScript { return EvalScript{} }

func (es EvalScript) Cmd(rcv any, keys []string, args ...string) Action { return nil }
