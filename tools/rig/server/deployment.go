package server

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	random "math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"golang.org/x/sync/errgroup"

	"mongofork/tools/process"
	"mongofork/tools/rig/pypi"
)

// Options configures Start. Binary and Dir are required.
type Options struct {
	Binary     string   // the path of a mongod
	Dir        string   // the folder below which a new one is made for data and logs
	Members    int      // the number of members of a replica set; 0 stands for a standalone
	Users      bool     // makes clients authenticate as "root", with a random password that URIs contain
	ReplicaSet string   // the name of the replica set. The default is "rig".
	Arguments  []string // appended to each mongod's command line

	servers   int                           // the number of servers that are no members; the default is 1
	arguments func(address string) []string // returns the command line of a server that is no mongod, by its address
	below     *Deployment                   // the servers that the members need. They end after the members, or if these do not start.
}

// Deployment is a running replica set, or another server. It has no members if it was not started here. Its methods may be called from
// several goroutines.
type Deployment struct {
	// Name says which of the servers that Open finds it is, and Version is what it says it is, such as 8.2.11.
	Name, Version string
	URI           string // the connection string for clients

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
		if err = group.Wait(); err == nil {
			err = d.assemble(ctx)
		}
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
		m.address, err = freeAddress()
		if err := errors.Join(err, os.MkdirAll(filepath.Join(m.dir, "data"), 0o700)); err != nil {
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
		owner, other := strconv.Atoi(strings.Split(filepath.Base(dir), "-")[1])
		process, gone := os.FindProcess(owner)
		if other == nil && (gone != nil || errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone)) {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}
	if err != nil {
		return "", err
	}
	return os.MkdirTemp(parent, fmt.Sprintf("run-%d-", os.Getpid()))
}

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

func (d *Deployment) String() string {
	if d.Name == SecantusDB {
		return "SecantusDB " + d.Version
	}
	return "mongod " + d.Version
}

// Env is the environment in which upstream's tests find the deployment.
func (d *Deployment) Env() []string {
	if d.user != nil {
		return []string{"MONGODB_URI=" + d.URI, "AUTH=auth"}
	}
	return []string{"MONGODB_URI=" + d.URI}
}

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
		err = fmt.Errorf("%s: %w", command[0].Key, err)
	}
	return reply, err
}

// awaitPrimary waits until the deployment has a writable primary, and asks it for its version.
func (d *Deployment) awaitPrimary(ctx context.Context) error {
	reply, err := d.runAdmin(ctx, optionsFor(d.URI), bson.D{{Key: "buildInfo", Value: 1}})
	d.Version, _ = reply.Lookup("version").StringValueOK()
	return err
}

// Member is one mongod, or another server. Its methods may be called from several goroutines.
type Member struct {
	deployment   *Deployment
	dir, address string

	mu  sync.Mutex // held while something happens to the process
	cmd *exec.Cmd  // nil unless it was started and not killed since
	end func()     // ends it
}

func (m *Member) String() string { return "member " + m.address }

// Address returns where the member listens, which is its name in the replica set.
func (m *Member) Address() string { return m.address }

// Kill ends the member, paused or not, like a crash of its machine, and returns when it has ended. Its data stays. Killing a member that
// does not run does nothing.
func (m *Member) Kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kill()
}

func (m *Member) kill() {
	if m.cmd != nil {
		m.end()
		m.cmd = nil
	}
}

