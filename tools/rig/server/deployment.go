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
	"syscall"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"golang.org/x/sync/errgroup"
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
	// below are the servers that the members need. They end after the members, or if these do not start.
	below *Deployment
}

// Deployment is a running replica set, or other servers. It has no members if it was not started here. Its methods may be called from
// several goroutines.
type Deployment struct {
	options Options
	dir     string
	user    *url.Userinfo
	uri     string
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
	err := d.assemble(ctx)
	for _, m := range d.members {
		if err != nil {
			err = fmt.Errorf("%w\n%v:\n%s", err, m, m.tail())
		}
	}
	return err
}

// prepare makes the files and the members, without starting them.
func (d *Deployment) prepare() (err error) {
	if d.dir, err = newRunDir(d.options.Dir); err != nil {
		return fmt.Errorf("make a folder for the servers: %w", err)
	}
	if d.options.Users {
		d.user = url.UserPassword("root", rand.Text())
		if err := os.WriteFile(d.key(), []byte(rand.Text()+rand.Text()), 0o600); err != nil {
			return err
		}
	}
	addresses, err := freeAddresses(max(1, d.options.Members, d.options.servers))
	uri := url.URL{Scheme: "mongodb", User: d.user, Host: strings.Join(addresses, ","), Path: "/"}
	if d.options.ReplicaSet != "" {
		uri.RawQuery = "replicaSet=" + d.options.ReplicaSet
	}
	d.uri = uri.String()
	for i, address := range addresses {
		m := &Member{deployment: d, number: i, dir: filepath.Join(d.dir, fmt.Sprint(i)), address: address}
		err = errors.Join(err, os.MkdirAll(filepath.Join(m.dir, "data"), 0o700))
		d.members = append(d.members, m)
	}
	return err
}

// newRunDir makes a new folder for data and logs below parent, and removes those of processes that were killed.
func newRunDir(parent string) (string, error) {
	parent, err := filepath.Abs(parent)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	left, err := filepath.Glob(filepath.Join(parent, "run-*-*"))
	for _, dir := range left {
		var owner int
		if _, scanned := fmt.Sscanf(filepath.Base(dir), "run-%d-", &owner); scanned == nil && !lives(owner) {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}
	if err != nil {
		return "", err
	}
	return os.MkdirTemp(parent, fmt.Sprintf("run-%d-", os.Getpid()))
}

// lives reports whether there is a process with this number.
func lives(pid int) bool {
	process, err := os.FindProcess(pid)
	return err == nil && !errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// key is the file by which members recognize each other.
func (d *Deployment) key() string { return filepath.Join(d.dir, "key") }

// assemble makes the members a replica set, or leaves one alone, creates the user, and waits until all members have followed the primary.
func (d *Deployment) assemble(ctx context.Context) error {
	last := bson.D{{Key: "ping", Value: 1}}
	if d.options.Members > 0 {
		var members bson.A
		for _, m := range d.members {
			members = append(members, bson.M{"_id": m.number, "host": m.address})
		}
		configuration := bson.M{"_id": d.options.ReplicaSet, "members": members,
			// Elections depend on these times, so they are short.
			"settings": bson.M{"electionTimeoutMillis": 2000, "heartbeatIntervalMillis": 500},
		}
		if d.options.ReplicaSet == configReplicaSet {
			configuration["configsvr"] = true
		}
		initiate := bson.D{{Key: "replSetInitiate", Value: configuration}}
		if err := runAdmin(ctx, direct(d.members[0].address), initiate, nil); err != nil {
			return err
		}
		last = bson.D{{Key: "appendOplogNote", Value: 1}, {Key: "data", Value: bson.D{}}}
	}
	opts := optionsFor(d.uri)
	if d.user != nil {
		opts.Auth = nil // a server without users allows this to any connection from its own machine
		password, _ := d.user.Password()
		last = bson.D{{Key: "createUser", Value: d.user.Username()}, {Key: "pwd", Value: password},
			{Key: "roles", Value: bson.A{"root"}}}
	}
	if d.options.Members > 0 {
		last = append(last, bson.E{Key: "writeConcern", Value: bson.M{"w": len(d.members)}})
	}
	err := runAdmin(ctx, opts, last, nil)
	if err == nil {
		d.version, err = awaitPrimary(ctx, d.uri)
	}
	return err
}

// URI is the connection string for clients.
func (d *Deployment) URI() string { return d.uri }

// Members returns the members, in the order of their numbers.
func (d *Deployment) Members() []*Member { return d.members }

// Version is the members' version, such as 6.0.5.
func (d *Deployment) Version() string { return d.version }

// Err says which member ended first without being killed, and why; nil if none has.
func (d *Deployment) Err() error { return context.Cause(d.running) }

// Stop kills the members, paused or not, removes their files, and stops what they needed.
func (d *Deployment) Stop() error {
	if d == nil {
		return nil
	}
	for _, m := range d.members {
		m.Kill()
	}
	return errors.Join(os.RemoveAll(d.dir), d.options.below.Stop())
}

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
