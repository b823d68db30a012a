package server

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	pollInterval = 50 * time.Millisecond
	helloTimeout = time.Second
)

// hello is the relevant part of the reply to the command.
type hello struct {
	Primary   bool `bson:"isWritablePrimary"`
	Secondary bool `bson:"secondary"`
}

// askHello asks once. A paused server accepts connections and answers nothing.
func askHello(ctx context.Context, client *mongo.Client) (role hello, err error) {
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	err = client.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&role)
	return role, err
}

// withClient calls a function with a client.
func withClient(ctx context.Context, opts *options.ClientOptions, do func(*mongo.Client) error) error {
	client, err := mongo.Connect(opts.SetServerSelectionTimeout(startTimeout))
	if err != nil {
		return err
	}
	// Ending sessions is not worth waiting for a server that may be gone.
	defer func() { _ = client.Disconnect(context.WithoutCancel(ctx)) }()
	return do(client)
}

// poll retries until a function succeeds, something fails, or the context ends. It returns the last error that is not the
// context's.
func poll(ctx context.Context, failed <-chan struct{}, try func() error) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var last error
	for {
		err := try()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil || last == nil {
			last = err
		}
		select {
		case <-failed:
			return errors.New("it exited")
		case <-ctx.Done():
			return last
		case <-ticker.C:
		}
	}
}

// awaitPrimary waits until a deployment has a writable primary, unless it fails, and returns the server's version.
func awaitPrimary(ctx context.Context, uri string, failed <-chan struct{}) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	err = withClient(ctx, options.Client().ApplyURI(uri), func(client *mongo.Client) error {
		err := poll(ctx, failed, func() error {
			role, err := askHello(ctx, client)
			if err == nil && !role.Primary {
				err = errors.New("it is not a writable primary")
			}
			return err
		})
		if err != nil {
			return err
		}
		var build struct{ Version string }
		err = client.Database("admin").RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Decode(&build)
		version = build.Version
		return err
	})
	return version, err
}

// awaitListener waits until something listens on an address, because the driver would wait half a second between attempts.
func awaitListener(ctx context.Context, address string, failed <-chan struct{}) error {
	return poll(ctx, failed, func() error {
		connection, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return connection.Close()
	})
}

// runAdmin runs a command on the database admin.
func runAdmin(ctx context.Context, opts *options.ClientOptions, command bson.D) error {
	return withClient(ctx, opts, func(client *mongo.Client) error {
		if err := client.Database("admin").RunCommand(ctx, command).Err(); err != nil {
			return fmt.Errorf("%s: %w", command[0].Key, err)
		}
		return nil
	})
}

const (
	loopback = "127.0.0.1"

	// firstPort and lastPort lie below the ephemeral ports. Otherwise an outgoing connection could take the port of a member that
	// is down; even a connection to that port can.
	firstPort = 20000
	lastPort  = 32000

	portAttempts = 1000
)

// freeAddresses returns addresses on which nobody listens right now.
func freeAddresses(count int) ([]string, error) {
	var addresses []string
	for range portAttempts {
		if len(addresses) == count {
			return addresses, nil
		}
		port := firstPort + rand.IntN(lastPort-firstPort)
		listener, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
		if err != nil {
			continue // in use, or already drawn
		}
		defer listener.Close()
		addresses = append(addresses, listener.Addr().String())
	}
	return nil, fmt.Errorf("no %d free ports from %d to %d on %s; end some of the programs that listen there",
		count, firstPort, lastPort, loopback)
}
