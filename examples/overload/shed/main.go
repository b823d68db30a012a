// Shed runs a command while members of a replica set shed load: for a while they admit few requests a second, and reject all
// others, by the request limiter that MongoDB has from 8.2 on and the overload lab imitates.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// offTimeout bounds the end of the limits, also after an interrupt.
const offTimeout = 10 * time.Second

// overload is what the members do.
type overload struct {
	rate   int
	burst  float64
	exempt string
	lasts  time.Duration
	// oneSecondary spares all other members.
	oneSecondary bool
}

func main() {
	var o overload
	flag.IntVar(&o.rate, "rate", 60, "how many requests each member admits in a second")
	flag.Float64Var(&o.burst, "burst", 0.1, "for how many seconds the rate can be saved up")
	flag.StringVar(&o.exempt, "exempt", "overload-shop-office", "application that is not limited")
	flag.DurationVar(&o.lasts, "for", 3*time.Second, "how long, unless the command ends before")
	flag.BoolVar(&o.oneSecondary, "one-secondary", false, "only one secondary sheds load")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := o.run(ctx, os.Getenv("MONGODB_URI"), flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "shed:", err)
		os.Exit(1)
	}
}

// run runs the command.
func (o overload) run(ctx context.Context, uri string, command []string) (err error) {
	if uri == "" || len(command) == 0 {
		return errors.New("set MONGODB_URI to the URI of a replica set, and name a command to run")
	}
	members, err := o.members(ctx, uri)
	if err != nil {
		return err
	}
	off := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), offTimeout)
		defer cancel()
		return setParameters(ctx, members, bson.E{Key: "ingressRequestRateLimiterEnabled", Value: false})
	}
	err = setParameters(ctx, members,
		bson.E{Key: "ingressRequestRateLimiterApplicationExemptions", Value: bson.D{{Key: "appNames", Value: bson.A{o.exempt}}}},
		bson.E{Key: "ingressRequestAdmissionRatePerSec", Value: int32(o.rate)},
		bson.E{Key: "ingressRequestAdmissionBurstCapacitySecs", Value: o.burst},
		bson.E{Key: "ingressRequestAdmissionMaxQueueDepth", Value: int32(0)},
		bson.E{Key: "ingressRequestRateLimiterEnabled", Value: true})
	if err != nil {
		return errors.Join(err, off())
	}
	recovered := make(chan error, 1)
	timer := time.AfterFunc(o.lasts, func() { recovered <- off() })
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	if timer.Stop() {
		recovered <- off()
	}
	return errors.Join(err, <-recovered)
}

// members returns direct clients of the members that shed load.
func (o overload) members(ctx context.Context, uri string) ([]*mongo.Client, error) {
	parsed := options.Client().ApplyURI(uri)
	if err := parsed.Validate(); err != nil {
		return nil, err
	}
	var members []*mongo.Client
	for _, host := range parsed.Hosts {
		client, err := mongo.Connect(options.Client().SetHosts([]string{host}).SetDirect(true))
		if err != nil {
			return nil, err
		}
		var hello struct{ Secondary bool }
		if err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello); err != nil {
			return nil, fmt.Errorf("ask %s for its role: %w", host, err)
		}
		if !o.oneSecondary {
			members = append(members, client)
		} else if hello.Secondary {
			members = []*mongo.Client{client}
		}
	}
	if len(members) == 0 {
		return nil, errors.New("there is no secondary")
	}
	return members, nil
}

// setParameters tries all members, even if one fails.
func setParameters(ctx context.Context, members []*mongo.Client, parameters ...bson.E) error {
	var failures []error
	for _, member := range members {
		command := append(bson.D{{Key: "setParameter", Value: 1}}, parameters...)
		if err := member.Database("admin").RunCommand(ctx, command).Err(); err != nil {
			failures = append(failures, fmt.Errorf("set the limit of requests: %w", err))
		}
	}
	return errors.Join(failures...)
}
