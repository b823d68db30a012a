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

// limit lets members shed load, by the request limiter that MongoDB has from 8.2 on and the overload lab imitates.
type limit struct {
	rate int
	// oneSecondary spares all other members.
	oneSecondary bool
}

// shed begins. The returned function waits until the members have recovered.
func (l limit) shed(ctx context.Context, uri string) (recovered func() error, err error) {
	members, err := l.members(ctx, uri)
	if err != nil {
		return nil, err
	}
	off := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		return setParameters(ctx, members, bson.E{Key: "ingressRequestRateLimiterEnabled", Value: false})
	}
	exempt := bson.D{{Key: "appNames", Value: bson.A{appName + "-office"}}}
	err = setParameters(ctx, members,
		bson.E{Key: "ingressRequestRateLimiterApplicationExemptions", Value: exempt},
		bson.E{Key: "ingressRequestAdmissionRatePerSec", Value: int32(l.rate)},
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

// members returns direct clients of the members that shed load.
func (l limit) members(ctx context.Context, uri string) ([]*mongo.Client, error) {
	var members []*mongo.Client
	for _, host := range options.Client().ApplyURI(uri).Hosts {
		client, err := mongo.Connect(options.Client().SetHosts([]string{host}).SetDirect(true))
		if err != nil {
			return nil, err
		}
		var hello struct{ Secondary bool }
		if err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello); err != nil {
			return nil, fmt.Errorf("ask %s for its role: %w", host, err)
		}
		if !l.oneSecondary {
			members = append(members, client)
		} else if hello.Secondary {
			return []*mongo.Client{client}, nil
		}
	}
	if len(members) == 0 {
		return nil, errors.New("there is no secondary")
	}
	return members, nil
}

// setParameters tries all members, even if one fails.
func setParameters(ctx context.Context, members []*mongo.Client, parameters ...bson.E) (err error) {
	for _, member := range members {
		command := append(bson.D{{Key: "setParameter", Value: 1}}, parameters...)
		err = errors.Join(err, member.Database("admin").RunCommand(ctx, command).Err())
	}
	return err
}
