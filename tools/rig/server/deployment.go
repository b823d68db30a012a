package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"golang.org/x/sync/errgroup"
)

const (
	// Elections depend on these times, so they are short.
	electionTimeoutMillis   = 2000
	heartbeatIntervalMillis = 500
)

// Options configures Start. Binary and Dir are required.
type Options struct {
	// Binary is the path of a mongod.
	Binary string
	// Dir is the folder below which a new one is made for data and logs.
	Dir string
	// Members is the number of members of a replica set; 0 stands for a standalone.
	Members int
	// Users makes clients authenticate as "root", with a random password that URIs contain.
	Users bool
	// ReplicaSet is the name of the replica set. The default is "rig".
	ReplicaSet string
	// Arguments are appended to each mongod's command line.
	Arguments []string

	// servers is the number of servers that are no members; the default is 1.
	servers int
	// arguments returns the command line of a server that is no mongod, by its address, and env is added to its environment.
	arguments func(address string) []string
	env       []string
}

// Deployment is a running replica set, or servers that are none. Its methods may be called from several goroutines.
type Deployment struct {
	options Options
	dir     string
	user    *url.Userinfo
	members []*Member
	version string

	running context.Context // until a member ends by itself
	fail    context.CancelCauseFunc
}

// Start starts a deployment and returns when it has a primary and all other members are secondaries. The caller must Stop it.
// After an error nothing is left of it.
func Start(ctx context.Context, o Options) (*Deployment, error) {
	if o.Members > 0 {
		o.ReplicaSet = cmp.Or(o.ReplicaSet, "rig")
	}
	d := &Deployment{options: o}
	d.running, d.fail = context.WithCancelCause(context.Background())
	var err error
	if d.dir, err = newRunDir(o.Dir); err != nil {
		return nil, fmt.Errorf("make a folder for the servers: %w", err)
	}
	starting, cancel := context.WithCancel(ctx)
	defer cancel()
	context.AfterFunc(d.running, cancel)
	if err := d.start(starting); err != nil {
		return nil, errors.Join(cmp.Or(d.Err(), err), d.Stop()) // the first is why
	}
	return d, nil
}

func (d *Deployment) start(ctx context.Context) error {
	if err := d.prepare(); err != nil {
		return err
	}
	group, waiting := errgroup.WithContext(ctx)
	for _, m := range d.members {
		group.Go(func() error { return m.Restart(waiting) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := d.assemble(ctx); err != nil {
		for _, m := range d.members {
			err = fmt.Errorf("%w\n%v:\n%s", err, m, m.child.tail())
		}
		return err
	}
	return nil
}

// prepare makes the files and the members, without starting them.
func (d *Deployment) prepare() error {
	if d.options.Users {
		d.user = url.UserPassword("root", rand.Text())
		if err := os.WriteFile(d.key(), []byte(rand.Text()+rand.Text()), 0o600); err != nil {
			return err
		}
	}
	addresses, err := freeAddresses(max(1, d.options.Members, d.options.servers))
	if err != nil {
		return err
	}
	for i, address := range addresses {
		m := &Member{deployment: d, number: i, dir: filepath.Join(d.dir, fmt.Sprint(i)), address: address}
		if err := os.MkdirAll(filepath.Join(m.dir, "data"), 0o700); err != nil {
			return err
		}
		d.members = append(d.members, m)
	}
	return nil
}

// key is the file by which members recognize each other.
func (d *Deployment) key() string { return filepath.Join(d.dir, "key") }

// assemble makes the members a replica set, or leaves one alone, creates the user, and waits until all members have followed the primary.
func (d *Deployment) assemble(ctx context.Context) (err error) {
	last := bson.D{{Key: "ping", Value: 1}}
	if d.options.Members > 0 {
		if err := d.initiate(ctx); err != nil {
			return err
		}
		last = bson.D{{Key: "appendOplogNote", Value: 1}, {Key: "data", Value: bson.D{}}}
	}
	opts := optionsFor(d.URI())
	if d.user != nil {
		opts.Auth = nil // a server without users allows this to any connection from its own machine
		password, _ := d.user.Password()
		last = bson.D{{Key: "createUser", Value: d.user.Username()}, {Key: "pwd", Value: password},
			{Key: "roles", Value: bson.A{"root"}}}
	}
	if d.options.Members > 0 {
		last = append(last, bson.E{Key: "writeConcern", Value: bson.D{{Key: "w", Value: len(d.members)}}})
	}
	if err := runAdmin(ctx, opts, last, nil); err != nil {
		return err
	}
	d.version, err = awaitPrimary(ctx, d.URI())
	return err
}

// initiate makes the members a replica set.
func (d *Deployment) initiate(ctx context.Context) error {
	var members bson.A
	for _, m := range d.members {
		members = append(members, bson.D{{Key: "_id", Value: m.number}, {Key: "host", Value: m.address}})
	}
	configuration := bson.D{
		{Key: "_id", Value: d.options.ReplicaSet}, {Key: "members", Value: members},
		{Key: "settings", Value: bson.D{
			{Key: "electionTimeoutMillis", Value: electionTimeoutMillis},
			{Key: "heartbeatIntervalMillis", Value: heartbeatIntervalMillis},
		}},
	}
	if d.options.ReplicaSet == configReplicaSet {
		configuration = append(configuration, bson.E{Key: "configsvr", Value: true})
	}
	return runAdmin(ctx, direct(d.members[0].address), bson.D{{Key: "replSetInitiate", Value: configuration}}, nil)
}

// URI is the connection string for clients.
func (d *Deployment) URI() string {
	var hosts []string
	for _, m := range d.members {
		hosts = append(hosts, m.address)
	}
	query := ""
	if d.options.ReplicaSet != "" {
		query = "replicaSet=" + d.options.ReplicaSet
	}
	uri := url.URL{Scheme: "mongodb", User: d.user, Host: strings.Join(hosts, ","), Path: "/", RawQuery: query}
	return uri.String()
}

// Members returns the members, in the order of their numbers.
func (d *Deployment) Members() []*Member { return d.members }

// Version is the members' version, such as 6.0.5.
func (d *Deployment) Version() string { return d.version }

// Failed is closed when a member ends without being killed.
func (d *Deployment) Failed() <-chan struct{} { return d.running.Done() }

// Err says which member ended first without being killed, and why; nil if none has.
func (d *Deployment) Err() error { return context.Cause(d.running) }

// Stop kills the members, paused or not, and removes their files.
func (d *Deployment) Stop() error {
	for _, m := range d.members {
		m.Kill()
	}
	return os.RemoveAll(d.dir)
}
