package parallel

import (
	"bytes"
	"math/rand/v2"
	"reflect"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// loan is what one call hands to the driver. Once the call has returned, each part has to be as it was, and is overwritten: the servers, or
// the race detector, notice a driver that reads it later.
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

// back ends the loan. Parts that the application changed itself during the call are only overwritten.
func (l *loan) back() {
	for _, p := range l.parts {
		l.run.lent.Add(1)
		if p.hash != 0 && digest(p.value, true) != p.hash {
			l.run.finding("handed in", "the driver changed %s that the application handed in: it is now %s", p.what, brief(p.value))
		}
	}
	for _, p := range l.parts {
		p.spoil()
	}
}

// shaped is a document in one of its forms in Go.
type shaped struct {
	Nonce int32
	Pad   []byte
	Extra bson.D `bson:",omitempty"`
}

// pad is what a server recognizes as a document's of a nonce.
func pad(nonce int32, size int) []byte { return bytes.Repeat([]byte{byte(nonce)}, size) }

// doc returns a document of the call, in any form, with more fields.
func (l *loan) doc(what string, size int, more ...bson.E) any {
	padding := pad(l.nonce, size)
	d := append(bson.D{{Key: "nonce", Value: l.nonce}, {Key: "pad", Value: padding}}, more...)
	switch l.chance.IntN(4) {
	case 0:
		raw, _ := bson.Marshal(d)
		room := append(append(make([]byte, 0, len(raw)+40), raw...), pad(7, 40)...)[:len(raw)]
		l.lend(what, bson.Raw(room), func() { spoilBytes(room[:cap(room)]) })
		return bson.Raw(room)
	case 1:
		m := bson.M{}
		for _, e := range d {
			m[e.Key] = e.Value
		}
		l.lend(what, m, func() {
			spoilBytes(padding)
			m["nonce"] = spoiled
		})
		return m
	case 2:
		if len(more) == 0 {
			s := &shaped{Nonce: l.nonce, Pad: padding}
			l.lend(what, s, func() {
				spoilBytes(padding)
				s.Nonce = spoiled
			})
			return s
		}
	}
	return l.d(what, d)
}

// d lends a document in the form that upstream's examples have.
func (l *loan) d(what string, d bson.D) bson.D {
	l.lend(what, d, func() { spoilD(d) })
	return d
}

// spoiled is what nobody sends.
const spoiled = int32(-0x22222223)

func spoilBytes(b []byte) {
	for i := range b {
		b[i] = 0xDD
	}
}

func spoilD(d bson.D) {
	for i, e := range d {
		switch inner := e.Value.(type) {
		case bson.D:
			spoilD(inner)
		case []byte:
			spoilBytes(inner)
		}
		d[i] = bson.E{Key: "nonce", Value: spoiled}
	}
}

// lendAll lends a slice of the application's.
func lendAll[T any](l *loan, what string, all []T, changes bool) []T {
	all = append(make([]T, 0, len(all)+3), all...)
	l.lend(what, all, func() { clear(all[:cap(all)]) })
	if changes { // the application itself, during the call
		l.parts[len(l.parts)-1].hash = 0
	}
	return all
}

// lendOptions lends options, a builder of upstream's. It must not be applied after the call.
func lendOptions[T any](l *loan, built T) T {
	list := reflect.ValueOf(built).Elem().FieldByName("Opts")
	l.lend("options", []any{list.Len()}, func() {
		for i := range list.Len() {
			list.Index(i).Set(reflect.MakeFunc(list.Type().Elem(), func([]reflect.Value) []reflect.Value {
				l.run.finding("handed in", "the driver applied options after the call that got them had returned: %T", built)
				return []reflect.Value{reflect.Zero(reflect.TypeFor[error]())}
			}))
		}
	})
	return built
}

// replacing is a document that, while the driver encodes it, replaces the models that the application handed in beside it, which upstream
// has copied by then.
type replacing struct {
	doc    bson.D
	models []mongo.WriteModel
}

func (r replacing) MarshalBSON() ([]byte, error) {
	for i := range r.models {
		r.models[i] = mongo.NewDeleteOneModel().SetFilter(bson.D{{Key: "nonce", Value: spoiled}})
	}
	return bson.Marshal(r.doc)
}
