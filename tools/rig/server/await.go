package server

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

func optionsFor(uri string) *options.ClientOptions { return options.Client().ApplyURI(uri) }

// direct are the options of a client of one server alone, in any state, without credentials, which the commands here need none of.
func direct(address string) *options.ClientOptions {
	return optionsFor("mongodb://" + address + "/?directConnection=true")
}

// runAdmin waits until a server that may run a command, of a replica set the primary, answers, but not longer than startTimeout, runs it on
// the database admin, and decodes the reply unless that is nil.
func runAdmin(ctx context.Context, opts *options.ClientOptions, command bson.D, reply any) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	client, err := mongo.Connect(opts.SetServerSelectionTimeout(startTimeout))
	if err != nil {
		return err
	}
	// Ending sessions is not worth waiting for a server that may be gone.
	defer func() { _ = client.Disconnect(context.WithoutCancel(ctx)) }()
	result := client.Database("admin").RunCommand(ctx, command)
	if err = result.Err(); err == nil && reply != nil {
		err = result.Decode(reply)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", command[0].Key, err)
	}
	return nil
}

// awaitPrimary waits until a deployment has a writable primary, and returns the server's version.
func awaitPrimary(ctx context.Context, uri string) (version string, err error) {
	var build struct{ Version string }
	err = runAdmin(ctx, optionsFor(uri), bson.D{{Key: "buildInfo", Value: 1}}, &build)
	return build.Version, err
}

const (
	loopback = "127.0.0.1"

	// firstPort and lastPort lie below the ephemeral ports. Otherwise an outgoing connection could take the port of a member that
	// is down; even a connection to that port can.
	firstPort = 20000
	lastPort  = 32000

	portAttempts = 1000
)

// drawn are the ports that this process was given, so that deployments that start side by side get different ones.
var drawn sync.Map

// freeAddresses returns addresses on which nobody listens right now.
func freeAddresses(count int) ([]string, error) {
	var addresses []string
	for range portAttempts {
		if len(addresses) == count {
			return addresses, nil
		}
		port := firstPort + rand.IntN(lastPort-firstPort)
		if _, taken := drawn.LoadOrStore(port, true); taken {
			continue
		}
		listener, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
		if err != nil {
			continue // in use
		}
		defer listener.Close()
		addresses = append(addresses, listener.Addr().String())
	}
	return nil, fmt.Errorf("no %d free ports from %d to %d on %s; end some of the programs that listen there",
		count, firstPort, lastPort, loopback)
}
