// Package overload makes a front shed load like a server: by a limit on the rate of requests, a limit on the rate of connections,
// and a model of the server's capacity.
package overload

import (
	"context"
	"errors"
	"math"
	"net"
	"slices"
	"strings"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/answer"
	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

// Front is a proxy.Handler and a proxy.Acceptor with a server's limiters: it rejects requests beyond a rate before anything else
// is done about them, and closes connections beyond another before it reads from them. It has a server's parameters for that, and
// adds the limiters' counts to the backend's serverStatus, where the server has them.
type Front struct {
	Requests, Connections *Limiter

	mu           sync.Mutex
	applications []string // prefixes of the names of applications that are exempt from the limit on requests
}

// NewFront returns a front without limits.
func NewFront() *Front { return &Front{Requests: newLimiter(), Connections: newLimiter()} }

// Accept implements proxy.Acceptor.
func (f *Front) Accept(ctx context.Context, _ net.Conn) error {
	err := f.Connections.admit(ctx)
	if errors.Is(err, errRejected) {
		return proxy.ErrClose
	}
	return err
}

// Handle implements proxy.Handler.
func (f *Front) Handle(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	if f.isExempt(req) {
		f.Requests.exempt()
	} else if err := f.Requests.admit(ctx); errors.Is(err, errRejected) {
		return answer.RequestRate.Error().Send(req, reply)
	} else if err != nil {
		return err
	}
	switch req.Command {
	case "setParameter", "getParameter":
		return f.parameter(ctx, req, reply, next)
	case "serverStatus":
		return next(ctx, req, f.withStatus(req, reply))
	default:
		return next(ctx, req, reply)
	}
}

// exemptions are commands that no limiter rejects. They approximate, by command, the server's rule that clients are limited once
// they have authenticated. All others count, including commitTransaction, abortTransaction, killCursors, endSessions and ping. A
// server without authentication limits the exempt ones as well; the lab does not, because it cannot see who has authenticated.
var exemptions = [...]string{
	"hello", "isMaster", "ismaster", // come before authentication, and monitoring must go on in an overload
	"saslStart", "saslContinue", "authenticate",
	"configureFailPoint", "setParameter", "getParameter", // control the test, and have to be able to end it
}

func isExempt(req *proxy.Request) bool { return slices.Contains(exemptions[:], req.Command) }

// isExempt reports whether the request, or its application, is exempt. Like the server it compares the beginning of the
// application's name, and of the driver's.
func (f *Front) isExempt(req *proxy.Request) bool {
	return isExempt(req) || slices.ContainsFunc(f.exempted(), func(prefix string) bool {
		return strings.HasPrefix(req.Client.AppName, prefix) || strings.HasPrefix(req.Client.DriverName, prefix)
	})
}

func (f *Front) exempted() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.applications
}

// withStatus adds the counts. It respects sections that the command excludes.
func (f *Front) withStatus(req *proxy.Request, reply proxy.ReplyFunc) proxy.ReplyFunc {
	command := req.Document()
	return func(m *wire.Message) error {
		if !bsondoc.Succeeded(m.Body) {
			return reply(m)
		}
		connections, _ := f.Connections.status()
		for _, add := range []struct {
			section, name string
			counts        bson.D
		}{
			{"network", "ingressRequestRateLimiter", admissions(f.Requests.status())},
			{"queues", "ingressSessionEstablishment", admissions(f.Connections.status())},
			{"connections", "establishmentRateLimit", bson.D{
				{Key: "rejected", Value: connections.Rejected}, {Key: "exempted", Value: connections.Exempted},
			}},
		} {
			if excluded, err := command.LookupErr(add.section); err == nil && !bsondoc.IsTrue(excluded) {
				continue
			}
			section, ok := m.Body.Lookup(add.section).DocumentOK() // which the backend may lack
			if !ok {
				section = bson.Raw{5, 0, 0, 0, 0}
			}
			section, err := bsondoc.With(section, bson.E{Key: add.name, Value: add.counts})
			if err != nil {
				return err
			}
			if m.Body, err = bsondoc.With(m.Body, bson.E{Key: add.section, Value: section}); err != nil {
				return err
			}
		}
		return reply(m)
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
