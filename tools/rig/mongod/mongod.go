// Package mongod runs real members of a deployment, a standalone or a replica set, as child processes: they elect, can be killed,
// restarted on the same data and paused, and end with the process that started them.
package mongod

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Files are the paths of a deployment's files. Those of certificates are empty without TLS.
type Files struct {
	// Folder holds all others.
	Folder string
	// CA is the certificate that all others are signed with, Server a member's certificate and key, Client a client's, and
	// EncryptedClient the same with the key encrypted with the word "password".
	CA, Server, Client, EncryptedClient string
	// key is the members' key, where they need one.
	key string
}

// Deployment is a running standalone or replica set. Its methods may be called from several goroutines.
type Deployment struct {
	options Options
	dir     *runDir
	files   Files
	user    *url.Userinfo
	members []*Member
	version string

	failure sync.Once
	failed  chan struct{}
	err     error // may be read once failed is closed
}

// Start starts a deployment and returns when it has a primary and all other members are secondaries. The caller must Stop it.
// After an error nothing runs, and only logs remain.
func Start(ctx context.Context, options Options) (_ *Deployment, err error) {
	options, err = options.withDefaults()
	if err != nil {
		return nil, err
	}
	d := &Deployment{options: options, failed: make(chan struct{})}
	if d.dir, err = newRunDir(options.Dir); err != nil {
		return nil, fmt.Errorf("make a folder for the servers: %w", err)
	}
	if err := d.start(ctx); err != nil {
		return nil, errors.Join(err, d.abandon())
	}
	return d, nil
}

func (d *Deployment) start(ctx context.Context) error {
	if err := d.prepare(); err != nil {
		return err
	}
	timeout := d.options.StartTimeout
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	group, waiting := errgroup.WithContext(ctx)
	for _, m := range d.members {
		group.Go(func() error { return m.launch(waiting) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := d.assemble(ctx); err != nil {
		if failed := d.Err(); failed != nil {
			return failed // which is why
		}
		return err
	}
	return nil
}

// prepare makes the files and the members, without starting them.
func (d *Deployment) prepare() (err error) {
	d.files = Files{Folder: d.dir.path}
	if d.options.TLS {
		if err := makeCertificates(&d.files); err != nil {
			return fmt.Errorf("make certificates: %w", err)
		}
	}
	if d.options.Users {
		if d.user, d.files.key, err = makeUser(d.dir.path); err != nil {
			return fmt.Errorf("make the members' key: %w", err)
		}
	}
	ports := d.options.Ports
	if len(ports) == 0 {
		if ports, err = freePorts(d.options.Members); err != nil {
			return err
		}
	} else if err := checkPorts(ports); err != nil {
		return err
	}
	for i, port := range ports {
		m := &Member{deployment: d, number: i, dir: filepath.Join(d.dir.path, fmt.Sprint(i)), address: loopback(port)}
		m.host = m.address
		if err := os.Mkdir(m.dir, 0o700); err != nil {
			return err
		}
		d.members = append(d.members, m)
	}
	return nil
}

// URI is the connection string for clients, with all options that they need.
func (d *Deployment) URI() string {
	var hosts []string
	for _, m := range d.members {
		hosts = append(hosts, m.host)
	}
	query := url.Values{}
	if !d.options.Standalone {
		query.Set("replicaSet", d.options.ReplicaSet)
	}
	return d.uri(strings.Join(hosts, ","), query)
}

func (d *Deployment) uri(hosts string, query url.Values) string {
	credentials := ""
	if d.user != nil {
		credentials = d.user.String() + "@"
	}
	if d.options.TLS {
		query.Set("tls", "true")
		query.Set("tlsCAFile", d.files.CA)
		query.Set("tlsCertificateKeyFile", d.files.Client)
	}
	text := "mongodb://" + credentials + hosts + "/"
	if len(query) > 0 {
		text += "?" + query.Encode()
	}
	return text
}

// Members returns the members, in the order of their numbers.
func (d *Deployment) Members() []*Member { return d.members }

// Version is the members' version, such as 6.0.5.
func (d *Deployment) Version() string { return d.version }

// Files returns the paths of the deployment's files, which Stop removes.
func (d *Deployment) Files() Files { return d.files }

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
		fmt.Fprintf(&text, "%v:\n%s\n", m, m.logTail())
	}
	return text.String()
}

// Stop kills the members, paused or not, and removes their files.
func (d *Deployment) Stop() error {
	return errors.Join(d.kill(), d.dir.remove())
}

// abandon is Stop for a deployment that did not start: it keeps the logs, if there are any.
func (d *Deployment) abandon() error {
	err := d.kill()
	logs := false
	for _, m := range d.members {
		err = errors.Join(err, os.RemoveAll(m.data()))
		_, missing := os.Stat(m.log())
		logs = logs || missing == nil
	}
	if !logs {
		return errors.Join(err, d.dir.remove())
	}
	return errors.Join(err, d.dir.release())
}

func (d *Deployment) kill() error {
	var errs []error
	for _, m := range d.members {
		errs = append(errs, m.Kill())
	}
	return errors.Join(errs...)
}