// Restart starts the member with its data and port, and returns when it answers. If it runs, it is killed first. The process's files, the
// temporary ones and its output included, are in the member's folder. On Linux it ends even if this process is killed.
func (m *Member) Restart(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kill()
	log, err := os.OpenFile(m.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own copy
	wanted, kill := context.WithCancel(context.Background())
	o := m.deployment.options
	env := slices.Concat(os.Environ(), pypi.Isolated, []string{"TMPDIR=" + m.dir, "TMP=" + m.dir, "TEMP=" + m.dir})
	cmd := process.Command(wanted, m.dir, env, o.Binary, m.arguments()...)
	cmd.Cancel = func() error { return cmd.Process.Kill() }
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		kill()
		return fmt.Errorf("%v: start %s: %w", m, o.Binary, err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // how it ended is in its state
		if wanted.Err() == nil {
			m.deployment.fail(m.explain(fmt.Errorf("it exited (%v)", cmd.ProcessState)))
		}
		process.Reap(cmd)
	}()
	m.cmd, m.end = cmd, func() { kill(); <-ended }
	if _, err := m.deployment.runAdmin(ctx, direct(m.address), bson.D{{Key: "ping", Value: 1}}); err != nil {
		m.kill()
		return m.explain(fmt.Errorf("it does not answer: %w", err))
	}
	return nil
}

func (m *Member) log() string { return filepath.Join(m.dir, "log") }

// explain adds the member and the end of its output to an error.
func (m *Member) explain(err error) error {
	text, readErr := os.ReadFile(m.log())
	text = bytes.TrimSpace(text[max(0, len(text)-4096):])
	return errors.Join(fmt.Errorf("%v: %w; the end of its log:\n%s", m, err, text), readErr)
}

// IsPrimary asks the member whether it is the primary; one that does not answer within a second is not.
func (m *Member) IsPrimary(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second) // a paused server accepts connections and answers nothing
	defer cancel()
	hello, err := m.deployment.runAdmin(ctx, direct(m.address), bson.D{{Key: "hello", Value: 1}})
	primary, _ := hello.Lookup("isWritablePrimary").BooleanOK()
	return err == nil && primary
}

// StepDown makes the primary a secondary that is not elected for some seconds.
func (m *Member) StepDown(ctx context.Context) error {
	_, err := m.deployment.runAdmin(ctx, direct(m.address), bson.D{
		{Key: "replSetStepDown", Value: 3}, {Key: "force", Value: true}, {Key: "secondaryCatchUpPeriodSecs", Value: 2},
	})
	return err
}

// Pause stops the process, like an overloaded machine; its connections stay open.
func (m *Member) Pause() error { return m.signal(process.Pause) }

// Resume continues a paused process.
func (m *Member) Resume() error { return m.signal(process.Resume) }

func (m *Member) signal(signal os.Signal) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cmd == nil {
		return fmt.Errorf("%v: %w", m, os.ErrProcessDone)
	}
	return m.cmd.Process.Signal(signal)
}

// arguments returns the member's command line. The sizes keep several members on a small machine.
func (m *Member) arguments() []string {
	o := m.deployment.options
	if o.arguments != nil {
		return o.arguments(m.address)
	}
	args := append([]string{"--dbpath", filepath.Join(m.dir, "data"), "--wiredTigerCacheSizeGB", "0.25",
		// Nothing uses these figures, and writing them takes time and space.
		"--setParameter", "diagnosticDataCollectionEnabled=false"}, listen(m.address)...)
	if o.Members > 0 {
		args = append(args, "--replSet", o.ReplicaSet, "--oplogSize", "64")
	}
	if o.Users {
		args = append(args, "--keyFile", m.deployment.key())
	}
	return append(args, o.Arguments...)
}

// listen are the arguments of a mongod or mongos that listens on an address alone, with test commands.
func listen(address string) []string {
	args := []string{"--bind_ip", loopback, "--port", port(address), "--setParameter", "enableTestCommands=1"}
	if runtime.GOOS != "windows" {
		args = append(args, "--nounixsocket") // it would remain in the system's temporary directory
	}
	return args
}

func port(address string) string { return strings.TrimPrefix(address, loopback+":") }

const (
	loopback = "127.0.0.1"

	// firstPort and lastPort lie below the ephemeral ports. Otherwise an outgoing connection could take the port of a member that
	// is down; even a connection to that port can.
	firstPort, lastPort = 20000, 32000
)

// drawn are the addresses that this process was given, so that deployments that start side by side get different ones.
var drawn sync.Map

func freeAddress() (string, error) {
	for range lastPort - firstPort {
		address := fmt.Sprintf("%s:%d", loopback, firstPort+random.IntN(lastPort-firstPort))
		if _, taken := drawn.LoadOrStore(address, true); taken {
			continue
		}
		if listener, err := net.Listen("tcp", address); err == nil {
			return address, listener.Close()
		}
	}
	return "", fmt.Errorf("no free port from %d to %d on %s; end some of the programs that listen there", firstPort, lastPort, loopback)
}
