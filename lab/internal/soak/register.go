package soak

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

const (
	// registerLength is the number of operations after which a new register replaces the old one, which keeps histories short
	// enough to check. An operation with an unknown outcome also ends its register.
	registerLength = 150
	// checkPatience bounds the check of all histories.
	checkPatience = 60 * time.Second
	// never is the end of an operation with an unknown outcome.
	never = math.MaxInt64
)

// access is an operation on a register: read it, write new, or write new if it is old.
type access struct {
	kind     string // "read", "write" or "cas"
	old, new int64
}

// registers are shared by the workers of one client: one register at a time, and the histories of all.
type registers struct {
	start time.Time

	mu        sync.Mutex
	current   int
	accesses  int
	histories map[int][]porcupine.Operation
}

func newRegisters() *registers {
	return &registers{start: time.Now(), histories: make(map[int][]porcupine.Operation)}
}

// take returns the register whose turn it is.
func (r *registers) take() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.accesses++; r.accesses > registerLength {
		r.current, r.accesses = r.current+1, 1
	}
	return r.current
}

func (r *registers) now() int64 { return int64(time.Since(r.start)) }

// record keeps an operation. One whose outcome is unknown may take effect at any time, and is the last of its register.
func (r *registers) record(register, client int, a access, call int64, value int64, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ended := r.now()
	if !known {
		ended = never
		if register == r.current {
			r.current, r.accesses = r.current+1, 0
		}
	}
	r.histories[register] = append(r.histories[register], porcupine.Operation{
		ClientId: client, Input: a, Call: call, Output: outcome{value, known}, Return: ended,
	})
}

// outcome is the known outcome of an access.
type outcome struct {
	value int64 // that was read
	known bool
}

// registerModel is the sequential behaviour of a register. It begins with 0.
var registerModel = porcupine.Model{
	Init: func() any { return int64(0) },
	Step: func(state, input, output any) (bool, any) {
		value, a, o := state.(int64), input.(access), output.(outcome)
		switch {
		case a.kind == "read":
			return o.value == value, value
		case a.kind == "write" || value == a.old:
			return true, a.new
		default:
			return !o.known, value // an unknown one may have done nothing
		}
	},
}

// check looks for an order of the accesses that explains everything that the clients saw.
func (r *registers) check(report *Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	deadline := time.Now().Add(checkPatience)
	for register, history := range r.histories {
		switch porcupine.CheckOperationsTimeout(registerModel, history, max(time.Until(deadline), time.Millisecond)) {
		case porcupine.Illegal:
			report.violation("registers that are not linearizable", "register %d: %v", register, history)
		case porcupine.Unknown:
			report.violation("registers that took too long to check", "register %d with %d accesses", register, len(history))
		case porcupine.Ok:
		}
	}
}

// accessor uses registers.
type accessor struct {
	worker
	number int
	last   int64 // what it last read or wrote
}

// access reads, writes, or compares and sets.
func (a *accessor) access(ctx context.Context) error {
	register, call := a.registers.take(), a.registers.now()
	next := access{kind: "read"}
	if rand.IntN(5) > 1 {
		next = access{kind: "write", new: a.stream.next()*100 + int64(a.number)}
		if rand.IntN(2) == 0 {
			next.kind, next.old = "cas", a.last
		}
	}
	if next.kind == "read" {
		return a.read(ctx, register, call)
	}
	done, err := a.write(ctx, register, next)
	switch {
	case err != nil:
		a.registers.record(register, a.number, next, call, 0, false)
	case done:
		a.last = next.new
		a.registers.record(register, a.number, next, call, 0, true)
	}
	// A failed match changed nothing, and may have been reported by a former primary.
	return err
}

func (a *accessor) at(register int) bson.D { return byID(fmt.Sprintf("register %d", register)) }

// read is a linearizable read. A failed one does not matter.
func (a *accessor) read(ctx context.Context, register int, call int64) error {
	collection := a.collection("registers", options.Collection().SetReadConcern(readconcern.Linearizable()))
	var found struct{ Value int64 }
	err := collection.FindOne(ctx, a.at(register), options.FindOne().SetComment(a.comment())).Decode(&found)
	if err != nil && !errors.Is(err, mongo.ErrNoDocuments) {
		return err
	}
	a.last = found.Value
	a.registers.record(register, a.number, access{kind: "read"}, call, found.Value, true)
	return nil
}

// write reports whether it found the value to change.
func (a *accessor) write(ctx context.Context, register int, next access) (bool, error) {
	filter := a.at(register)
	if next.kind == "cas" {
		filter = append(filter, bson.E{Key: "value", Value: next.old})
	}
	collection := a.collection("registers", options.Collection().SetWriteConcern(writeconcern.Majority()))
	result, err := collection.UpdateOne(ctx, filter, change("$set", "value", next.new),
		options.UpdateOne().SetUpsert(next.kind == "write").SetComment(a.comment()))
	if err != nil {
		return false, err
	}
	return result.MatchedCount+result.UpsertedCount > 0, nil
}
