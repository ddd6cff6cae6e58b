package shadow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/report"
)

// Merge adds up the reports of several processes. See [report.Merge].
func Merge(reports ...*report.Report) (*report.Report, error) { return report.Merge(reports...) }

const (
	publishedFor = 10 * time.Minute // the expiry of a published report
	maxFleet     = 1000             // processes in the list; each restart adds a name
)

// Publish stores the report of this process under the key prefix + ":" + Config.Process,
// and adds the process to the list under prefix, for [Collect]. Both keys expire after ten
// minutes. store may be the legacy path, the candidate path, or any other; a [Store] is an
// error, as it would shadow the report.
func (s *Store) Publish(ctx context.Context, store rmw.Store, prefix string) error {
	if _, is := rmw.As[*Store](store); is {
		return fmt.Errorf("%w: Publish to a shadow.Store would be shadowed; pass one of its two paths", rmw.ErrInvalid)
	}
	var text bytes.Buffer
	if err := s.Report().WriteJSON(&text, s.cfg.Policy); err != nil {
		return err
	}
	key := rmw.Key{Name: prefix + ":" + s.cfg.Process, TTL: publishedFor, Label: "shadow-report"}
	if _, err := store.Update(ctx, key, always(rmw.String(text.String()).WithTTL(publishedFor))); err != nil {
		return err
	}
	list := rmw.Key{Name: prefix, TTL: publishedFor, Label: "shadow-report"}
	_, err := store.Update(ctx, list, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		// The process that published last is at the end; the oldest ones are dropped.
		names := moveLast(strings.Fields(cur.Text()), s.cfg.Process, maxFleet)
		return rmw.String(strings.Join(names, " ")).WithTTL(publishedFor), nil
	})
	return err
}

// Collect reads the reports that the processes of a fleet published under prefix in the
// last ten minutes, and merges them.
func Collect(ctx context.Context, store rmw.Reader, prefix string) (*report.Report, error) {
	list, err := store.Read(ctx, rmw.Key{Name: prefix})
	if err != nil {
		return nil, err
	}
	var reports []*report.Report
	for name := range strings.FieldsSeq(list.Text()) {
		v, err := store.Read(ctx, rmw.Key{Name: prefix + ":" + name})
		if err != nil {
			return nil, err
		}
		if !v.Exists() {
			continue
		}
		r, err := report.Read(strings.NewReader(v.Text()))
		if err != nil {
			return nil, fmt.Errorf("shadow: the report of %.64q: %w", name, err)
		}
		reports = append(reports, r)
	}
	if len(reports) == 0 {
		return nil, errors.New("shadow: no process has published a report under this prefix in the last ten minutes")
	}
	return report.Merge(reports...)
}
