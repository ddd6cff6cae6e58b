package redis

type Args []any

func (args Args) Add(value ...any) Args { return nil }
func (args Args) AddFlat(v any) Args    { return nil }

type DialOption struct{}

func Dial(network, address string, options ...DialOption) (Conn, error) { return nil, nil }
func DialURL(rawurl string, options ...DialOption) (Conn, error)        { return nil, nil }
func DialDatabase(db int) DialOption                                    { return DialOption{} }
func DialClientName(name string) DialOption                             { return DialOption{} }
func DialPassword(password string) DialOption                           { return DialOption{} }
func NewScript(keyCount int, src string) *Script                        { return nil }
func (*Script) Load(c Conn) error                                       { return nil }
func (*Script) Send(c Conn, keysAndArgs ...any) error                   { return nil }
func (*Script) SendHash(c Conn, keysAndArgs ...any) error               { return nil }
func (*Script) Hash() string                                            { return "" }

type PubSubConn struct{ Conn Conn }

func (PubSubConn) Subscribe(channel ...any) error  { return nil }
func (PubSubConn) PSubscribe(channel ...any) error { return nil }
