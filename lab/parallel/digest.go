package parallel

import (
	"hash/maphash"
	"math"
	"reflect"
	"time"
)

// deep is how far a walk follows pointers, fields and elements.
const deep = 24

var (
	seed     = maphash.MakeSeed()
	timeType = reflect.TypeFor[time.Time]()
)

// digest returns a hash of a value and of all that it leads to, except channels, functions, locks and what is atomic. With room, it
// includes the bytes behind the end of byte slices.
func digest(value any, room bool) uint64 {
	w := walk{room: room}
	w.hash.SetSeed(seed)
	w.value(reflect.ValueOf(value), deep)
	return w.hash.Sum64()
}

// walk visits a value. What it does not hash, such as a lock, may change.
type walk struct {
	hash     maphash.Hash
	room     bool
	scribble bool // overwrite the room behind slices
}

func (w *walk) number(n uint64) { maphash.WriteComparable(&w.hash, n) }

func (w *walk) value(v reflect.Value, depth int) {
	if depth == 0 || !v.IsValid() || v.Type().PkgPath() == "sync" || v.Type().PkgPath() == "sync/atomic" {
		return
	}
	w.number(uint64(v.Kind()))
	switch v.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16,
		reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		w.number(bits(v))
	case reflect.String:
		w.number(uint64(v.Len()))
		_, _ = w.hash.WriteString(v.String())
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			w.value(v.Elem(), depth-1)
		}
	case reflect.Slice:
		w.slice(v, depth)
	case reflect.Array:
		for i := range v.Len() {
			w.value(v.Index(i), depth-1)
		}
	case reflect.Map:
		sum := uint64(0) // of the entries, whose order is by chance
		for entries := v.MapRange(); entries.Next(); {
			one := walk{room: w.room, scribble: w.scribble}
			one.hash.SetSeed(seed)
			one.value(entries.Key(), depth-1)
			one.value(entries.Value(), depth-1)
			sum += one.hash.Sum64()
		}
		w.number(sum)
	case reflect.Struct:
		if v.Type() == timeType {
			w.number(v.Field(0).Uint())
			w.number(uint64(v.Field(1).Int()))
			return
		}
		for i := range v.NumField() {
			w.value(v.Field(i), depth-1)
		}
	}
}

func bits(v reflect.Value) uint64 {
	switch {
	case v.Kind() == reflect.Bool && v.Bool():
		return 1
	case v.CanInt():
		return uint64(v.Int())
	case v.CanUint():
		return v.Uint()
	case v.CanFloat():
		return math.Float64bits(v.Float())
	}
	return 0
}

// slice visits a slice. Bytes are read at once, because there are many.
func (w *walk) slice(v reflect.Value, depth int) {
	w.number(uint64(v.Len()))
	rest := v.Cap() - v.Len()
	if v.Type().Elem().Kind() == reflect.Uint8 {
		all := reflect.SliceAt(reflect.TypeFor[byte](), v.UnsafePointer(), v.Cap()).Bytes()
		if w.scribble {
			for i := range all[v.Len():] {
				all[v.Len()+i] = 0xEE
			}
		}
		if !w.room {
			all = all[:v.Len()]
		}
		_, _ = w.hash.Write(all)
		return
	}
	if w.scribble && rest > 0 {
		reflect.SliceAt(v.Type().Elem(), v.UnsafePointer(), v.Cap()).Slice(v.Len(), v.Cap()).Clear()
	}
	for i := range v.Len() {
		w.value(v.Index(i), depth-1)
	}
}

// overwriteRoom writes behind the end of each slice that a value leads to, as whoever appends to it does.
func overwriteRoom(value any) {
	w := walk{scribble: true}
	w.hash.SetSeed(seed)
	w.value(reflect.ValueOf(value), deep)
}
