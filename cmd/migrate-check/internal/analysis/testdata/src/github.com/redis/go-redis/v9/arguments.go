package redis

import (
	"context"
	"time"
)

type SetArgs struct {
	Mode         string
	TTL          time.Duration
	ExpireAt     time.Time
	Get, KeepTTL bool
	MatchValue   any
	MatchDigest  uint64
}

type Z struct {
	Score  float64
	Member any
}

type ZAddArgs struct {
	NX, XX, LT, GT, Ch bool
	Members            []Z
}

type ZRangeArgs struct {
	Key                 string
	Start, Stop         any
	ByScore, ByLex, Rev bool
	Offset, Count       int64
}

type XAddArgs struct {
	Stream        string
	NoMkStream    bool
	MaxLen, Limit int64
	MinID, ID     string
	Values        any
}

func (cmdable) SetArgs(ctx context.Context, key string, value any, a SetArgs) *StatusCmd { return nil }
func (cmdable) LPopCount(ctx context.Context, key string, count int) *StringSliceCmd     { return nil }
func (cmdable) LPushX(ctx context.Context, key string, values ...any) *IntCmd            { return nil }
func (cmdable) ZAddArgs(ctx context.Context, key string, args ZAddArgs) *IntCmd          { return nil }
func (cmdable) ZAddGT(ctx context.Context, key string, members ...Z) *IntCmd             { return nil }
func (cmdable) ZRangeArgs(ctx context.Context, z ZRangeArgs) *StringSliceCmd             { return nil }
func (cmdable) XAdd(ctx context.Context, a *XAddArgs) *StringCmd                         { return nil }
func (cmdable) ExpireNX(ctx context.Context, key string, expiration time.Duration) *BoolCmd {
	return nil
}
