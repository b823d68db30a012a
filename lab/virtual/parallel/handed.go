package parallel

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// item is a value that one side of the driver's API got from the other, and that has to stay as it was.
type item struct {
	what  string
	value any
	hash  uint64
	room  bool   // what is behind its slices may be overwritten
	spoil func() // of what was handed in: overwrites it
}

// look compares values with what they were, and spoils those that were handed in.
func (r *run) look(items []item) {
	for _, i := range items {
		if i.room {
			overwriteRoom(i.value)
		}
	}
	for _, i := range items {
		if digest(i.value, i.spoil != nil) != i.hash {
			r.finding("handed over", "%s: a %T changed after it had been handed over: %s", i.what, i.value, brief(i.value))
		}
	}
	for _, i := range items {
		if i.spoil != nil {
			i.spoil()
		}
	}
}

// loan is what one call hands to the driver. Once the call has returned, each part has to be as it was, and is spoiled: the servers, or the
// race detector, notice a driver that reads it later.
type loan struct {
	run    *run
	chance *rand.Rand
	nonce  int64
	parts  []item
}

func (l *loan) lend(value any, spoil func()) {
	l.run.lent.Add(1)
	l.parts = append(l.parts, item{"handed in", value, digest(value, true), false, spoil})
}

// spoiled is what nobody sends.
const spoiled = int64(1) << 62

func spoilBytes(b []byte) { copy(b, bytes.Repeat([]byte{0xDD}, len(b))) }

func spoilD(doc bson.D) {
	for i, e := range doc {
		switch inner := e.Value.(type) {
		case bson.D:
			spoilD(inner)
		case []byte:
			spoilBytes(inner)
		}
		doc[i] = d("call", spoiled)
	}
}

func d(key string, value any) bson.E { return bson.E{Key: key, Value: value} }

// pad returns a field that tells whose it is, of a size: most are small.
func (l *loan) pad(most int) bson.E {
	size := l.chance.IntN(400)
	switch n := l.chance.IntN(1000); {
	case n < 2:
		size = 3 << 20
	case n < 20:
		size = 100_000
	case n < 200:
		size = 5000
	}
	return d("pad", bytes.Repeat([]byte{byte(l.nonce)}, min(size, most)))
}

// hand lends what the driver is to get, in any form.
func (l *loan) hand(value any) any {
	switch v := value.(type) {
	case bson.D:
		return l.doc(v)
	case []mongo.WriteModel:
		first := v[0].(*mongo.InsertOneModel)
		first.Document = removing{first.Document, v[1:]}
		return v
	}
	v := reflect.ValueOf(value)
	if v.Kind() == reflect.Slice {
		room := reflect.MakeSlice(v.Type(), v.Len(), v.Len()+3)
		reflect.Copy(room, v)
		l.lend(room.Interface(), func() { room.Slice(0, room.Cap()).Clear() })
		return room.Interface()
	}
	list := v.Elem().FieldByName("Opts") // of a builder of upstream's: options must not be applied after the call
	l.lend(nil, func() {
		for i := range list.Len() {
			list.Index(i).Set(reflect.MakeFunc(list.Type().Elem(), func([]reflect.Value) []reflect.Value {
				l.run.finding("handed in", "the driver applied options after the call had returned: %T", value)
				return []reflect.Value{reflect.Zero(reflect.TypeFor[error]())}
			}))
		}
	})
	return value
}

// doc lends a document: in the form that upstream's examples have, or encoded. What the servers keep has a padding.
func (l *loan) doc(doc bson.D) any {
	switch {
	case doc[0].Key == "$inc":
		doc = append(doc, d("$set", bson.D{l.pad(4 << 20)}))
	case len(doc) > 1:
		doc = append(doc, l.pad(1<<20))
	}
	if l.chance.IntN(3) > 0 {
		l.lend(doc, func() { spoilD(doc) })
		return doc
	}
	raw, _ := bson.Marshal(doc)
	room := append(append(make(bson.Raw, 0, len(raw)+40), raw...), make([]byte, 40)...)[:len(raw)]
	l.lend(room, func() { spoilBytes(room[:cap(room)]) })
	return room
}

// removing is a document that, while the driver encodes it, removes the models that the application handed in beside it, which upstream
// has copied by then.
type removing struct {
	doc    any
	models []mongo.WriteModel
}

