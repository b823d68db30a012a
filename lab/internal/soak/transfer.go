package soak

import (
	"context"
	"math/rand/v2"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
)

const (
	accounts       = 8
	initialBalance = 100
)

// account is one of the accounts.
type account struct {
	ID      int   `bson:"_id"`
	Balance int64 `bson:"balance"`
}

// transferrer moves money between accounts by transactions.
type transferrer struct {
	worker
	random *rand.Rand
}

// transfer moves some money, and records that with the next number.
func (t *transferrer) transfer(ctx context.Context) error {
	from, to, amount := t.random.IntN(accounts), t.random.IntN(accounts-1), int64(1+t.random.IntN(5))
	if to >= from {
		to++
	}
	n := t.stream.next()
	session, err := t.client.StartSession()
	if err != nil {
		return err
	}
	defer session.EndSession(ctx)
	_, err = session.WithTransaction(ctx, func(ctx context.Context) (any, error) {
		for id, change := range map[int]int64{from: -amount, to: amount} {
			if _, err := t.collection("accounts").UpdateByID(ctx, id,
				bson.D{{Key: "$inc", Value: bson.D{{Key: "balance", Value: change}}}},
				options.UpdateOne().SetComment(t.comment())); err != nil {
				return nil, err
			}
		}
		return t.collection("transfers").InsertOne(ctx, record{t.name, n}, options.InsertOne().SetComment(t.comment()))
	})
	if err == nil {
		t.stream.acknowledge(n)
	}
	return err
}

// auditor adds up the accounts.
type auditor struct{ worker }

// audit reads all accounts as of one time, from any member: their sum never changes.
func (a *auditor) audit(ctx context.Context) error {
	session, err := a.client.StartSession(options.Session().SetSnapshot(true))
	if err != nil {
		return err
	}
	defer session.EndSession(ctx)
	nearby := a.client.Database(a.database).Collection("accounts", options.Collection().SetReadPreference(readpref.Nearest()))
	sum, count, err := addUp(mongo.NewSessionContext(ctx, session), nearby, options.Find().SetComment(a.comment()))
	if err != nil {
		return err
	}
	if !tooEarly(sum, count) {
		a.checkSum("a snapshot", sum, count)
	}
	return nil
}

// tooEarly reports whether a snapshot is from before the accounts were made. A session with a snapshot is not causally
// consistent, and a killed member begins with its last checkpoint.
func tooEarly(sum int64, count int) bool { return sum == 0 && count == 0 }

func (a *auditor) checkSum(where string, sum int64, count int) {
	if sum != accounts*initialBalance || count != accounts {
		a.report.violation("sums that are wrong", "%s has %d in %d accounts, instead of %d in %d", where, sum, count,
			accounts*initialBalance, accounts)
	}
}

func addUp(ctx context.Context, collection *mongo.Collection, opts ...options.Lister[options.FindOptions]) (sum int64, count int, err error) {
	cursor, err := collection.Find(ctx, bson.D{}, opts...)
	if err != nil {
		return 0, 0, err
	}
	var found []account
	if err := cursor.All(ctx, &found); err != nil {
		return 0, 0, err
	}
	for _, a := range found {
		sum += a.Balance
	}
	return sum, len(found), nil
}
