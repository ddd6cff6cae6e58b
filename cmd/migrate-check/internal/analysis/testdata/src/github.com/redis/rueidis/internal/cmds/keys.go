package cmds

type Sinter struct{}

type SinterKey struct{}

func (Sinter) Key(key ...string) SinterKey    { return SinterKey{} }
func (SinterKey) Key(key ...string) SinterKey { return SinterKey{} }
func (SinterKey) Build() Completed            { return Completed{} }

type Smove struct{}

type SmoveSource struct{}

type SmoveDestination struct{}

type SmoveMember struct{}

func (Smove) Source(source string) SmoveSource                      { return SmoveSource{} }
func (SmoveSource) Destination(destination string) SmoveDestination { return SmoveDestination{} }
func (SmoveDestination) Member(member string) SmoveMember           { return SmoveMember{} }
func (SmoveMember) Build() Completed                                { return Completed{} }

type Mget struct{}

type MgetKey struct{}

func (Mget) Key(key ...string) MgetKey { return MgetKey{} }
func (MgetKey) Build() Completed       { return Completed{} }

type Mset struct{}

type MsetKeyValue struct{}

func (Mset) KeyValue() MsetKeyValue                                 { return MsetKeyValue{} }
func (MsetKeyValue) KeyValue(key string, value string) MsetKeyValue { return MsetKeyValue{} }
func (MsetKeyValue) Build() Completed                               { return Completed{} }

type Unlink struct{}

type UnlinkKey struct{}

func (Unlink) Key(key ...string) UnlinkKey { return UnlinkKey{} }
func (UnlinkKey) Build() Completed         { return Completed{} }

type Xread struct{}

type XreadBlock struct{}

type XreadStreams struct{}

type XreadKey struct{}

type XreadId struct{}

func (Xread) Block(milliseconds int64) XreadBlock { return XreadBlock{} }
func (Xread) Streams() XreadStreams               { return XreadStreams{} }
func (XreadBlock) Streams() XreadStreams          { return XreadStreams{} }
func (XreadStreams) Key(key ...string) XreadKey   { return XreadKey{} }
func (XreadKey) Id(id ...string) XreadId          { return XreadId{} }
func (XreadId) Build() Completed                  { return Completed{} }

type Blpop struct{}

type BlpopKey struct{}

type BlpopTimeout struct{}

func (Blpop) Key(key ...string) BlpopKey              { return BlpopKey{} }
func (BlpopKey) Timeout(timeout float64) BlpopTimeout { return BlpopTimeout{} }
func (BlpopTimeout) Build() Completed                 { return Completed{} }

type Keys struct{}

type KeysPattern struct{}

func (Keys) Pattern(pattern string) KeysPattern { return KeysPattern{} }
func (KeysPattern) Build() Completed            { return Completed{} }

type Time struct{}

func (Time) Build() Completed { return Completed{} }

func (Builder) Sinter() Sinter { return Sinter{} }
func (Builder) Smove() Smove   { return Smove{} }
func (Builder) Mget() Mget     { return Mget{} }
func (Builder) Mset() Mset     { return Mset{} }
func (Builder) Unlink() Unlink { return Unlink{} }
func (Builder) Xread() Xread   { return Xread{} }
func (Builder) Blpop() Blpop   { return Blpop{} }
func (Builder) Keys() Keys     { return Keys{} }
func (Builder) Time() Time     { return Time{} }
