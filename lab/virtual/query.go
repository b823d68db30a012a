package virtual

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/servererror"
	"mongofork/lab/internal/topology"
)

// query is a command that the store runs.
type query struct {
	*proxy.Request
	ctx         context.Context // of the connection
	host        string          // also the service behind a load balancer, which a connection leads to
	doc         bson.Raw        // the command with the documents that were sent beside it
	transaction *session        // in which it runs, or nil
	arguments
}

// arguments are the fields that commands have. A name without a tag stands for that in lower case.
type arguments struct {
	Session          bson.Raw   `bson:"lsid"`
	Number           *int64     `bson:"txnNumber"`
	Autocommit       *bool      // which commands of transactions have
	StartTransaction bool       `bson:"startTransaction"`
	EndSessions      []bson.Raw `bson:"endSessions"`
	ReadConcern      struct{ Level string }
	MaxTime          int64 `bson:"maxTimeMS"`

	Filter, Query bson.Raw
	Pipeline      []bson.Raw
	Key           string
	Limit         int
	SingleBatch   bool `bson:"singleBatch"`
	Tailable      bool // as a cursor
	BatchSize     int  `bson:"batchSize"`
	Cursor        struct {
		BatchSize int `bson:"batchSize"`
	} // of an aggregate
	GetMore int64   `bson:"getMore"`
	Cursors []int64 // of killCursors

	Ordered    bool
	ErrorsOnly bool `bson:"errorsOnly"`
	Documents  []bson.Raw
	Updates    []statement
	Deletes    []statement
	Ops        []statement
	Indexes    []bson.Raw
	NSInfo     []struct{ NS string } `bson:"nsInfo"`

	Update      bson.RawValue // of findAndModify
	New, Upsert bool

	Mechanisms  string        `bson:"saslSupportedMechs"`
	Speculative *conversation `bson:"speculativeAuthenticate"`
	Step        conversation  `bson:",inline"`
}

// newQuery decodes a command.
func (s *store) newQuery(ctx context.Context, host string, req *proxy.Request) (*query, *failure) {
	services := 1
	if s.spec.Kind == topology.LoadBalanced {
		services = s.spec.Members
	}
	q := &query{Request: req, ctx: ctx, host: fmt.Sprint(host, "/", req.Client.ID%uint64(services)), doc: req.Message.Whole()}
	q.Ordered, q.MaxTime, q.BatchSize, q.Cursor.BatchSize = true, 1000, 101, 101 // unless the command says otherwise
	if q.Command == "getMore" {
		q.BatchSize = 1 << 20
	}
	if err := bson.Unmarshal(q.doc, &q.arguments); err != nil {
		return q, servererror.Errorf(servererror.CodeTypeMismatch, "%s: %v", q.Command, err)
	}
	return q, nil
}

// namespace returns the namespace of the collection that the command's first field names.
func (q *query) namespace() string {
	collection, _ := q.doc.Index(0).Value().StringValueOK()
	return q.Database + "." + collection
}
