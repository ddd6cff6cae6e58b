package redis

import (
	"context"
	"time"
)

type (
	StringSliceCmd  struct{ baseCmd }
	BoolSliceCmd    struct{ baseCmd }
	KeyValuesCmd    struct{ baseCmd }
	ScanCmd         struct{ baseCmd }
	XStreamSliceCmd struct{ baseCmd }
	TimeCmd         struct{ baseCmd }
	DurationCmd     struct{ baseCmd }
	LCSCmd          struct{ baseCmd }
)

type ZStore struct {
	Keys      []string
	Weights   []float64
	Aggregate string
}

type Sort struct {
	By            string
	Offset, Count int64
	Get           []string
	Order         string
	Alpha         bool
}

type LCSQuery struct {
	Key1, Key2 string
	Len        bool
}

type XReadArgs struct {
	Streams []string
	Count   int64
	Block   time.Duration
	ID      string
}

type XReadGroupArgs struct {
	Group    string
	Consumer string
	Streams  []string
	Count    int64
	Block    time.Duration
	NoAck    bool
}

func (cmdable) BLPop(ctx context.Context, timeout time.Duration, keys ...string) *StringSliceCmd {
	return nil
}
func (cmdable) BRPop(ctx context.Context, timeout time.Duration, keys ...string) *StringSliceCmd {
	return nil
}
func (cmdable) BRPopLPush(ctx context.Context, source, destination string, timeout time.Duration) *StringCmd {
	return nil
}
func (cmdable) BLMove(ctx context.Context, source, destination, srcpos, destpos string, timeout time.Duration) *StringCmd {
	return nil
}
func (cmdable) LMPop(ctx context.Context, direction string, count int64, keys ...string) *KeyValuesCmd {
	return nil
}
func (cmdable) Wait(ctx context.Context, numSlaves int, timeout time.Duration) *IntCmd { return nil }
func (cmdable) XRead(ctx context.Context, a *XReadArgs) *XStreamSliceCmd               { return nil }
func (cmdable) XReadStreams(ctx context.Context, streams ...string) *XStreamSliceCmd   { return nil }
func (cmdable) XReadGroup(ctx context.Context, a *XReadGroupArgs) *XStreamSliceCmd     { return nil }
func (cmdable) XGroupCreate(ctx context.Context, stream, group, start string) *StatusCmd {
	return nil
}

func (cmdable) Keys(ctx context.Context, pattern string) *StringSliceCmd { return nil }
func (cmdable) Scan(ctx context.Context, cursor uint64, match string, count int64) *ScanCmd {
	return nil
}
func (cmdable) Rename(ctx context.Context, key, newkey string) *StatusCmd { return nil }
func (cmdable) Move(ctx context.Context, key string, db int) *BoolCmd     { return nil }
func (cmdable) ObjectEncoding(ctx context.Context, key string) *StringCmd { return nil }

func (cmdable) SInter(ctx context.Context, keys ...string) *StringSliceCmd { return nil }
func (cmdable) SInterStore(ctx context.Context, destination string, keys ...string) *IntCmd {
	return nil
}
func (cmdable) ZUnionStore(ctx context.Context, dest string, store *ZStore) *IntCmd { return nil }
func (cmdable) PFMerge(ctx context.Context, dest string, keys ...string) *StatusCmd { return nil }
func (cmdable) PFCount(ctx context.Context, keys ...string) *IntCmd                 { return nil }
func (cmdable) SMove(ctx context.Context, source, destination string, member any) *BoolCmd {
	return nil
}
func (cmdable) RPopLPush(ctx context.Context, source, destination string) *StringCmd { return nil }
func (cmdable) LMove(ctx context.Context, source, destination, srcpos, destpos string) *StringCmd {
	return nil
}
func (cmdable) Copy(ctx context.Context, sourceKey, destKey string, db int, replace bool) *IntCmd {
	return nil
}
func (cmdable) Unlink(ctx context.Context, keys ...string) *IntCmd                   { return nil }
func (cmdable) Touch(ctx context.Context, keys ...string) *IntCmd                    { return nil }
func (cmdable) SortStore(ctx context.Context, key, store string, sort *Sort) *IntCmd { return nil }
func (cmdable) LCS(ctx context.Context, q *LCSQuery) *LCSCmd                         { return nil }
func (cmdable) Del(ctx context.Context, keys ...string) *IntCmd                      { return nil }
func (cmdable) Exists(ctx context.Context, keys ...string) *IntCmd                   { return nil }
func (cmdable) MGet(ctx context.Context, keys ...string) *SliceCmd                   { return nil }
func (cmdable) MSet(ctx context.Context, values ...any) *StatusCmd                   { return nil }
func (cmdable) HSet(ctx context.Context, key string, values ...any) *IntCmd          { return nil }
func (cmdable) TTL(ctx context.Context, key string) *DurationCmd                     { return nil }
func (cmdable) Info(ctx context.Context, sections ...string) *StringCmd              { return nil }
func (cmdable) Time(ctx context.Context) *TimeCmd                                    { return nil }
func (cmdable) FlushAll(ctx context.Context) *StatusCmd                              { return nil }
func (cmdable) ConfigSet(ctx context.Context, parameter, value string) *StatusCmd    { return nil }
func (cmdable) FCall(ctx context.Context, function string, keys []string, args ...any) *Cmd {
	return nil
}

func (*Client) PSubscribe(ctx context.Context, channels ...string) *PubSub { return nil }
