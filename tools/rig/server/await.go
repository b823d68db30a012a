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

type clientOptions = options.ClientOptions

func optionsFor(uri string) *clientOptions { return options.Client().ApplyURI(uri) }

// runAdmin runs a command on the database admin, and decodes the reply unless that is nil.
func runAdmin(ctx context.Context, opts *clientOptions, command bson.D, reply any) error {
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

// askHello asks once. A paused server accepts connections and answers nothing.
func askHello(ctx context.Context, opts *clientOptions) (role hello, err error) {
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	return role, runAdmin(ctx, opts, bson.D{{Key: "hello", Value: 1}}, &role)
}

func isAny(hello) bool          { return true }
func isPrimary(role hello) bool { return role.Primary }
func isMember(role hello) bool  { return role.Primary || role.Secondary }

// awaitRole asks a server for its role until that is accepted.
func awaitRole(ctx context.Context, opts *clientOptions, failed <-chan struct{}, accept func(hello) bool) error {
	return poll(ctx, failed, func() error {
		role, err := askHello(ctx, opts)
		if err == nil && !accept(role) {
			err = errors.New("it is no member of a replica set that can be used, or no writable primary")
		}
		return err
	})
}

// awaitPrimary waits until a deployment has a writable primary, unless it fails, and returns the server's version.
func awaitPrimary(ctx context.Context, uri string, failed <-chan struct{}) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := awaitRole(ctx, optionsFor(uri), failed, isPrimary); err != nil {
		return "", err
	}
	var build struct{ Version string }
	err = runAdmin(ctx, optionsFor(uri), bson.D{{Key: "buildInfo", Value: 1}}, &build)
	return build.Version, err
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
