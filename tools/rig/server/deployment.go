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
	"slices"
	"strconv"
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
	// arguments returns the command line of a server that is no mongod, by its address.
	arguments func(address string) []string
	// below are the servers that the members need. They end after the members, or if these do not start.
	below *Deployment
}

// Deployment is a running replica set, or another server. It has no members if it was not started here. Its methods may be called from
// several goroutines.
type Deployment struct {
	// Name says which of the servers that Open finds it is, and Version is what it says it is, such as 8.2.11.
	Name, Version string
	// URI is the connection string for clients.
	URI string

	options Options
	dir     string
	user    *url.Userinfo
	members []*Member

	running context.Context // until a member ends by itself
	fail    context.CancelCauseFunc
}

// Start starts a deployment and returns when it has a primary and all other members are secondaries. The caller must Stop it.
// After an error nothing is left of it.
func Start(ctx context.Context, o Options) (*Deployment, error) {
	d := &Deployment{options: o}
	d.running, d.fail = context.WithCancelCause(context.Background())
	err := d.prepare()
	if err == nil {
		group, starting := errgroup.WithContext(ctx)
		for _, m := range d.members {
			group.Go(func() error { return m.Restart(starting) })
		}
		err = group.Wait()
	}
	if err == nil {
		err = d.assemble(ctx)
	}
	if err != nil {
		err = cmp.Or(d.Err(), err) // the first is why
		return nil, errors.Join(err, d.Stop())
	}
	return d, nil
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
	var addresses []string
	for i := range max(1, d.options.Members, d.options.servers) {
		m := &Member{deployment: d, dir: filepath.Join(d.dir, strconv.Itoa(i))}
		if m.address, err = freeAddress(); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Join(m.dir, "data"), 0o700); err != nil {
			return err
		}
		d.members, addresses = append(d.members, m), append(addresses, m.address)
	}
	uri := url.URL{Scheme: "mongodb", User: d.user, Host: strings.Join(addresses, ","), Path: "/"}
	if d.options.Members > 0 {
		d.options.ReplicaSet = cmp.Or(d.options.ReplicaSet, "rig")
	}
	if d.options.ReplicaSet != "" {
		uri.RawQuery = "replicaSet=" + d.options.ReplicaSet
	}
	d.URI = uri.String()
	return nil
}

// newRunDir makes a new folder for data and logs below parent, and removes those of processes that were killed.
func newRunDir(parent string) (string, error) {
	parent, err := filepath.Abs(parent)
	if err := errors.Join(err, os.MkdirAll(parent, 0o755)); err != nil {
		return "", err
	}
	left, err := filepath.Glob(filepath.Join(parent, "run-*-*"))
	for _, dir := range left {
		var owner int
		if _, other := fmt.Sscanf(filepath.Base(dir), "run-%d-", &owner); other != nil {
			continue
		}
		process, gone := os.FindProcess(owner)
		if gone != nil || errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone) {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}
	if err != nil {
		return "", err
	}
	return os.MkdirTemp(parent, fmt.Sprintf("run-%d-", os.Getpid()))
}

// key is the file by which members recognize each other.
func (d *Deployment) key() string { return filepath.Join(d.dir, "key") }

// assemble makes the members a replica set, or leaves one alone, creates the user, and waits until all members have followed the primary.
func (d *Deployment) assemble(ctx context.Context) error {
	last := bson.D{{Key: "ping", Value: 1}}
	if d.options.Members > 0 {
		var members bson.A
		for i, m := range d.members {
			members = append(members, bson.M{"_id": i, "host": m.address})
		}
		configuration := bson.M{"_id": d.options.ReplicaSet, "members": members,
			// Elections depend on these times, so they are short.
			"settings": bson.M{"electionTimeoutMillis": 2000, "heartbeatIntervalMillis": 500},
		}
		if slices.Contains(d.options.Arguments, "--configsvr") {
			configuration["configsvr"] = true
		}
		initiate := bson.D{{Key: "replSetInitiate", Value: configuration}}
		if _, err := d.runAdmin(ctx, direct(d.members[0].address), initiate); err != nil {
			return d.members[0].explain(err)
		}
		last = bson.D{{Key: "appendOplogNote", Value: 1}, {Key: "data", Value: bson.D{}}}
	}
	opts := optionsFor(d.URI)
	if d.user != nil {
		opts.Auth = nil // a server without users allows this to any connection from its own machine
		password, _ := d.user.Password()
		last = bson.D{{Key: "createUser", Value: d.user.Username()}, {Key: "pwd", Value: password},
			{Key: "roles", Value: bson.A{"root"}}}
	}
	if d.options.Members > 0 {
		last = append(last, bson.E{Key: "writeConcern", Value: bson.M{"w": len(d.members)}})
	}
	if _, err := d.runAdmin(ctx, opts, last); err != nil {
		return d.members[0].explain(err)
	}
	return d.awaitPrimary(ctx)
}

// String names the deployment with its version.
func (d *Deployment) String() string {
	if d.Name == SecantusDB {
		return "SecantusDB " + d.Version
	}
	return "mongod " + d.Version
}

// Env is the environment in which upstream's tests find the deployment.
func (d *Deployment) Env() []string {
	env := []string{"MONGODB_URI=" + d.URI}
	if d.user != nil {
		env = append(env, "AUTH=auth")
	}
	return env
}

// Members returns the members, in the order of their numbers.
func (d *Deployment) Members() []*Member { return d.members }

// Err says which member ended first without being killed, and why; nil if none has.
func (d *Deployment) Err() error { return context.Cause(d.running) }

// Wait waits until the context ends. If a member ends first, it returns why.
func (d *Deployment) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-d.running.Done():
		return d.Err()
	}
}

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

// runAdmin waits until a server that may run a command, of a replica set the primary, answers, but not longer than startTimeout or until a
// member has ended by itself, runs it on the database admin, and returns the reply.
func (d *Deployment) runAdmin(ctx context.Context, opts *options.ClientOptions, command bson.D) (bson.Raw, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	defer context.AfterFunc(d.running, cancel)()
	client, err := mongo.Connect(opts.SetServerSelectionTimeout(startTimeout))
	if err != nil {
		return nil, err
	}
	// Ending sessions is not worth waiting for a server that may be gone.
	defer func() { _ = client.Disconnect(context.WithoutCancel(ctx)) }()
	reply, err := client.Database("admin").RunCommand(ctx, command).Raw()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", command[0].Key, err)
	}
	return reply, nil
}

// awaitPrimary waits until the deployment has a writable primary, and asks it for its version.
func (d *Deployment) awaitPrimary(ctx context.Context) error {
	reply, err := d.runAdmin(ctx, optionsFor(d.URI), bson.D{{Key: "buildInfo", Value: 1}})
	d.Version, _ = reply.Lookup("version").StringValueOK()
	return err
}
