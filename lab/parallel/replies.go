package parallel

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/topology"
	"mongofork/lab/virtual"
)

// cursor is what is left of a result.
type cursor struct {
	nonce         int32
	next, n, size int32
	stream        bool
}

// of is what servers understand of a command.
type of struct {
	Nonce, N, Size, Probe int32
	Echo                  bool // the nonce as the count of the documents that a write changed
	Slow                  bool
}

type command struct {
	Filter, Query of
	Pipeline      []struct {
		Match  *of `bson:"$match"`
		Stream any `bson:"$changeStream"`
	}
	BatchSize *int32 `bson:"batchSize"`
	Cursor    struct {
		BatchSize *int32 `bson:"batchSize"`
	}
	GetMore          int64 `bson:"getMore"`
	Cursors          []int64
	Documents        []bson.Raw
	Updates, Deletes []struct{ Q of }
	Ops              []bson.Raw
}

// whose returns the nonce of a command, and reports one that has several, or bytes that are not those of its nonce.
func (s *servers) whose(c virtual.Command) (nonce int32, fine bool) {
	var other int32
	torn := 0
	var look func(doc bson.Raw)
	look = func(doc bson.Raw) {
		elements, err := doc.Elements()
		if err != nil {
			torn++
		}
		for _, e := range elements {
			value := e.Value()
			switch value.Type {
			case bson.TypeEmbeddedDocument:
				look(value.Document())
			case bson.TypeArray:
				look(bson.Raw(value.Array()))
			case bson.TypeInt32:
				if n := value.Int32(); e.Key() == "nonce" && n != nonce {
					nonce, other = n, nonce
				}
			case bson.TypeBinary:
				if _, data := value.Binary(); e.Key() == "pad" && len(data) > 0 {
					if bytes.Count(data, data[:1]) != len(data) || nonce != 0 && data[0] != byte(nonce) {
						torn++
					}
				}
			}
		}
	}
	look(c.Body)
	if other != 0 || torn > 0 || nonce == spoiled || nonce == 0 && slices.Contains(writes, c.Name) {
		s.run.finding("handed in", "the %s that a server got is not as one operation gave it: the driver read what the application "+
			"overwrote after the call, or mixed two operations (nonces %d and %d): %s", c.Name, nonce, other, brief(c.Body))
		return 0, false
	}
	return nonce, true
}

// reply answers a command that is in order.
func (s *servers) reply(c virtual.Command, q *command, nonce int32) bson.Raw {
	match := cmp.Or(q.Filter, q.Query)
	size := q.BatchSize
	for _, stage := range q.Pipeline {
		if stage.Match != nil {
			match = *stage.Match
		}
		size = q.Cursor.BatchSize
	}
	if match.Probe != 0 {
		s.mu.Lock()
		s.probes[c.Host][match.Probe]++
		s.mu.Unlock()
	}
	if match.Slow {
		s.wait(c)
	}
	var fields bson.D
	switch c.Name {
	case "find", "aggregate":
		stream := len(q.Pipeline) > 1 && q.Pipeline[0].Match == nil
		return s.done(nonce, s.batch("firstBatch", &cursor{nonce: nonce, n: match.N, size: match.Size, stream: stream}, 0, size))
	case "getMore":
		s.mu.Lock()
		cur := s.cursors[q.GetMore]
		s.mu.Unlock()
		if cur == nil {
			return virtual.Fail(c, 43)
		}
		return s.done(cur.nonce, s.batch("nextBatch", cur, q.GetMore, q.BatchSize))
	case "killCursors":
		s.mu.Lock()
		for _, id := range q.Cursors {
			delete(s.cursors, id)
		}
		s.mu.Unlock()
		fields = bsondoc.D("cursorsKilled", q.Cursors)
	case "count":
		fields = bsondoc.D("n", nonce)
	case "distinct":
		fields = bsondoc.D("values", bson.A{nonce, pad(nonce, int(match.Size))})
	case "findAndModify":
		fields = bsondoc.D("value", document(nonce, 0, match.Size), "lastErrorObject", bsondoc.D("n", 1, "updatedExisting", true))
	case "insert":
		fields = bsondoc.D("n", int32(len(q.Documents)))
	case "update", "delete":
		all := append(q.Updates, q.Deletes...)
		n := int32(len(all))
		if all[0].Q.Echo {
			n = nonce
		}
		fields = bsondoc.D("n", n, "nModified", n)
	case "ping":
		fields = document(nonce, 0, match.Size)
	case "bulkWrite":
		n := int32(len(q.Ops))
		fields = bsondoc.D("cursor", bsondoc.D("id", int64(0), "ns", "admin.$cmd.bulkWrite", "firstBatch", bson.A{}),
			"nErrors", int32(0), "nInserted", n, "nMatched", int32(0), "nModified", int32(0), "nUpserted", int32(0), "nDeleted", int32(0))
	}
	return s.done(nonce, fields)
}

// document is one of a result.
func document(nonce, i, size int32) bson.D {
	return bsondoc.D("_id", bsondoc.D("nonce", nonce, "i", i), "nonce", nonce, "i", i, "n", nonce, "pad", pad(nonce, int(size)))
}

// batch takes the next documents of a cursor.
func (s *servers) batch(name string, c *cursor, id int64, size *int32) bson.D {
	most := int32(101)
	if size != nil {
		most = *size
	}
	docs := bson.A{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for ; c.next < c.n && int32(len(docs)) < most; c.next++ {
		docs = append(docs, document(c.nonce, c.next, c.size))
	}
	more := c.next < c.n || c.stream
	switch {
	case more && id == 0:
		s.last++
		id = s.last
		s.cursors[id] = c
	case !more:
		delete(s.cursors, id)
		id = 0
	}
	fields := bsondoc.D("id", id, "ns", "db.c", name, docs)
	if c.stream {
		fields = append(fields, bsondoc.D("postBatchResumeToken", bsondoc.D("nonce", c.nonce, "i", c.next))...)
	}
	return bsondoc.D("cursor", fields)
}

// done completes a reply.
func (s *servers) done(nonce int32, fields bson.D) bson.Raw {
	fields = append(bsondoc.D("ok", 1.0, "nonce", nonce), fields...)
	if s.spec.Kind != topology.Standalone {
		now := bson.Timestamp{T: uint32(time.Now().Unix()), I: s.clock.Add(1)}
		fields = append(fields, bsondoc.D("$clusterTime", bsondoc.D("clusterTime", now), "operationTime", now)...)
	}
	return bsondoc.Marshal(fields)
}
