package rmw_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"math/big"
	"net/netip"
	"net/url"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
)

type (
	namedBool   bool
	namedInt    int16
	namedUint   uint8
	namedFloat  float32
	namedString string
	namedBytes  []byte

	marshals   string // MarshalText alone
	unmarshals string // UnmarshalText alone
	texts      int    // both
	scans      int    // ScanRedis alone
	scansText  int    // ScanRedis and both
	binaries   string // UnmarshalBinary alone
	binaryText string // and MarshalText, UnmarshalText
)

func (m marshals) MarshalText() ([]byte, error) { return []byte("<" + m + ">"), nil }
func (m *unmarshals) UnmarshalText(b []byte) error {
	*m = unmarshals("<" + string(b) + ">")
	return nil
}
func (m texts) MarshalText() ([]byte, error) { return fmt.Append(nil, "<", int(m), ">"), nil }
func (m *texts) UnmarshalText(b []byte) error {
	_, err := fmt.Sscanf(string(b), "<%d>", (*int)(m))
	return err
}
func (m *scans) ScanRedis(s string) error        { _, err := fmt.Sscanf(s, "%x", (*int)(m)); return err }
func (m *scansText) ScanRedis(s string) error    { _, err := fmt.Sscanf(s, "%x", (*int)(m)); return err }
func (m scansText) MarshalText() ([]byte, error) { return fmt.Append(nil, int(m)), nil }
func (m *scansText) UnmarshalText(b []byte) error {
	_, err := fmt.Sscan(string(b), (*int)(m))
	return err
}
func (m *binaries) UnmarshalBinary(b []byte) error { *m = binaries("<" + string(b) + ">"); return nil }
func (m *binaryText) UnmarshalBinary([]byte) error { return fmt.Errorf("not binary") }
func (m *binaryText) UnmarshalText(b []byte) error { *m = binaryText(b); return nil }
func (m binaryText) MarshalText() ([]byte, error)  { return []byte(m), nil }

// HashOf writes each type of field so that it and go-redis' Scan read what was written,
// or refuses it when the codec is made.
func TestHashOfAgreesWithScan(t *testing.T) {
	agree(t, true, false, true)
	agree(t, true, namedBool(true), namedBool(false))
	agree(t, true, int(math.MinInt64), 0, math.MaxInt64)
	agree(t, true, int8(-128), int8(127))
	agree(t, true, int32(-5), int32(math.MaxInt32))
	agree(t, true, namedInt(-300))
	agree(t, true, uint64(math.MaxUint64), uint64(0))
	agree(t, true, namedUint(255))
	agree(t, true, math.SmallestNonzeroFloat64, -0.1, math.Inf(1))
	agree(t, true, float32(0.1), float32(math.MaxFloat32))
	agree(t, true, namedFloat(0.3))
	agree(t, true, "", "a\x00\xffb", "7")
	agree(t, true, namedString("x"))
	agree(t, true, []byte("\x00\xff"))
	agree(t, true, time.Minute)
	agree(t, true, time.Unix(1, 500).UTC())
	agree(t, true, slog.LevelWarn)
	agree(t, true, netip.MustParseAddr("::1"))
	agree(t, true, *big.NewInt(-12345))
	agree(t, true, texts(7))
	agree(t, true, binaryText("x"))

	agree(t, false, namedBytes("x"))
	agree(t, false, json.RawMessage("1"))
	agree(t, false, marshals("x"))
	agree(t, false, unmarshals("x"))
	agree(t, false, scans(16))
	agree(t, false, scansText(16))
	agree(t, false, binaries("x"))
	agree(t, false, url.URL{Host: "h"})
	agree(t, false, uintptr(1))
	agree(t, false, complex(1, 2))
	agree(t, false, [2]byte{1, 2})
	agree(t, false, []string{"x"})
	agree(t, false, map[string]int{"x": 1})
	agree(t, false, new(int))
	agree(t, false, new(time.Time))
	agree(t, false, any("x"))
	agree(t, false, func() {})
	agree(t, false, make(chan int))
	agree(t, false, struct{ A int }{1})
}

func agree[F any](t *testing.T, accepted bool, samples ...F) {
	t.Helper()
	type record struct {
		F F `redis:"f"`
	}
	if !accepted {
		assertUnusable[record](t, "text cannot stand for a")
		return
	}
	codec := rmw.HashOf[record]()
	for _, sample := range samples {
		v, err := codec.Encode(&record{sample}, rmw.Value{})
		require.NoError(t, err)
		var ours, theirs record
		require.NoError(t, codec.Decode(v, &ours))
		require.NoError(t, redis.NewMapStringStringResult(v.Fields(), nil).Scan(&theirs))
		assert.Equal(t, sample, ours.F)
		assert.Equal(t, sample, theirs.F)
	}
}
