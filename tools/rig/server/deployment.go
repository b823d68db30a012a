package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"golang.org/x/sync/errgroup"
)

const (
	defaultReplicaSet = "rig"

	// Elections depend on these times, so they are short.
	electionTimeoutMillis   = 2000
	heartbeatIntervalMillis = 500
)

// Options configures Start. Binary, Dir and Form are required.
type Options struct {
	// Binary is the path of a mongod.
	Binary string
	// Dir is the folder below which a new one is made for data and logs.
	Dir string
	// Form is a standalone or a replica set.
	Form Form
	// ReplicaSet is the name of the replica set. The default is "rig".
	ReplicaSet string
	// Arguments are appended to each mongod's command line.
	Arguments []string
	// Host returns the name in the replica set's configuration of member number n, counted from 0, at an address; the default is
	// the address. It is called in the members' order once all of them listen, before they form a replica set.
	Host func(member int, address string) (string, error)
}

// Deployment is a running standalone or replica set. Its methods may be called from several goroutines.
type Deployment struct {
	options Options
	dir     string
	user    *url.Userinfo
	members []*Member
	version string

	failure sync.Once
	failed  chan struct{}
	err     error // may be read once failed is closed
}

// Start starts a deployment and returns when it has a primary and all other members are secondaries. The caller must Stop it.
// After an error nothing is left of it.
func Start(ctx context.Context, o Options) (*Deployment, error) {
	if o.ReplicaSet == "" {
		o.ReplicaSet = defaultReplicaSet
	}
	d := &Deployment{options: o, failed: make(chan struct{})}
	var err error
	if d.dir, err = newRunDir(o.Dir); err != nil {
		return nil, fmt.Errorf("make a folder for the servers: %w", err)
	}
	starting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := d.start(starting); err != nil {
		if failed := d.Err(); failed != nil {
			err = failed // which is why
		}
		return nil, errors.Join(err, d.Stop())
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
		return fmt.Errorf("%w\n%s", err, d.Log())
	}
	return nil
}

// prepare makes the files and the members, without starting them.
func (d *Deployment) prepare() (err error) {
	if d.options.Form.TLS {
		if err := makeCertificate(d.certificate()); err != nil {
			return fmt.Errorf("make a certificate: %w", err)
		}
	}
	if d.options.Form.Users {
		d.user = url.UserPassword("root", rand.Text())
		if err := os.WriteFile(d.key(), []byte(rand.Text()+rand.Text()), 0o600); err != nil {
			return err
		}
	}
	addresses, err := freeAddresses(d.options.Form.size)
	if err != nil {
		return err
	}
	for i, address := range addresses {
		m := &Member{deployment: d, number: i, dir: filepath.Join(d.dir, fmt.Sprint(i)), address: address, host: address}
		if err := os.MkdirAll(filepath.Join(m.dir, "data"), 0o700); err != nil {
			return err
		}
		d.members = append(d.members, m)
	}
	return nil
}

// certificate is the file with the certificate of all members and clients.
func (d *Deployment) certificate() string { return filepath.Join(d.dir, "certificate.pem") }

// key is the file by which members recognize each other.
func (d *Deployment) key() string { return filepath.Join(d.dir, "key") }

// assemble makes the members a replica set, or leaves one alone, and creates the user.
func (d *Deployment) assemble(ctx context.Context) (err error) {
	if d.options.Form.kind == replicaSet {
		if err := d.initiate(ctx); err != nil {
			return err
		}
	}
	if d.user != nil {
		password, _ := d.user.Password()
		create := bson.D{{Key: "createUser", Value: d.user.Username()}, {Key: "pwd", Value: password},
			{Key: "roles", Value: bson.A{"root"}}}
		if d.options.Form.kind == replicaSet {
			// Clients may log in to any member.
			create = append(create, bson.E{Key: "writeConcern", Value: bson.D{{Key: "w", Value: len(d.members)}}})
		}
		// A server without users allows this to any connection from its own machine.
		opts := options.Client().ApplyURI(d.URI())
		opts.Auth = nil
		if err := runAdmin(ctx, opts, create); err != nil {
			return err
		}
	}
	d.version, err = awaitPrimary(ctx, d.URI(), d.failed)
	return err
}

