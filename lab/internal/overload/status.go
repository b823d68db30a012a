package overload

import (
	"context"
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

// Status is a proxy.Handler that adds the limiters' counts to the backend's serverStatus, where the server has them. It respects
// sections that the command excludes.
type Status struct {
	requests    *RequestLimiter
	connections *ConnectionLimiter
}

// NewStatus returns the status of these limiters.
func NewStatus(requests *RequestLimiter, connections *ConnectionLimiter) *Status {
	return &Status{requests: requests, connections: connections}
}

// Handle implements proxy.Handler.
func (s *Status) Handle(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	if req.Command != "serverStatus" {
		return next(ctx, req, reply)
	}
	command := req.Document()
	return next(ctx, req, func(m *wire.Message) error {
		doc := m.Document()
		if !bsondoc.Succeeded(doc) {
			return reply(m)
		}
		for _, add := range s.additions() {
			if excluded, err := command.LookupErr(add.section); err == nil && !bsondoc.IsTrue(excluded) {
				continue
			}
			var err error
			if doc, err = add.to(doc); err != nil {
				return err
			}
		}
		m.SetDocument(doc)
		return reply(m)
	})
}

// addition is a document in a section of serverStatus.
type addition struct {
	section, name string
	value         bson.D
}

// to returns the reply with the addition. The backend may lack the whole section.
func (a addition) to(reply bson.Raw) (bson.Raw, error) {
	section, ok := reply.Lookup(a.section).DocumentOK()
	if !ok {
		return bsondoc.With(reply, bson.E{Key: a.section, Value: bson.D{{Key: a.name, Value: a.value}}})
	}
	section, err := bsondoc.With(section, bson.E{Key: a.name, Value: a.value})
	if err != nil {
		return nil, err
	}
	return bsondoc.With(reply, bson.E{Key: a.section, Value: section})
}

func (s *Status) additions() []addition {
	connections := s.connections.Counts()
	queue := bson.D{
		{Key: "addedToQueue", Value: connections.Enqueued},
		{Key: "removedFromQueue", Value: connections.Enqueued - connections.Queued},
		{Key: "interruptedInQueue", Value: connections.Interrupted},
	}
	return []addition{
		{"network", "ingressRequestRateLimiter", admissions(s.requests.Counts(), s.requests.limiter.available())},
		{"queues", "ingressSessionEstablishment", append(queue, admissions(connections, s.connections.limiter.available())...)},
		{"connections", "establishmentRateLimit", bson.D{
			{Key: "rejected", Value: connections.Rejected},
			{Key: "exempted", Value: connections.Exempted},
			{Key: "interruptedDueToClientDisconnect", Value: connections.Interrupted},
		}},
	}
}

func admissions(counts Counts, tokens float64) bson.D {
	return bson.D{
		{Key: "rejectedAdmissions", Value: counts.Rejected},
		{Key: "exemptedAdmissions", Value: counts.Exempted},
		{Key: "successfulAdmissions", Value: counts.Admitted},
		{Key: "attemptedAdmissions", Value: counts.Attempted},
		{Key: "totalAvailableTokens", Value: min(tokens, math.MaxInt64)}, // no infinity, as in the server
	}
}
