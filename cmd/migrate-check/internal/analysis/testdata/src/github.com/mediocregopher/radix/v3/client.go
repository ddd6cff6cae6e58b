package radix

type (
	ClusterOpt  func()
	SentinelOpt func()
	DialOpt     struct{}
	Cluster     struct{}
	Sentinel    struct{}
	Conn        interface{}
)

func NewCluster(clusterAddrs []string, opts ...ClusterOpt) (*Cluster, error) { return nil, nil }
func NewSentinel(primaryName string, sentinelAddrs []string, opts ...SentinelOpt) (*Sentinel, error) {
	return nil, nil
}
func DialSelectDB(db int) DialOpt                              { return DialOpt{} }
func Dial(network, addr string, opts ...DialOpt) (Conn, error) { return nil, nil }
