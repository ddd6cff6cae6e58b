package rueidis

type ClientOption struct {
	Sentinel          SentinelOption
	ClientName        string
	ClientSetInfo     []string
	InitAddress       []string
	SelectDB          int
	DisableCache      bool
	AlwaysRESP2       bool
	ForceSingleClient bool
}

type SentinelOption struct{ MasterSet string }

func NewClient(option ClientOption) (client Client, err error) { return nil, nil }
func MustParseURL(str string) ClientOption                     { return ClientOption{} }
