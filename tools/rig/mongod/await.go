package mongod

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
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

// awaitAnswer waits until the member's process answers, or has ended.
func (m *Member) awaitAnswer(ctx context.Context, p *process) error {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-p.exited:
			cancel()
		case <-waiting.Done():
		}
	}()
	err := awaitListener(waiting, m.address)
	if err == nil {
		err = m.withClient(waiting, func(client *mongo.Client) error {
			return client.Database("admin").RunCommand(waiting, bson.D{{Key: "hello", Value: 1}}).Err()
		})
	}
	if err == nil {
		return nil
	}
	select {
	case <-p.exited:
		return m.ended(p)
	default:
		return fmt.Errorf("%v does not answer%s; its log is %s: %w", m, because(m.log()), m.log(), err)
	}
}

// awaitListener waits until something listens on an address, because the driver would wait half a second between attempts.
func awaitListener(ctx context.Context, address string) error {
	return poll(ctx, func() error {
		connection, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return connection.Close()
	})
}

// poll retries until a function succeeds or the context ends. It returns the last error that is not the context's.
func poll(ctx context.Context, try func() error) error {
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
		case <-ctx.Done():
			return last
		case <-ticker.C:
		}
	}
}

// awaitRoles waits until there is a primary and all others are secondaries.
func (d *Deployment) awaitRoles(ctx context.Context) error {
	for _, m := range d.members {
		err := m.awaitRole(ctx, func(role hello) error {
			if !role.Primary && !role.Secondary {
				return errors.New("it is neither primary nor secondary")
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("no replica set after %v; its members' logs are in %s: %v: %w",
				d.options.StartTimeout, d.dir.path, m, err)
		}
	}
	_, err := d.awaitPrimary(ctx)
	return err
}

// awaitPrimary waits until a member is the primary, and returns it. It does not wait for members that do not answer.
func (d *Deployment) awaitPrimary(ctx context.Context) (*Member, error) {
	asking, found := context.WithCancel(ctx)
	defer found()
	var primary atomic.Pointer[Member]
	var all sync.WaitGroup
	for _, m := range d.members {
		all.Go(func() {
			err := m.awaitRole(asking, func(role hello) error {
				if !role.Primary {
					return errors.New("it is not the primary")
				}
				return nil
			})
			if err == nil && primary.CompareAndSwap(nil, m) {
				found()
			}
		})
	}
	all.Wait()
	if primary.Load() == nil {
		return nil, fmt.Errorf("no primary after %v; the members' logs are in %s", d.options.StartTimeout, d.dir.path)
	}
	return primary.Load(), nil
}

// awaitRole asks the member for its role until the role is accepted.
func (m *Member) awaitRole(ctx context.Context, accept func(hello) error) error {
	return m.withClient(ctx, func(client *mongo.Client) error {
		return poll(ctx, func() error {
			// A paused member accepts connections and answers nothing.
			once, cancel := context.WithTimeout(ctx, helloTimeout)
			defer cancel()
			var role hello
			err := client.Database("admin").RunCommand(once, bson.D{{Key: "hello", Value: 1}}).Decode(&role)
			if err != nil {
				return err
			}
			return accept(role)
		})
	})
}