func (r removing) MarshalBSON() ([]byte, error) {
	clear(r.models)
	return bson.Marshal(r.doc)
}

// shelf keeps what the driver handed out, and looks at it again later. Each goroutine of the application has one of its own, so that they
// do not wait for each other: what waits shows fewer races.
type shelf struct {
	mu    sync.Mutex
	run   *run
	items []item
	bytes int
}

// What a shelf holds before it looks at all of it.
const mostItems, mostBytes = 2000, 8 << 20

// keep hashes what was handed out, and overwrites the room behind it unless that is the driver's by upstream's habit.
func (s *shelf) keep(what string, value any, room bool) {
	s.run.kept.Add(1)
	if room {
		overwriteRoom(value)
	}
	one := item{what, value, digest(value, false), room, nil}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items = append(s.items, one)
	raw, _ := value.(bson.Raw)
	if s.bytes += len(raw); len(s.items) >= mostItems || s.bytes > mostBytes {
		s.look()
	}
}

// look looks at all, and lets it go. The shelf is locked.
func (s *shelf) look() {
	s.run.look(s.items)
	s.items, s.bytes = nil, 0
}

// close looks at all that is left.
func (s *shelf) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
}

func brief(value any) string {
	text := fmt.Sprintf("%v", value)
	return text[:min(len(text), 300)]
}

var seed = maphash.MakeSeed()

// digest returns a hash of a value and of what it leads to, by 24 pointers, fields and elements at most, except channels, functions, locks
// and what is atomic. With room, it includes the bytes behind the end of byte slices.
func digest(value any, room bool) uint64 {
	return (&walk{room: room}).sum(reflect.ValueOf(value), 24)
}

// overwriteRoom writes behind the end of each slice that a value leads to, as whoever appends to it does.
func overwriteRoom(value any) { (&walk{scribble: true}).sum(reflect.ValueOf(value), 24) }

// walk visits a value. What it does not hash, such as a lock, may change.
type walk struct {
	hash     maphash.Hash
	room     bool
	scribble bool // overwrite the room behind slices
}

// sum returns the hash of a value alone.
func (w *walk) sum(v reflect.Value, depth int) uint64 {
	w.hash.SetSeed(seed)
	w.value(v, depth)
	return w.hash.Sum64()
}

func (w *walk) value(v reflect.Value, depth int) {
	if depth == 0 || !v.IsValid() || strings.HasPrefix(v.Type().PkgPath(), "sync") {
		return
	}
	maphash.WriteComparable(&w.hash, v.Kind())
	switch v.Kind() {
	case reflect.Chan, reflect.Func, reflect.UnsafePointer:
	case reflect.String:
		_, _ = w.hash.WriteString(v.String())
	case reflect.Pointer, reflect.Interface:
		w.value(v.Elem(), depth-1)
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && w.slice(v) {
			return
		}
		for i := range v.Len() {
			w.value(v.Index(i), depth-1)
		}
	case reflect.Map:
		sum := uint64(0) // of the entries, whose order is by chance
		for entries := v.MapRange(); entries.Next(); {
			entry := &walk{room: w.room, scribble: w.scribble}
			sum += 31*entry.sum(entries.Key(), depth-1) ^ entry.sum(entries.Value(), depth-1)
		}
		maphash.WriteComparable(&w.hash, sum)
	case reflect.Struct:
		fields := v.NumField()
		if v.Type() == reflect.TypeFor[time.Time]() {
			fields = 2 // the last one leads to time zones, which all share
		}
		for i := range fields {
			w.value(v.Field(i), depth-1)
		}
	default:
		fmt.Fprint(&w.hash, v)
	}
}

// slice visits what a slice has beside its elements, or all of it if these are bytes, which are read at once, because there are many.
func (w *walk) slice(v reflect.Value) (all bool) {
	maphash.WriteComparable(&w.hash, v.Len())
	if w.scribble && v.Cap() > v.Len() {
		reflect.SliceAt(v.Type().Elem(), v.UnsafePointer(), v.Cap()).Slice(v.Len(), v.Cap()).Clear()
	}
	if all = v.Type().Elem().Kind() == reflect.Uint8; all {
		size := v.Len()
		if w.room {
			size = v.Cap()
		}
		_, _ = w.hash.Write(reflect.SliceAt(reflect.TypeFor[byte](), v.UnsafePointer(), size).Bytes())
	}
	return all
}