// initiate makes the members a replica set, and returns when each is its primary or a secondary.
func (d *Deployment) initiate(ctx context.Context) (err error) {
	var members bson.A
	for _, m := range d.members {
		if d.options.Host != nil {
			if m.host, err = d.options.Host(m.number, m.address); err != nil {
				return fmt.Errorf("name %v: %w", m, err)
			}
		}
		members = append(members, bson.D{{Key: "_id", Value: m.number}, {Key: "host", Value: m.host}})
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
	if err := runAdmin(ctx, d.members[0].direct(), bson.D{{Key: "replSetInitiate", Value: configuration}}); err != nil {
		return err
	}
	for _, m := range d.members {
		if err := m.awaitRole(ctx, func(role hello) bool { return role.Primary || role.Secondary }); err != nil {
			return err
		}
	}
	return nil
}

// RunAdmin runs a command on the database admin.
func (d *Deployment) RunAdmin(ctx context.Context, command bson.D) error {
	return runAdmin(ctx, options.Client().ApplyURI(d.URI()), command)
}

// URI is the connection string for clients, with all options that they need.
func (d *Deployment) URI() string {
	var hosts []string
	for _, m := range d.members {
		hosts = append(hosts, m.host)
	}
	query := url.Values{}
	if d.options.Form.kind == replicaSet {
		query.Set("replicaSet", d.options.ReplicaSet)
	}
	return d.uri(strings.Join(hosts, ","), query)
}

func (d *Deployment) uri(hosts string, query url.Values) string {
	uri := url.URL{Scheme: "mongodb", User: d.user, Host: hosts, Path: "/"}
	if d.options.Form.TLS {
		query.Set("tls", "true")
		query.Set("tlsCAFile", d.certificate())
		query.Set("tlsCertificateKeyFile", d.certificate())
	}
	uri.RawQuery = query.Encode()
	return uri.String()
}

// driverTests is the environment in which upstream's tests find the deployment. They add the TLS options themselves.
func (d *Deployment) driverTests() []string {
	var env []string
	if d.user != nil {
		env = append(env, "AUTH=auth")
	}
	uri := d.URI()
	if d.options.Form.TLS {
		parsed, _ := url.Parse(uri) // it was made above
		parsed.RawQuery = url.Values{"replicaSet": {d.options.ReplicaSet}}.Encode()
		uri = parsed.String()
		env = append(env, "SSL=ssl")
		for _, name := range []string{"CA_FILE", "KEY_FILE", "PKCS8_UNENCRYPTED_KEY_FILE"} {
			env = append(env, "MONGO_GO_DRIVER_"+name+"="+d.certificate())
		}
	}
	return append(env, "MONGODB_URI="+uri)
}

// Members returns the members, in the order of their numbers.
func (d *Deployment) Members() []*Member { return d.members }

// Version is the members' version, such as 6.0.5.
func (d *Deployment) Version() string { return d.version }

// Failed is closed when a member ends without being killed.
func (d *Deployment) Failed() <-chan struct{} { return d.failed }

// Err says which member ended first without being killed, and why; nil if none has.
func (d *Deployment) Err() error {
	select {
	case <-d.failed:
		return d.err
	default:
		return nil
	}
}

func (d *Deployment) fail(err error) {
	d.failure.Do(func() {
		d.err = err
		close(d.failed)
	})
}

// Log returns the last lines of the members' logs, for an error message.
func (d *Deployment) Log() string {
	var text strings.Builder
	for _, m := range d.members {
		if c := m.running(); c != nil {
			fmt.Fprintf(&text, "%v:\n%s\n", m, c.Log())
		}
	}
	return text.String()
}

// Stop kills the members, paused or not, and removes their files.
func (d *Deployment) Stop() error {
	for _, m := range d.members {
		m.Kill()
	}
	return os.RemoveAll(d.dir)
}
