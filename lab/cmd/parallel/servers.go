package main

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/virtual"
)

// servers answer commands instead of a database: each reply has the nonce of its command, and documents of that nonce alone.
type servers struct {
	*virtual.Cluster
	run     *run
	kind    shape
	storm   atomic.Bool
	stormed atomic.Bool // a storm has begun
	smaller atomic.Bool // a member has left its set
	clock   atomic.Uint32

	mu      sync.Mutex
	chance  *rand.Rand
	last    int64
	cursors map[int64]*cursor
	probes  map[string]bool // hosts that got a probe, with the client that sent it
	held    []virtual.Command
	release chan struct{} // closed once these need not wait any more
}

// cursor is what is left of a result.
type cursor struct {
	nonce, next, docs, size int32
	stream                  bool
}

// answer is the hook of the cluster.
func (s *servers) answer(c virtual.Command, run func() bson.Raw) bson.Raw {
	switch c.Name {
	case "hello", "isMaster", "ismaster":
		return s.hello(run())
	case "endSessions":
		return run()
	}
	if s.storm.Load() {
		if reply, done := s.trouble(c); done {
			return reply
		}
	}
	q := &asked{numbers: map[string]int32{}}
	if q.read(c.Body); q.wrong() {
		s.run.finding("handed in", "the %s that a server got is not as one operation gave it: the driver read what the "+
			"application overwrote after the call, or mixed two operations: %s", c.Name, brief(c.Body))
		return virtual.Fail(c, 2)
	}
	if q.numbers["slow"] != 0 {
		s.mu.Lock()
		s.held = append(s.held, c)
		s.mu.Unlock()
		<-s.release
	}
	return s.reply(c, q)
}

// waiting returns the slow commands, which wait.
func (s *servers) waiting() []virtual.Command {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.held)
}

// unused returns the hosts that have got no probe of a client.
func (s *servers) unused(client int32) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(s.Hosts(), func(host string) bool { return s.probes[fmt.Sprint(host, client)] })
}

// open reports whether a cursor of an operation is open.
func (s *servers) open(nonce int32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(slices.Collect(maps.Values(s.cursors)), func(c *cursor) bool { return c.nonce == nonce })
}

// hello hides the primary of a set that has none, and a member that has left its set.
func (s *servers) hello(reply bson.Raw) bson.Raw {
	if hosts, is := reply.Lookup("hosts").ArrayOK(); is && s.smaller.Load() {
		values, _ := hosts.Values()
		reply = bsondoc.With(reply, d("hosts", slices.Delete(values, 1, 2)))
	}
	if !s.kind.headless || reply == nil {
		return reply
	}
	reply = bsondoc.With(reply, d("isWritablePrimary", false), d("ismaster", false), d("secondary", true))
	return bsondoc.Rebuild(reply, []string{"primary", "electionId"}, nil)
}

// trouble is what commands meet in a storm.
func (s *servers) trouble(c virtual.Command) (bson.Raw, bool) {
	s.mu.Lock()
	p := s.chance.Float64()
	s.mu.Unlock()
	if p > 0.97 {
		time.Sleep(time.Duration(int(p*100_000)%20) * time.Millisecond)
	}
	switch {
	case p < 0.01:
		return nil, true
	case p < 0.02:
		c.Reset()
		return nil, true
	case p < 0.03:
		return virtual.Fail(c, []int32{91, 189, 11600, 10107, 43, 50}[int(p*100_000)%6]), true
	case p < 0.07:
		s.run.rejected.Add(1)
		return virtual.RequestRate.Reply(), true
	}
	return nil, false
}

// reply answers a command that is in order, with what any command wants.
func (s *servers) reply(c virtual.Command, q *asked) bson.Raw {
	batch, known := s.batch(c, q)
	if !known {
		return virtual.Fail(c, 43)
	}
	nonce, n, size := q.numbers["nonce"], q.statements, q.numbers["size"]
	if q.numbers["echo"] != 0 { // so that the result of a write tells whose it is
		n = nonce
	}
	if c.Name == "find" {
		size = 0
	}
	now := bson.Timestamp{T: uint32(time.Now().Unix()), I: s.clock.Add(1)}
	value := document(nonce, 0, size)
	return bsondoc.Marshal(append(document(nonce, 0, size), bsondoc.D("ok", 1.0, "n", n, "nModified", n, "value", value,
		"cursor", batch, "nErrors", 0, "nInserted", n, "nMatched", 0, "nUpserted", 0, "nDeleted", 0,
		"$clusterTime", bsondoc.D("clusterTime", now), "operationTime", now)...))
}

