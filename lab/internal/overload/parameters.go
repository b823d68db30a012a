package overload

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/answer"
	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/proxy"
)

// settings are the values of all parameters.
type settings struct {
	requests, connections Limit
	applications          []string
}

// parameter is a server parameter, and where its value is: a *bool, *int32, *float64 or *[]string.
type parameter struct {
	name  string
	value any
}

// parameters returns the parameters under the server's names, so that scripts for a server work on the lab.
func (s *settings) parameters() []parameter {
	return []parameter{
		{"ingressRequestRateLimiterEnabled", &s.requests.Enabled},
		{"ingressRequestAdmissionRatePerSec", &s.requests.RatePerSec},
		{"ingressRequestAdmissionBurstCapacitySecs", &s.requests.BurstCapacitySecs},
		{"ingressRequestAdmissionMaxQueueDepth", &s.requests.MaxQueueDepth},
		{"ingressRequestRateLimiterApplicationExemptions", &s.applications},
		{"ingressConnectionEstablishmentRateLimiterEnabled", &s.connections.Enabled},
		{"ingressConnectionEstablishmentRatePerSec", &s.connections.RatePerSec},
		{"ingressConnectionEstablishmentBurstCapacitySecs", &s.connections.BurstCapacitySecs},
		{"ingressConnectionEstablishmentMaxQueueDepth", &s.connections.MaxQueueDepth},
	}
}

// parameter answers setParameter and getParameter for the limiters' parameters. All others are the backend's.
func (f *Front) parameter(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	s := settings{f.Requests.Limit(), f.Connections.Limit(), f.exempted()}
	ours, others := s.split(req.Document())
	if len(ours) == 0 || req.Database != "admin" {
		return next(ctx, req, reply)
	}
	var elements []bson.E
	err := error(nil)
	switch {
	case len(others) > 0:
		err = answer.Errorf(answer.CodeInvalidOptions, "%s belongs to the lab and %s to the server behind it; give them in a command each",
			ours[0].name, others[0])
	case req.Command == "setParameter":
		elements = []bson.E{{Key: "was", Value: ours[0].get()}}
		err = f.set(&s, ours, req.Document())
	default:
		for _, p := range ours {
			elements = append(elements, bson.E{Key: p.name, Value: p.get()})
		}
	}
	if failure := new(answer.Error); errors.As(err, &failure) {
		return failure.Send(req, reply)
	}
	return answer.OK(req, reply, elements...)
}

// generic are fields of any command, which are no parameters.
var generic = []string{"lsid", "comment", "maxTimeMS", "apiVersion", "apiStrict", "apiDeprecationErrors"}

// split returns the parameters that the command names, and the names of those that the lab does not have.
func (s *settings) split(command bson.Raw) (ours []parameter, others []string) {
	all := s.parameters()
	elements, _ := command.Elements()
	for _, element := range elements[1:] {
		name := element.Key()
		index := slices.IndexFunc(all, func(p parameter) bool { return p.name == name })
		switch {
		case index >= 0:
			ours = append(ours, all[index])
		case !strings.HasPrefix(name, "$") && !slices.Contains(generic, name):
			others = append(others, name)
		}
	}
	return ours, others
}

// set changes all of the parameters or, if one is refused, none. Its error is an *answer.Error.
func (f *Front) set(s *settings, named []parameter, command bson.Raw) error {
	for _, p := range named {
		if value := command.Lookup(p.name); !p.set(value) {
			return answer.Errorf(answer.CodeBadValue, "%s is %v; give %s", p.name, value, p.wants())
		}
	}
	if err := errors.Join(s.requests.check(), s.connections.check()); err != nil {
		return answer.Errorf(answer.CodeBadValue, "%s: %v", named[0].name, err)
	}
	f.mu.Lock()
	f.applications = s.applications
	f.mu.Unlock()
	return errors.Join(f.Requests.SetLimit(s.requests), f.Connections.SetLimit(s.connections))
}

func (p parameter) get() any {
	switch value := p.value.(type) {
	case *bool:
		return *value
	case *int32:
		return *value
	case *float64:
		return *value
	default:
		return *p.value.(*[]string)
	}
}

// set reports whether the value is one for the parameter. A truth may be a number, and numbers of any type are taken.
func (p parameter) set(value bson.RawValue) (ok bool) {
	n, isNumber := bsondoc.Number(value)
	switch parameter := p.value.(type) {
	case *bool:
		*parameter = bsondoc.IsTrue(value)
		return isNumber || value.Type == bson.TypeBoolean
	case *int32:
		*parameter = int32(n)
		return isNumber && n == math.Trunc(n) && n >= 0 && n <= math.MaxInt32
	case *float64:
		*parameter = n
		return isNumber
	default:
		var exemptions struct {
			AppNames []string `bson:"appNames"`
		}
		err := value.Unmarshal(&exemptions)
		*p.value.(*[]string) = exemptions.AppNames
		return err == nil && exemptions.AppNames != nil
	}
}

func (p parameter) wants() string {
	switch p.value.(type) {
	case *bool:
		return "true or false"
	case *int32:
		return "a whole number from 0 to 2147483647"
	case *float64:
		return "a number"
	default:
		return "{appNames: [name, ...]}"
	}
}
