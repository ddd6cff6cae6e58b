package domains_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// Stock is how many of an article there are.
type Stock struct {
	domains.Header
	ID   string `json:"id"`
	Left int    `json:"left"`
}

// Check implements [domains.Entity].
func (s *Stock) Check() error {
	if s.Left < 0 {
		return errors.New("less than nothing is left")
	}
	return domains.CheckID("stock", s.ID)
}

var (
	errNoStock = domains.NewRefusal("no_stock", "there is no such article")
	errStock   = domains.NewRefusal("stock_exists", "there is such an article already")
	errSoldOut = domains.NewRefusal("sold_out", "nothing is left")
)

// Take sells one.
func (s *Stock) Take() error {
	if s.Left == 0 {
		return errSoldOut
	}
	s.Left--
	return nil
}

// An answer is lost. The same Op sent again sells nothing twice.
func Example() {
	ctx := context.Background()
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

	memory := rmwtest.NewMemory() // cas.New(...) or lockupdate.New(...)
	stocks := domains.NewRepository[Stock, *Stock](memory, domains.Config[Stock]{
		Name:    "stock",
		Key:     func(id string) rmw.Key { return rmw.Key{Name: "stock:" + id} },
		Codec:   domains.CodecOf[Stock, *Stock](domains.Hash, nil),
		Absent:  errNoStock,
		Present: errStock,
	})
	_, err := stocks.Create(ctx, "tea", domains.NewOp(now), func(s *Stock) error {
		s.ID, s.Left = "tea", 2
		return nil
	})
	fmt.Println("create:", err)

	memory.Arm(2, rmwtest.Fault{Kind: rmwtest.ReplyLost}) // the second command is the commit
	op := domains.NewOp(now)
	_, err = stocks.Edit(ctx, "tea", op, (*Stock).Take)
	fmt.Println("unknown:", errors.Is(err, rmw.ErrOutcomeUnknown))
	s, err := stocks.Edit(ctx, "tea", op, (*Stock).Take)
	fmt.Println("again:", s.Left, "left", err)

	// Another Op is another sale. Two steps are one change, or none.
	_, err = stocks.Edit(ctx, "tea", domains.NewOp(now), func(s *Stock) error {
		return domains.Steps(s.Take, s.Take)
	})
	fmt.Println(domains.RefusalOf(err).Code()+":", err)
	s, err = stocks.Get(ctx, "tea")
	fmt.Println("still:", s.Left, "left", err)
	// Output:
	// create: <nil>
	// unknown: true
	// again: 1 left <nil>
	// sold_out: stock "tea": nothing is left
	// still: 1 left <nil>
}