// document is one of a result.
func document(nonce, i, size int32) bson.D {
	return bsondoc.D("_id", bsondoc.D("nonce", nonce, "i", i), "nonce", nonce, "i", i, "pad", pad(nonce, int(size)))
}

// batch returns the next documents of a cursor, unless that is not known.
func (s *servers) batch(c virtual.Command, q *asked) (bson.D, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if client := q.numbers["probe"]; client != 0 {
		s.probes[fmt.Sprint(c.Host, client)] = true
	}
	left, id, name, docs := &cursor{}, int64(0), "firstBatch", bson.A{}
	switch c.Name {
	case "find", "aggregate":
		left = &cursor{q.numbers["nonce"], 0, q.numbers["docs"], q.numbers["size"], q.stream}
		if last, resumed := q.numbers["i"]; resumed {
			left.next = last + 1
		}
	case "getMore":
		id, name = c.Body.Lookup("getMore").Int64(), "nextBatch"
		if left = s.cursors[id]; left == nil {
			return nil, false
		}
		q.numbers["nonce"] = left.nonce
	case "killCursors":
		killed, _ := c.Body.Lookup("cursors").Array().Values()
		for _, id := range killed {
			delete(s.cursors, id.Int64())
		}
	}
	for most := int(q.numbers["batchSize"]); left.next < left.docs && (most == 0 || len(docs) < most); left.next++ {
		docs = append(docs, document(left.nonce, left.next, left.size))
	}
	switch more := left.next < left.docs || left.stream; {
	case more && id == 0:
		s.last++
		id = s.last
		s.cursors[id] = left
	case !more:
		delete(s.cursors, id)
		id = 0
	}
	return bsondoc.D("id", id, "ns", "db.c", name, docs, "postBatchResumeToken", bsondoc.D("nonce", left.nonce, "i", left.next-1)), true
}

// asked is what a command asks for, wherever it says so: each document of a call has the call's nonce, and may have more such fields.
type asked struct {
	numbers    map[string]int32 // by key: nonce, docs and size of the result, probe, echo, batchSize
	statements int32            // of a write
	stream     bool
	pads       string // what paddings consist of
	torn       bool
}

// read reads a command, or a part of it.
func (q *asked) read(doc bson.Raw) {
	elements, err := doc.Elements()
	q.torn = q.torn || err != nil
	for _, e := range elements {
		key, value := e.Key(), e.Value()
		switch value.Type {
		case bson.TypeEmbeddedDocument:
			q.stream = q.stream || key == "$changeStream"
			q.read(value.Document())
		case bson.TypeArray:
			if list, _ := value.Array().Values(); key == "documents" || key == "updates" || key == "deletes" || key == "ops" {
				q.statements += int32(len(list))
			}
			q.read(bson.Raw(value.Array()))
		case bson.TypeInt32:
			before, is := q.numbers[key]
			q.torn = q.torn || key == "nonce" && is && before != value.Int32()
			q.numbers[key] = value.Int32()
		case bson.TypeBinary:
			if _, data := value.Binary(); key == "pad" && len(data) > 0 {
				q.torn = q.torn || bytes.Count(data, data[:1]) != len(data) || q.pads != "" && q.pads[0] != data[0]
				q.pads = string(data[:1])
			}
		}
	}
}

// wrong reports whether a command has several nonces, or bytes that are not those of its nonce. Writes have a nonce.
func (q *asked) wrong() bool {
	nonce := q.numbers["nonce"]
	return q.torn || nonce == spoiled || nonce == 0 && q.statements > 0 || q.pads != "" && byte(nonce) != q.pads[0]
}
