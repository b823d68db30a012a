package main

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
	// lasts is how long members shed load.
	lasts = 3 * time.Second
	// closeTimeout bounds what is cleaned up, also after an interrupt.
	closeTimeout = 10 * time.Second
)

// shed lets members shed load, by the request limiter that MongoDB has from 8.2 on and the overload lab imitates. The returned
// function waits until they have recovered.
func shed(ctx context.Context, uri string, rate int, oneSecondary bool) (recovered func() error, err error) {
	var members []*mongo.Client // by direct connections
	for _, host := range options.Client().ApplyURI(uri).Hosts {
		client, err := mongo.Connect(options.Client().SetHosts([]string{host}).SetDirect(true))
		if err != nil {
			return nil, err
		}
		var hello struct{ Secondary bool }
		if err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello); err != nil {
			return nil, fmt.Errorf("ask %s for its role: %w", host, err)
		}
		if !oneSecondary || hello.Secondary && len(members) == 0 {
			members = append(members, client)
		}
	}
	// set tries all members, even if one fails.
	set := func(ctx context.Context, parameters ...bson.E) (err error) {
		for _, member := range members {
			command := append(bson.D{{Key: "setParameter", Value: 1}}, parameters...)
			err = errors.Join(err, member.Database("admin").RunCommand(ctx, command).Err())
		}
		return err
	}
	off := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		return set(ctx, bson.E{Key: "ingressRequestRateLimiterEnabled", Value: false})
	}
	err = set(ctx,
		bson.E{Key: "ingressRequestRateLimiterApplicationExemptions", Value: bson.D{{Key: "appNames", Value: bson.A{appName + "-office"}}}},
		bson.E{Key: "ingressRequestAdmissionRatePerSec", Value: int32(rate)},
		bson.E{Key: "ingressRequestAdmissionBurstCapacitySecs", Value: 0.1},
		bson.E{Key: "ingressRequestAdmissionMaxQueueDepth", Value: int32(0)},
		bson.E{Key: "ingressRequestRateLimiterEnabled", Value: true})
	if err != nil {
		return nil, errors.Join(err, off())
	}
	over := make(chan error, 1)
	timer := time.AfterFunc(lasts, func() { over <- off() })
	return func() error {
		if timer.Stop() {
			return off()
		}
		return <-over
	}, nil
}
