package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	// appName is the shop's application name. Its office, which sets up and checks, is exempt.
	appName    = "overload-shop"
	officeName = appName + "-office"

	// overloadTime is how long the overload lasts. The shop takes longer, so that
	// it also works while the servers recover.
	overloadTime = 3 * time.Second

	// burstSecs is the time for which a member's rate can be saved up.
	burstSecs = 0.1

	// offTimeout bounds the clean-up after an interrupt.
	offTimeout = 10 * time.Second
)

// limiterEnabled is the parameter that switches a server's ingress request rate limiter on and off, in the lab as on a real
// server.
const limiterEnabled = "ingressRequestRateLimiterEnabled"

// member is a server that sheds load.
type member struct {
	host string
	// run runs an administrative command.
	run func(ctx context.Context, command bson.D) error
}

// overload makes some members of a deployment shed load for a while.
type overload struct {
	members    []member
	ratePerSec int32
	lasts      time.Duration
	clients    []*mongo.Client
}

// primaryOf returns the address of the primary.
func primaryOf(ctx context.Context, uri string) (string, error) {
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		return "", err
	}
	defer func() { _ = client.Disconnect(context.WithoutCancel(ctx)) }() // the sockets are closed even then
	var hello struct {
		Me string `bson:"me"`
	}
	if err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello); err != nil {
		return "", fmt.Errorf("ask for the primary: %w", err)
	}
	return hello.Me, nil
}

// connectOverload connects to the members that a scenario limits.
func connectOverload(uri, primary string, s scenario) (*overload, error) {
	o := &overload{ratePerSec: s.ratePerSec, lasts: overloadTime}
	for _, host := range s.limited(options.Client().ApplyURI(uri).Hosts, primary) {
		client, err := mongo.Connect(options.Client().SetHosts([]string{host}).SetDirect(true))
		if err != nil {
			o.close(context.Background())
			return nil, err
		}
		o.clients = append(o.clients, client)
		o.members = append(o.members, member{host, func(ctx context.Context, command bson.D) error {
			return client.Database("admin").RunCommand(ctx, command).Err()
		}})
	}
	return o, nil
}

// close disconnects, also after an interrupt.
func (o *overload) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), offTimeout)
	defer cancel()
	for _, client := range o.clients {
		_ = client.Disconnect(ctx) // nothing to do about a failure
	}
}

// during sheds load from the start of do until the overload's time is over, but no longer than do runs.
func (o *overload) during(ctx context.Context, do func(context.Context) error) (err error) {
	defer func() { err = errors.Join(err, o.off(ctx)) }()
	if err := o.on(ctx); err != nil {
		return err
	}
	waiting, stop := context.WithCancel(ctx)
	recovered := make(chan error, 1)
	go func() { recovered <- o.recover(waiting) }()
	err = do(ctx)
	stop()
	return errors.Join(err, <-recovered)
}

// recover ends the overload after its time, unless ctx ends first.
func (o *overload) recover(ctx context.Context) error {
	timer := time.NewTimer(o.lasts)
	defer timer.Stop()
	select {
	case <-timer.C:
		return o.off(ctx)
	case <-ctx.Done():
		return nil
	}
}

// on limits the rate of requests.
func (o *overload) on(ctx context.Context) error {
	return o.setParameter(ctx,
		bson.E{Key: "ingressRequestRateLimiterApplicationExemptions", Value: bson.D{
			{Key: "appNames", Value: bson.A{officeName}},
		}},
		bson.E{Key: "ingressRequestAdmissionRatePerSec", Value: o.ratePerSec},
		bson.E{Key: "ingressRequestAdmissionBurstCapacitySecs", Value: burstSecs},
		bson.E{Key: "ingressRequestAdmissionMaxQueueDepth", Value: int32(0)},
		bson.E{Key: limiterEnabled, Value: true},
	)
}

// off removes the limit, even after an interrupt.
func (o *overload) off(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), offTimeout)
	defer cancel()
	return o.setParameter(ctx, bson.E{Key: limiterEnabled, Value: false})
}

// setParameter tries all members, even if one fails.
func (o *overload) setParameter(ctx context.Context, parameters ...bson.E) error {
	var failures []error
	for _, m := range o.members {
		command := append(bson.D{{Key: "setParameter", Value: 1}}, parameters...)
		if err := m.run(ctx, command); err != nil {
			failures = append(failures, fmt.Errorf("set the limit on the requests of %s: %w", m.host, err))
		}
	}
	return errors.Join(failures...)
}
