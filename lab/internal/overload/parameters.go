package overload

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/answer"
	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

// Parameters is a proxy.Handler that answers setParameter and getParameter for the parameters of the limiters, under the server's
// names, so that scripts for a server work on the lab. All other parameters are the backend's.
type Parameters struct {
	requests    *RequestLimiter
	connections *ConnectionLimiter
	parameters  []parameter

	mu sync.Mutex // held from reading the settings until they are changed
}

// NewParameters returns the parameters of these limiters.
func NewParameters(requests *RequestLimiter, connections *ConnectionLimiter) *Parameters {
	return &Parameters{requests: requests, connections: connections, parameters: newParameters()}
}

// Handle implements proxy.Handler.
func (p *Parameters) Handle(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	sets := req.Command == "setParameter"
	if !sets && req.Command != "getParameter" || req.Database != "admin" {
		return next(ctx, req, reply)
	}
	doc := req.Document()
	if everything, _ := doc.Lookup("getParameter").StringValueOK(); everything == "*" {
		return next(ctx, req, p.withAll(reply))
	}
	ours, others := p.split(doc)
	if len(ours) == 0 {
		return next(ctx, req, reply)
	}
	elements, err := bson.D(nil), error(nil)
	switch {
	case len(others) > 0:
		err = answer.Errorf(answer.CodeInvalidOptions, "%s belongs to the lab and %s to the server behind it; give them in a command each",
			ours[0].name, others[0])
	case sets:
		elements, err = p.set(ours, doc)
	default:
		elements = values(ours, p.current())
	}
	if failure := new(answer.Error); errors.As(err, &failure) {
		return failure.Send(req, reply)
	}
	if err != nil {
		return err
	}
	return answer.OK(req, reply, elements...)
}

// split returns the parameters that the command names, and the names of those that the lab does not have.
func (p *Parameters) split(command bson.Raw) (ours []parameter, others []string) {
	elements, _ := command.Elements()
	for _, element := range elements[min(1, len(elements)):] {
		name := element.Key()
		index := slices.IndexFunc(p.parameters, func(p parameter) bool { return p.name == name })
		switch {
		case index >= 0:
			ours = append(ours, p.parameters[index])
		case !isGeneric(name):
			others = append(others, name)
		}
	}
	return ours, others
}

// isGeneric reports whether a field is one of any command's, not the name of a parameter.
func isGeneric(field string) bool {
	switch field {
	case "lsid", "comment", "maxTimeMS", "readConcern", "writeConcern", "apiVersion", "apiStrict", "apiDeprecationErrors":
		return true
	default:
		return strings.HasPrefix(field, "$")
	}
}

// set changes all of the parameters or, if one is refused, none. It returns the first one's former value.
func (p *Parameters) set(named []parameter, command bson.Raw) (bson.D, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	current := p.current()
	changed := current
	for _, parameter := range named {
		if err := parameter.set(&changed, command.Lookup(parameter.name)); err != nil {
			return nil, err
		}
	}
	// The values are within the bounds, so none of these can fail after another was set.
	if err := errors.Join(p.requests.SetLimit(changed.requests), p.connections.SetLimit(changed.connections)); err != nil {
		return nil, err
	}
	p.requests.SetExemptApplications(changed.applications)
	return bson.D{{Key: "was", Value: named[0].get(&current)}}, nil
}

func (p *Parameters) current() settings {
	return settings{
		requests: p.requests.Limit(), connections: p.connections.Limit(), applications: p.requests.ExemptApplications(),
	}
}

func values(named []parameter, of settings) bson.D {
	elements := make(bson.D, 0, len(named))
	for _, parameter := range named {
		elements = append(elements, bson.E{Key: parameter.name, Value: parameter.get(&of)})
	}
	return elements
}

// withAll adds the lab's parameters to those of the backend.
func (p *Parameters) withAll(reply proxy.ReplyFunc) proxy.ReplyFunc {
	return func(m *wire.Message) error {
		doc, err := bsondoc.With(m.Document(), values(p.parameters, p.current())...)
		if err != nil {
			return err
		}
		m.SetDocument(doc)
		return reply(m)
	}
}
