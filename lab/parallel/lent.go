package parallel

import (
	"bytes"
	"math/rand/v2"
	"reflect"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// loan is what one call hands to the driver. Once the call has returned, each part has to be as it was, and is spoiled: the servers, or the
// race detector, notice a driver that reads it later.
type loan struct {
	run    *run
	chance *rand.Rand
	nonce  int32
	parts  []part
}

type part struct {
	what  string
	value any
	hash  uint64
	spoil func()
}

func (l *loan) lend(what string, value any, spoil func()) {
	l.parts = append(l.parts, part{what, value, digest(value, true), spoil})
}

// back ends the loan.
func (l *loan) back() {
	for _, p := range l.parts {
		l.run.lent.Add(1)
		if digest(p.value, true) != p.hash {
			l.run.finding("handed in", "the driver changed %s that the application handed in: it is now %s", p.what,
				brief(p.value))
		}
	}
	for _, p := range l.parts {
		p.spoil()
	}
}

// spoiled is what nobody sends.
const spoiled = int32(-0x22222223)

func spoilBytes(b []byte) { copy(b, bytes.Repeat([]byte{0xDD}, len(b))) }

func spoilD(doc bson.D) {
	for i, e := range doc {
		switch inner := e.Value.(type) {
		case bson.D:
			spoilD(inner)
		case []byte:
			spoilBytes(inner)
		}
		doc[i] = d("nonce", spoiled)
	}
}

func d(key string, value any) bson.E { return bson.E{Key: key, Value: value} }

// pad is what a server recognizes as a document's of a nonce.
func pad(nonce int32, size int) []byte { return bytes.Repeat([]byte{byte(nonce)}, size) }

// doc returns a document of the call, in any form, with more fields.
func (l *loan) doc(what string, size int, more ...bson.E) any {
	doc := append(bson.D{d("nonce", l.nonce), d("pad", pad(l.nonce, size))}, more...)
	if l.chance.IntN(3) > 0 {
		return l.d(what, doc)
	}
	raw, _ := bson.Marshal(doc)
	room := append(append(make(bson.Raw, 0, len(raw)+40), raw...), pad(7, 40)...)[:len(raw)]
	l.lend(what, room, func() { spoilBytes(room[:cap(room)]) })
	return room
}

// d lends a document in the form that upstream's examples have.
func (l *loan) d(what string, doc bson.D) bson.D {
	l.lend(what, doc, func() { spoilD(doc) })
	return doc
}

// lendAll lends a slice of the application's, with room behind it.
func lendAll[T any](l *loan, what string, all []T) []T {
	all = append(make([]T, 0, len(all)+3), all...)
	l.lend(what, all, func() { clear(all[:cap(all)]) })
	return all
}

// lendOptions lends options, a builder of upstream's. It must not be applied after the call.
func lendOptions[T any](l *loan, built T) T {
	list := reflect.ValueOf(built).Elem().FieldByName("Opts")
	l.lend("options", nil, func() {
		for i := range list.Len() {
			list.Index(i).Set(reflect.MakeFunc(list.Type().Elem(), func([]reflect.Value) []reflect.Value {
				l.run.finding("handed in", "the driver applied options after the call that got them had returned: %T",
					built)
				return []reflect.Value{reflect.Zero(reflect.TypeFor[error]())}
			}))
		}
	})
	return built
}

// removing is a document that, while the driver encodes it, removes the models that the application handed in beside it, which upstream
// has copied by then.
type removing struct {
	doc    bson.D
	models []mongo.WriteModel
}

func (r removing) MarshalBSON() ([]byte, error) {
	clear(r.models)
	return bson.Marshal(r.doc)
}
