package parallel

import (
	"fmt"
	"hash/maphash"
	"reflect"
	"strings"
	"time"
)

// deep is how far a walk follows pointers, fields and elements.
const deep = 24

var seed = maphash.MakeSeed()

// digest returns a hash of a value and of all that it leads to, except channels, functions, locks and what is atomic. With room, it
// includes the bytes behind the end of byte slices.
func digest(value any, room bool) uint64 {
	return (&walk{room: room}).sum(reflect.ValueOf(value), deep)
}

// overwriteRoom writes behind the end of each slice that a value leads to, as whoever appends to it does.
func overwriteRoom(value any) { (&walk{scribble: true}).sum(reflect.ValueOf(value), deep) }

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
		if !v.IsNil() {
			w.value(v.Elem(), depth-1)
		}
	case reflect.Slice:
		w.slice(v, depth)
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
	case reflect.Array:
		w.elements(v, depth)
	default:
		fmt.Fprint(&w.hash, v)
	}
}

func (w *walk) elements(v reflect.Value, depth int) {
	for i := range v.Len() {
		w.value(v.Index(i), depth-1)
	}
}

// slice visits a slice. Bytes are read at once, because there are many.
func (w *walk) slice(v reflect.Value, depth int) {
	maphash.WriteComparable(&w.hash, v.Len())
	all := reflect.SliceAt(v.Type().Elem(), v.UnsafePointer(), v.Cap())
	if w.scribble && v.Cap() > v.Len() {
		all.Slice(v.Len(), v.Cap()).Clear()
	}
	if v.Type().Elem().Kind() != reflect.Uint8 {
		w.elements(v, depth)
		return
	}
	bytes := reflect.SliceAt(reflect.TypeFor[byte](), v.UnsafePointer(), v.Cap()).Bytes()
	if !w.room {
		bytes = bytes[:v.Len()]
	}
	_, _ = w.hash.Write(bytes)
}
