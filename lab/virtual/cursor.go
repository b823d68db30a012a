package virtual

import (
	"context"
	"sort"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/servererror"
	"mongofork/lab/internal/topology"
)

// cursor is what is left of a query's result, or a change stream.
type cursor struct {
	id              int64
	host, namespace string
	rest            []bson.Raw
	stream          bool
	stays           bool // open without a rest: a change stream, or a tailable cursor
	next            int  // of a change stream: the number of its next event
}

// open returns the first batch of a result, and keeps the rest. A single batch is the last one.
func (s *store) open(q *query, c cursor) result {
	c.host, c.stays = q.host, c.stream || q.Tailable
	size := q.Cursor.BatchSize
	switch {
	case q.Command == "find":
		size = q.BatchSize
	case q.Command == "bulkWrite" && s.opts.Batch > 0:
		size = 1
	}
	first := c.take(s.events, size)
	if (len(c.rest) > 0 || c.stays) && !q.SingleBatch {
		s.lastCursor++
		c.id = s.lastCursor
		s.cursors[c.id] = &c
		if s.spec.Kind == topology.LoadBalanced {
			context.AfterFunc(q.ctx, func() { // with its connection
				s.mu.Lock()
				defer s.mu.Unlock()
				delete(s.cursors, c.id)
			})
		}
	}
	if q.ReadConcern.Level == "snapshot" && q.transaction == nil {
		return c.batch("firstBatch", first, bsondoc.D("atClusterTime", now())...)
	}
	return c.batch("firstBatch", first)
}

// take removes the next documents of a cursor, which are those of a change stream's events if it is one.
func (c *cursor) take(events []event, size int) (docs []bson.Raw) {
	if !c.stream {
		n := min(size, len(c.rest))
		docs, c.rest = c.rest[:n], c.rest[n:]
		return docs
	}
	for ; c.next < len(events) && len(docs) < size; c.next++ {
		if events[c.next].namespace == c.namespace {
			docs = append(docs, events[c.next].doc)
		}
	}
	return docs
}

// batch returns a reply with documents.
func (c *cursor) batch(name string, docs []bson.Raw, more ...bson.E) result {
	if c.stream {
		more = append(more, bsondoc.D("postBatchResumeToken", resumeToken(c.next))...)
	}
	return bsondoc.D("cursor", append(bsondoc.D("id", c.id, "ns", c.namespace, name, append([]bson.Raw{}, docs...)), more...))
}

// getMore returns the next batch of a cursor. If there is none yet, it waits for events, while the client does.
func (s *store) getMore(q *query) (result, *failure) {
	waiting, stop := context.WithTimeout(q.ctx, time.Duration(q.MaxTime)*time.Millisecond)
	defer stop()
	for {
		c := s.cursors[q.GetMore]
		if c == nil || c.host != q.host {
			return nil, servererror.Errorf(43, "cursor id %d not found", q.GetMore)
		}
		docs := c.take(s.events, q.BatchSize)
		if len(docs) > 0 || !c.stays || waiting.Err() != nil {
			if len(c.rest) == 0 && !c.stays {
				delete(s.cursors, c.id)
				c.id = 0
			}
			return c.batch("nextBatch", docs), nil
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-waiting.Done():
		}
		s.mu.Lock()
	}
}

func (s *store) killCursors(q *query) (result, *failure) {
	for _, id := range q.Cursors {
		delete(s.cursors, id)
	}
	none := bson.A{}
	return bsondoc.D("cursorsKilled", q.Cursors, "cursorsNotFound", none, "cursorsAlive", none, "cursorsUnknown", none), nil
}

// event is a change that change streams report.
type event struct {
	namespace string
	doc       bson.Raw
}

func resumeToken(next int) bson.D { return bsondoc.D("next", int64(next)) }

// report adds an event. The store is locked.
func (s *store) report(namespace, kind string, id bson.RawValue) {
	database, collection, _ := strings.Cut(namespace, ".")
	s.events = append(s.events, event{namespace, bsondoc.Marshal(bsondoc.D("_id", resumeToken(len(s.events)+1), "operationType", kind,
		"clusterTime", now(), "ns", bsondoc.D("db", database, "coll", collection), "documentKey", bsondoc.D("_id", id)))})
	close(s.changed)
	s.changed = make(chan struct{})
}

// watch opens a change stream.
func (s *store) watch(q *query, stage bson.Raw) (result, *failure) {
	c := cursor{namespace: q.namespace(), stream: true, next: len(s.events)}
	for _, key := range []string{"resumeAfter", "startAfter"} {
		if next, ok := stage.Lookup(key, "next").AsInt64OK(); ok {
			c.next = int(next)
		}
	}
	if t, i, ok := stage.Lookup("startAtOperationTime").TimestampOK(); ok {
		at := bson.Timestamp{T: t, I: i}
		c.next = sort.Search(len(s.events), func(n int) bool {
			t, i := s.events[n].doc.Lookup("clusterTime").Timestamp()
			return !bson.Timestamp{T: t, I: i}.Before(at)
		})
	}
	return s.open(q, c), nil
}

// Cursors returns how many cursors are open.
func (c *Cluster) Cursors() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.cursors)
}
