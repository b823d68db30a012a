package mongo

import (
	"fmt"
	"io"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// modelServer is a server that executes writes, each of the document with the number of the write as its _id, and ends its commands
// as a plan says. It keeps what it executed, and what it told.
type modelServer struct {
	t        testing.TB
	plan     []commandEnd // of the write commands, in the order in which they come first
	executed map[int]int  // how often, by the number of the write
	commands []*modelCommand
	replies  map[int64]bson.D // of retryable writes, by their numbers
	results  []any            // which a getMore is for
}

// newModel returns a server that ends commands by a plan, and the script that it answers.
func newModel(t *testing.T, plan ...commandEnd) (*modelServer, *scripted.Script) {
	m := &modelServer{t: t, plan: plan, executed: map[int]int{}, replies: map[int64]bson.D{}}
	return m, lasting(t, m.answer)
}

// modelCommand is a command that may have come several times.
type modelCommand struct {
	name    string
	body    bson.Raw
	writes  []int
	kinds   []string
	end     commandEnd
	ordered bool
	// attempts is how often it came, and last how it ended then: "executed", "rejected", "closed", "failed" or "stopped".
	attempts int
	last     string

	told *modelReply // the last reply by which the client knows that it was executed
	// open is whether it was perhaps executed, and no reply says so.
	open bool
	// results is how the reading of its results ended, if the plan wants that: "rejected" or "closed"; reads is how often that was
	// tried.
	results string
	reads   int
}

// modelReply is what the server said of a command that it executed.
type modelReply struct {
	done, failed []int
	unread       bool // the write errors were in results that did not come
	concern      int
}

// commandEnd is how attempts of a command end.
type commandEnd struct {
	name   string
	answer func(*modelServer, *modelCommand) any
}

func (e commandEnd) String() string { return e.name }

// answer answers a command.
func (m *modelServer) answer(body bson.Raw) any {
	name := must(body.IndexErr(0))(m.t)
	switch name.Key() {
	case "insert", "update", "delete", "bulkWrite":
		c := m.command(name.Key(), body)
		c.attempts++
		return c.end.answer(m, c)
	case "getMore":
		return m.getMore()
	}
	return scripted.OK()
}

// command returns the command that the server has got again, or a new one.
func (m *modelServer) command(name string, body bson.Raw) *modelCommand {
	c := &modelCommand{name: name, body: body, ordered: true}
	if ordered, ok := body.Lookup("ordered").BooleanOK(); ok {
		c.ordered = ordered
	}
	for _, field := range []string{"documents", "updates", "deletes", "ops"} {
		array, ok := body.Lookup(field).ArrayOK()
		if !ok {
			continue
		}
		for _, value := range must(array.Values())(m.t) {
			kind, doc := name, value.Document()
			if field == "ops" {
				kind = doc.Index(0).Key()
			}
			for _, inner := range []string{"document", "filter", "q"} {
				if found, ok := doc.Lookup(inner).DocumentOK(); ok {
					doc = found
				}
			}
			number, ok := doc.Lookup("_id").AsInt64OK()
			require.True(m.t, ok, "%v", value)
			c.writes, c.kinds = append(c.writes, int(number)), append(c.kinds, kind)
		}
	}
	if last := len(m.commands) - 1; last >= 0 && fmt.Sprint(m.commands[last].writes) == fmt.Sprint(c.writes) {
		m.commands[last].body = body
		return m.commands[last]
	}
	c.end = commandEnd{name: "accepted", answer: accepted}
	if n := len(m.commands); n < len(m.plan) {
		c.end = m.plan[n]
	}
	m.commands = append(m.commands, c)
	return c
}

// execute executes the writes that do not fail, unless it has done so before, and returns the reply.
func (m *modelServer) execute(c *modelCommand, fails map[int]int) bson.D {
	number, retryable := c.body.Lookup("txnNumber").AsInt64OK()
	_, inTransaction := c.body.Lookup("autocommit").BooleanOK()
	retryable = retryable && !inTransaction
	if reply, ok := m.replies[number]; ok && retryable {
		return reply
	}
	var reply modelReply
	errs, upserted, results := bson.A{}, bson.A{}, []any{}
	counts := map[string]int32{}
	for i, write := range c.writes {
		if code := fails[i]; code != 0 {
			reply.failed = append(reply.failed, write)
			says := fmt.Sprint("write error ", code)
			failure := bson.D{{Key: "code", Value: code}, {Key: "errmsg", Value: says}, {Key: "errInfo", Value: bson.D{}}}
			errs = append(errs, append(bson.D{{Key: "index", Value: i}}, failure...))
			results = append(results, append(bson.D{{Key: "ok", Value: 0}, {Key: "idx", Value: i}}, failure...))
			if c.ordered {
				break
			}
			continue
		}
		m.executed[write]++
		reply.done = append(reply.done, write)
		result := bson.D{{Key: "ok", Value: 1}, {Key: "idx", Value: i}, {Key: "n", Value: 1}}
		kind := c.kinds[i]
		if kind == "update" && write%2 == 1 { // an upsert
			kind = "upsert"
			upserted = append(upserted, bson.D{{Key: "index", Value: i}, {Key: "_id", Value: write}})
			result = append(result, bson.E{Key: "upserted", Value: bson.D{{Key: "_id", Value: write}}})
		}
		counts[kind]++
		if errorsOnly, _ := c.body.Lookup("errorsOnly").BooleanOK(); !errorsOnly {
			results = append(results, result)
		}
	}
	doc := scripted.OK(bson.E{Key: "n", Value: int32(len(reply.done))}, bson.E{Key: "nModified", Value: counts["update"]})
	if c.name == "bulkWrite" {
		m.results = results
		doc = scripted.OK(
			bson.E{Key: "nErrors", Value: int32(len(errs))}, bson.E{Key: "nInserted", Value: counts["insert"]},
			bson.E{Key: "nMatched", Value: counts["update"]}, bson.E{Key: "nModified", Value: counts["update"]},
			bson.E{Key: "nUpserted", Value: counts["upsert"]}, bson.E{Key: "nDeleted", Value: counts["delete"]},
			firstBatch(0, results...),
		)
	} else {
		doc = append(doc, bson.E{Key: "writeErrors", Value: errs}, bson.E{Key: "upserted", Value: upserted})
	}
	c.told = &reply
	m.replies[number] = doc
	return doc
}

// say is the reply of a command that was executed.
func (m *modelServer) say(c *modelCommand, fails map[int]int, more ...bson.E) any {
	doc := append(append(bson.D{}, m.execute(c, fails)...), more...)
	c.last, c.open = "executed", false
	c.told.concern = 0
	return doc
}

func (m *modelServer) concern(c *modelCommand, code int, fails map[int]int, labels ...string) any {
	doc := m.say(c, fails, concernError(code), bson.E{Key: "errorLabels", Value: labels})
	c.told.concern = code
	return doc
}

func (m *modelServer) reject(c *modelCommand) any {
	c.last = "rejected"
	return scripted.Rejected()
}

// hang closes the connection.
func (m *modelServer) hang(c *modelCommand) any {
	c.last, c.open = "closed", c.told == nil
	return io.ErrUnexpectedEOF
}

// hangAfter executes the command before.
func (m *modelServer) hangAfter(c *modelCommand) any {
	before := c.told
	m.execute(c, nil)
	c.told = before
	return m.hang(c)
}

func accepted(m *modelServer, c *modelCommand) any { return m.say(c, nil) }

// getMore is the reply to the getMore of the last command's results.
func (m *modelServer) getMore() any {
	c := m.commands[len(m.commands)-1]
	c.reads++
	switch c.results {
	case "rejected":
		return scripted.Rejected()
	case "closed":
		return io.ErrUnexpectedEOF
	}
	return scripted.OK(nextBatch(0, m.results...))
}

// concern91 is the reply of a server that executes the command, and then shuts down.
func (m *modelServer) concern91(c *modelCommand) any {
	return m.concern(c, 91, nil, driver.RetryableWriteError)
}

// failing is the end of a command some of whose writes fail, with these codes.
func failing(codes map[int]int) func(*modelServer, *modelCommand) any {
	return func(m *modelServer, c *modelCommand) any { return m.say(c, codes) }
}

// once is an end of the first attempt, and another of those that follow.
func once(first, rest func(*modelServer, *modelCommand) any) func(*modelServer, *modelCommand) any {
	return func(m *modelServer, c *modelCommand) any {
		if c.attempts == 1 {
			return first(m, c)
		}
		return rest(m, c)
	}
}

// commandEnds are all ends.
var commandEnds = []commandEnd{
	{"accepted", accepted},
	{"duplicate", failing(map[int]int{1: 11000})},
	{"first is a duplicate", failing(map[int]int{0: 11000})},
	{"all are duplicates", failing(map[int]int{0: 11000, 1: 11000})},
	{"duplicate, concern 64", func(m *modelServer, c *modelCommand) any { return m.concern(c, 64, map[int]int{0: 11000}, "Unsure") }},
	{"concern 64", func(m *modelServer, c *modelCommand) any { return m.concern(c, 64, nil, "Unsure") }},
	{"concern 91", (*modelServer).concern91},
	{"concern 91 once", once((*modelServer).concern91, accepted)},
	{"concern 91, closed", once((*modelServer).concern91, (*modelServer).hang)},
	{"rejected once", once((*modelServer).reject, accepted)},
	{"rejected", (*modelServer).reject},
	{"rejected, concern 91, rejected", func(m *modelServer, c *modelCommand) any {
		if c.attempts == 2 {
			return m.concern91(c)
		}
		return m.reject(c)
	}},
	{"closed, rejected", once((*modelServer).hangAfter, (*modelServer).reject)},
	{"closed once before", once((*modelServer).hang, accepted)},
	{"closed once after", once((*modelServer).hangAfter, (*modelServer).again)},
	{"closed before", (*modelServer).hang},
	{"closed after", (*modelServer).hangAfter},
	{"error 13", func(_ *modelServer, c *modelCommand) any {
		c.last = "failed"
		return scripted.Failure(13)
	}},
	{"stopped", func(m *modelServer, c *modelCommand) any { // in the midst of the command
		c.last, c.open = "stopped", c.told == nil
		if c.attempts == 1 {
			m.executed[c.writes[0]]++
		}
		return scripted.ShuttingDown()
	}},
	{"one is rejected", failing(map[int]int{1: 462})},
	{"results late", func(m *modelServer, c *modelCommand) any { return m.late(c, "") }},
	{"results rejected", func(m *modelServer, c *modelCommand) any { return m.late(c, "rejected") }},
	{"results closed", func(m *modelServer, c *modelCommand) any { return m.late(c, "closed") }},
}

// again is the reply from the history of retryable writes.
func (m *modelServer) again(c *modelCommand) any {
	doc := m.execute(c, nil)
	c.told, c.open, c.last = &modelReply{done: c.writes}, false, "executed"
	return doc
}

// late is the reply of a command of which a write fails, and whose results come with a getMore, which may fail.
func (m *modelServer) late(c *modelCommand, results string) any {
	doc := m.say(c, map[int]int{0: 11000})
	if c.name != "bulkWrite" {
		return doc
	}
	c.results, c.told.unread = results, results != ""
	return with(doc.(bson.D), "cursor", firstBatch(7).Value)
}
