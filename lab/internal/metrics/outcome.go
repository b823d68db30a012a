package metrics

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/answer"
	"mongofork/lab/internal/bsondoc"
)

// outcome is the outcome of a request.
type outcome int

const (
	admitted outcome = iota // it was run
	rejected                // the server was overloaded
	failed                  // another error
	closed                  // the connection ended instead
)

func (c *counters) count(o outcome) {
	switch o {
	case admitted:
		c.admitted.Add(1)
	case rejected:
		c.rejected.Add(1)
	case failed:
		c.errors.Add(1)
	case closed:
		c.closed.Add(1)
	}
}

// outcomeOf returns the outcome of a request from its reply.
func outcomeOf(reply bson.Raw) outcome {
	if bsondoc.Succeeded(reply) {
		return admitted
	}
	switch code, _ := reply.Lookup("code").AsInt64OK(); code {
	case answer.CodeIngressRequestRateLimit, answer.CodeIngressOperationRateLimit:
		return rejected
	}
	if labels, ok := reply.Lookup("errorLabels").ArrayOK(); ok {
		values, _ := labels.Values()
		for _, label := range values {
			if text, _ := label.StringValueOK(); text == answer.LabelSystemOverloaded {
				return rejected
			}
		}
	}
	return failed
}
