package redis

import (
	"context"
)

// NetConn stands for net.Conn, without the packages that net imports.
type NetConn interface{ Close() error }

type Options struct {
	Addr            string
	ClientName      string
	Dialer          func(ctx context.Context, network, addr string) (NetConn, error)
	Protocol        int
	DB              int
	DisableIdentity bool
}

type ClusterOptions struct {
	Addrs      []string
	ClientName string
}

type FailoverOptions struct {
	MasterName string
	DB         int
}

type RingOptions struct {
	Addrs map[string]string
	DB    int
}

type UniversalOptions struct {
	Addrs           []string
	ClientName      string
	Protocol        int
	DB              int
	MasterName      string
	DisableIdentity bool
	IsClusterMode   bool
}

type Ring struct{ cmdable }

func (*Ring) Watch(ctx context.Context, fn func(*Tx) error, keys ...string) error { return nil }

type SentinelClient struct{}

func NewClusterClient(opt *ClusterOptions) *ClusterClient                  { return nil }
func NewFailoverClient(failoverOpt *FailoverOptions) *Client               { return nil }
func NewFailoverClusterClient(failoverOpt *FailoverOptions) *ClusterClient { return nil }
func NewSentinelClient(opt *Options) *SentinelClient                       { return nil }
func NewRing(opt *RingOptions) *Ring                                       { return nil }
func NewUniversalClient(opts *UniversalOptions) UniversalClient            { return nil }
func ParseURL(redisURL string) (*Options, error)                           { return nil, nil }

type Conn struct{ cmdable }

func (*Client) Conn() *Conn { return nil }

func (*Conn) Select(ctx context.Context, index int) *StatusCmd { return nil }

func (*SentinelClient) PSubscribe(ctx context.Context, channels ...string) *PubSub { return nil }
