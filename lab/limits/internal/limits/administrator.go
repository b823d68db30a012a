package limits

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/answer"
)

// Parameters of servers since 8.2, and of the lab.
const (
	limitRequests    = "ingressRequestRateLimiterEnabled"
	requestRate      = "ingressRequestAdmissionRatePerSec"
	requestBurst     = "ingressRequestAdmissionBurstCapacitySecs"
	exemptions       = "ingressRequestRateLimiterApplicationExemptions"
	limitConnections = "ingressConnectionEstablishmentRateLimiterEnabled"
	connectionRate   = "ingressConnectionEstablishmentRatePerSec"
	connectionBurst  = "ingressConnectionEstablishmentBurstCapacitySecs"
	connectionQueue  = "ingressConnectionEstablishmentMaxQueueDepth"
)

// parameterNames are all of them in the order in which they are restored: first of all, the limits are off.
var parameterNames = [...]string{
	limitRequests, limitConnections, requestRate, requestBurst, connectionRate, connectionBurst, connectionQueue, exemptions,
}

const administratorName = "limits-administrator"

// exemptNames are the name prefixes of exempt applications: the administrator, without whom nobody could end the limit, and the
// other members of the server's deployment.
var exemptNames = [...]string{administratorName, "MongoDB Internal Client", "NetworkInterfaceTL", "OplogFetcher"}

// administrator changes the limits of one server.
type administrator struct {
	client *mongo.Client
	// former are the values of all parameters before the first change.
	former map[string]any
}

// newAdministrator opens a single connection, so that it needs no other while connections are limited.
func newAdministrator(opts *options.ClientOptions) (*administrator, error) {
	client, err := mongo.Connect(opts.SetAppName(administratorName).SetMaxPoolSize(1))
	return &administrator{client: client}, err
}

func (a *administrator) run(ctx context.Context, command bson.D, result any) error {
	return a.client.Database("admin").RunCommand(ctx, command).Decode(result)
}

// learn reads the values of all parameters. It returns the names of those that the server does not have.
func (a *administrator) learn(ctx context.Context) (values map[string]any, missing []string, err error) {
	command := bson.D{{Key: "getParameter", Value: 1}}
	for _, name := range parameterNames {
		command = append(command, bson.E{Key: name, Value: 1})
	}
	err = a.run(ctx, command, &values)
	if err != nil && !hasNone(err) {
		return nil, nil, fmt.Errorf("read the server's parameters: %w; where users have to authenticate, name one with the role root in the URI", err)
	}
	for _, name := range parameterNames {
		if _, known := values[name]; !known {
			missing = append(missing, name)
		}
	}
	return values, missing, nil
}

// hasNone tells the reply of servers that have none of the parameters: InvalidOptions, and before 7.0 an error without a code.
func hasNone(err error) bool {
	var failure mongo.CommandError
	return errors.As(err, &failure) &&
		(failure.HasErrorCode(answer.CodeInvalidOptions) || failure.Code == 0 && failure.Message == "no option found to get")
}

// exempt exempts the administrator, and other necessary applications, from the request limit.
func (a *administrator) exempt(ctx context.Context) error {
	names := formerExemptions(a.former)
	for _, name := range exemptNames {
		names = append(names, name)
	}
	return a.set(ctx, bson.E{Key: exemptions, Value: bson.D{{Key: "appNames", Value: names}}})
}

// set sets parameters one after the other.
func (a *administrator) set(ctx context.Context, parameters ...bson.E) error {
	for _, parameter := range parameters {
		if err := a.run(ctx, bson.D{{Key: "setParameter", Value: 1}, parameter}, &bson.D{}); err != nil {
			return fmt.Errorf("set %s to %v: %w", parameter.Key, parameter.Value, err)
		}
	}
	return nil
}

// restore gives all parameters their former values, and returns whether the server then has them.
func (a *administrator) restore(ctx context.Context) (bool, error) {
	var errs []error
	for _, name := range parameterNames {
		value := a.former[name]
		if name == exemptions { // which is set in another form than it is read
			value = bson.D{{Key: "appNames", Value: formerExemptions(a.former)}}
		}
		errs = append(errs, a.set(ctx, bson.E{Key: name, Value: value}))
	}
	if err := errors.Join(errs...); err != nil {
		return false, fmt.Errorf("give the server's parameters their former values (%v): %w", a.former, err)
	}
	values, _, err := a.learn(ctx)
	if err != nil {
		return false, err
	}
	for _, name := range parameterNames {
		if name != exemptions && !reflect.DeepEqual(values[name], a.former[name]) {
			return false, nil
		}
	}
	return reflect.DeepEqual(formerExemptions(values), formerExemptions(a.former)), nil
}

// formerExemptions returns the applications that are exempt. Servers that exempt none say so with null.
func formerExemptions(values map[string]any) bson.A {
	names, _ := values[exemptions].(bson.A)
	return append(bson.A{}, names...)
}

// rejected counts what a server has rejected since it started.
type rejected struct{ requests, connections int64 }

// rejected reads the limiters' numbers.
func (a *administrator) rejected(ctx context.Context) (rejected, error) {
	var status struct {
		Network struct {
			Requests *struct {
				Rejected int64 `bson:"rejectedAdmissions"`
			} `bson:"ingressRequestRateLimiter"`
		} `bson:"network"`
		Queues struct {
			Connections *struct {
				Rejected int64 `bson:"rejectedAdmissions"`
			} `bson:"ingressSessionEstablishment"`
		} `bson:"queues"`
	}
	if err := a.run(ctx, bson.D{{Key: "serverStatus", Value: 1}}, &status); err != nil {
		return rejected{}, fmt.Errorf("read the limiters' numbers: %w", err)
	}
	if status.Network.Requests == nil || status.Queues.Connections == nil {
		return rejected{}, errors.New("serverStatus lacks network.ingressRequestRateLimiter or queues.ingressSessionEstablishment: " +
			"the server has a limiter behind a feature flag; start it with --setParameter featureFlagIngressRateLimiting=true " +
			"--setParameter featureFlagRateLimitIngressConnectionEstablishment=true")
	}
	return rejected{status.Network.Requests.Rejected, status.Queues.Connections.Rejected}, nil
}
