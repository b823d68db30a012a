package parallel

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

func newRun(out *strings.Builder) *run {
	return &run{out: out, start: time.Now(), findings: map[string]int{}}
}

// TestDigest: what changes anywhere in a value changes its digest, also where no other package may look.
func TestDigest(t *testing.T) {
	t.Parallel()
	hidden := errors.Join(errors.New("a"), errors.New("b"))
	n, list := int64(1), []string{"a", "b", "c"}
	value := map[string]any{"hidden": hidden, "n": &n, "list": list[:2], "at": time.Unix(5, 0), "raw": bson.Raw{1, 2}, "f": 1.5, "ok": true}
	before := digest(value, false)
	assert.Equal(t, before, digest(value, false))
	list[2] = "x"
	assert.Equal(t, before, digest(value, false), "behind the end")
	for name, change := range map[string]func(){
		"pointer": func() { n++ }, "element": func() { list[1] = "y" }, "bytes": func() { value["raw"].(bson.Raw)[1]++ },
		"time": func() { value["at"] = time.Unix(6, 0) }, "entry": func() { delete(value, "f") }, "bool": func() { value["ok"] = false },
		"error": func() { value["hidden"] = errors.Join(errors.New("a"), errors.New("c")) },
	} {
		change()
		after := digest(value, false)
		assert.NotEqual(t, before, after, name)
		before = after
	}
	room := []byte{1, 2, 3, 4}
	before = digest(room[:2], true)
	room[3]++
	assert.NotEqual(t, before, digest(room[:2], true), "room")
}

// TestKeep: what changes is found, and so is room that belongs to something else.
func TestKeep(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := &shelf{run: newRun(&out)}
	servers := []description.Server{{Addr: "a"}, {Addr: "b"}}
	s.keep("the list", servers, false)
	s.keep("its start", servers[:1], true)
	s.close()
	assert.Contains(t, out.String(), "the list: a []description.Server changed after")
	assert.Equal(t, 1, s.run.findings["handed over"])
	assert.Equal(t, description.Server{}, servers[1])

	s.keep("bytes", []byte{1, 2, 3}[:2], true)
	for range mostItems {
		s.keep("nothing", nil, true)
	}
	s.close()
	assert.Equal(t, 1, s.run.findings["handed over"])
}

// TestLoan: a part that has changed is found, and afterwards all are overwritten.
func TestLoan(t *testing.T) {
	t.Parallel()
	for range 40 {
		var out strings.Builder
		l := &loan{run: newRun(&out), chance: rand.New(rand.NewPCG(rand.Uint64(), 1)), nonce: 77}
		doc := l.hand(bson.D{d("_id", 1), d("call", 1)})
		list := l.hand([]any{doc, 1})
		opts := l.hand(options.Find().SetLimit(1)).(*options.FindOptionsBuilder)
		before := digest(doc, false)
		l.run.look(l.parts)
		assert.Empty(t, out.String())
		assert.NotEqual(t, before, digest(doc, false))
		assert.Equal(t, []any{nil, nil}, list)
		require.NoError(t, opts.Opts[0](&options.FindOptions{}))
		assert.Contains(t, out.String(), "the driver applied options after the call had returned")

		doc = l.hand(bson.D{d("_id", 1), d("call", 1)})
		switch doc := doc.(type) {
		case bson.Raw:
			doc[:cap(doc)][cap(doc)-1]++
		case bson.D:
			doc[0].Key = "id"
		}
		l.parts = l.parts[len(l.parts)-1:]
		l.run.look(l.parts)
		assert.Contains(t, out.String(), "changed after it had been handed over")
	}
}

// TestRun runs all kinds of deployments with the driver that go.mod requires.
func TestRun(t *testing.T) { // alone, because it looks for goroutines that are left
	var out strings.Builder
	assert.Zero(t, Run(t.Context(), Options{Seed: 1, Duration: time.Second}, &out), out.String())
	assert.Regexp(t, `1 rounds, [1-9]\d+ operations, [1-9]`, out.String())
}
