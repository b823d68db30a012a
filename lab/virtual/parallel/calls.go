package parallel

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"mongofork/lab/virtual/trial"
)

// reads are the kinds of calls that sets without a primary run.
var reads = []string{"find", "findOne", "findClose", "tailable", "countDocuments", "estimatedDocumentCount", "aggregate", "distinct"}

// one makes a call and judges how it ends. All that its commands and their replies have to do with is of its nonce alone.
func (o *round) one(a *application, kept *shelf, chance *rand.Rand, nonce int64) {
	c := trial.Draw(chance, int(2*nonce))
	if o.kind.headless {
		c.Kind, c.Way = reads[chance.IntN(len(reads))], []string{"", "session", "deadline"}[chance.IntN(3)]
	}
	name, given := fmt.Sprint("c", nonce), trial.Call{ID: c.ID + 1}
	l := &loan{run: o.run, chance: chance, nonce: nonce}
	for i := range 7 {
		o.Put("db."+name, append(given.Document(i), l.pad(5000)))
	}
	ctx, wrong := newSpan(chance), error(nil)
	see := func(value any) {
		kept.keep(c.Kind, value, false)
		doc, _ := value.(bson.Raw)
		if of, whole := owner(doc); doc != nil && (!whole || of != 0 && of != nonce) {
			wrong = fmt.Errorf("operation %d, %s %s, got %s", nonce, c.Kind, c.Way, brief(doc))
		}
	}
	result, err := c.Make(ctx.Context, a.collection(name), trial.Hooks{Given: given, Await: time.Millisecond, Wrote: func(int) {},
		Returned: func() {}, In: l.hand, Out: see})
	calm := !o.stormed.Load() && !isLate(err)
	ctx.end()
	l.run.look(l.parts)
	o.operations.Add(1)
	if err != nil {
		kept.keep("an error", err, true)
	} else if see(result); wrong == nil {
		wrong = o.same(c, result, nonce)
	}
	switch {
	case wrong != nil:
		o.finding("reply", "the reply belongs to another command: %v", wrong)
	case ctx.ended && err == nil:
		o.finding("context", "a call succeeds although its context had ended before")
	case !ctx.free:
		o.cancelled.Add(1)
	case errors.Is(err, context.Canceled) && !a.leaving.Load():
		o.finding("context", "a call ends as cancelled although nobody cancelled its context: %v", err)
	case err != nil && calm:
		o.finding("failure", "%s %s fails although its context lasts and nothing is wrong with any server: %v", c.Kind, c.Way, err)
	case calm && o.Cursors("db."+name) > 0:
		o.finding("left", "a cursor of %s is open at the server although all was read, or it was closed, without an error", c.Kind)
	}
	o.Drop("db." + name)
}

// ids are numbers that are not the same in all results.
var ids = regexp.MustCompile(`\d{13,}`)

// same compares a result with that of the first such call, but for the nonces.
func (r *run) same(c trial.Call, result any, nonce int64) error {
	if _, is := result.(bson.Raw); is || c.Kind == "watch" { // what was inserted when, and of what size, is by chance
		return nil
	}
	text := ids.ReplaceAllStringFunc(fmt.Sprintf("%+v", result), func(id string) string {
		n, _ := strconv.ParseInt(id, 10, 64)
		return strconv.FormatInt(n-nonce*perNonce, 10)
	})
	first, there := r.results.LoadOrStore(fmt.Sprint(c.Kind, c.Way, c.N), text)
	if there && first != text {
		return fmt.Errorf("operation %d, %s %s of %d, returned %s, and another one %s", nonce, c.Kind, c.Way, c.N, text, first)
	}
	return nil
}

// isLate reports whether an error may be that of a slow machine.
func isLate(err error) bool {
	return mongo.IsTimeout(err) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &topology.WaitQueueTimeoutError{}) ||
		errors.As(err, &topology.ServerSelectionError{})
}

// span is the context of a call.
type span struct {
	context.Context
	end   context.CancelFunc // after the call
	free  bool               // nothing ends it during the call
	ended bool               // it had ended before the call
}

// own is a context of an application's own type.
type own struct {
	context.Context // whose values it has
	done            chan struct{}
}

func (o own) Done() <-chan struct{} { return o.done }

func (o own) Err() error {
	select {
	case <-o.done:
		return context.Canceled
	default:
		return nil
	}
}

// newContext returns a context of some form that can be cancelled.
func newContext(chance *rand.Rand) (context.Context, context.CancelFunc) {
	switch chance.IntN(3) {
	case 0:
		ctx := own{context.Background(), make(chan struct{})}
		return ctx, sync.OnceFunc(func() { close(ctx.done) })
	case 1:
		return context.WithTimeout(context.Background(), time.Hour)
	}
	return context.WithCancel(context.Background())
}

// newSpan returns a context, one in seven of which ends sooner than its call may. Others are cancelled once the call has returned, when
// another one has its connection, or never end.
func newSpan(chance *rand.Rand) (s span) {
	s.Context, s.end = newContext(chance)
	soon := time.Duration(chance.Int64N(int64(4 * time.Millisecond)))
	switch what := chance.IntN(35); {
	case what == 0:
		s.end()
		s.ended = true
	case what == 1:
		ctx, stop := context.WithTimeout(s.Context, soon)
		above := s.end
		s.Context, s.end = ctx, func() { stop(); above() }
	case what < 5:
		time.AfterFunc(soon, s.end)
	case what < 10:
		s.end()
		s.Context, s.free = context.WithoutCancel(s.Context), true
	default:
		s.free = true
	}
	return s
}
