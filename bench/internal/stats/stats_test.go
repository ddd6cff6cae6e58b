package stats

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestSpread(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   Spread
	}{
		{nil, Spread{}},
		{[]float64{3}, Spread{3, 3, 3, 1}},
		{[]float64{5, 1, 3}, Spread{3, 1, 5, 3}},
		{[]float64{4, 1, 3, 2}, Spread{2.5, 1, 4, 4}},
	} {
		if got := Of(test.values); got != test.want {
			t.Errorf("Of(%v) = %v, want %v", test.values, got, test.want)
		}
	}
	if !math.IsNaN(Ratio(1, 0)) || Ratio(3, 2) != 1.5 {
		t.Error("Ratio")
	}
}

func TestShort(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.004: "0.00", 1.234: "1.23", 9.994: "9.99", 9.996: "10.0", 12.34: "12.3", 99.94: "99.9",
		99.96: "100", 1234.5: "1,235", 1234567: "1,234,567", -1234: "-1,234", math.NaN(): "-", math.Inf(1): "-",
	} {
		if got := Short(v); got != want {
			t.Errorf("Short(%v) = %s, want %s", v, got, want)
		}
	}
}

func TestQuantilesAreClose(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var one, two Histogram
	var all []time.Duration
	for i := range 10000 {
		d := time.Duration(random.ExpFloat64() * float64(time.Millisecond))
		all = append(all, d)
		if i%2 == 0 {
			one.Add(d)
		} else {
			two.Add(d)
		}
	}
	one.Merge(&two)
	text, err := json.Marshal(one)
	if err != nil {
		t.Fatal(err)
	}
	var h Histogram
	if err := json.Unmarshal(text, &h); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	if h.N() != 10000 {
		t.Fatalf("%d values", h.N())
	}
	for _, q := range []float64{0, 0.5, 0.9, 0.99, 1} {
		want := all[int(q*9999)]
		if got := h.Quantile(q); math.Abs(float64(got-want)) > 0.01*float64(want)+1 {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	if (&Histogram{}).Quantile(0.5) != 0 {
		t.Error("a quantile of nothing")
	}
}
