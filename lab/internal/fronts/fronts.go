// Package fronts puts fronts before a server, so that applications see a deployment in which every part can be made to fail.
package fronts

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"golang.org/x/sync/errgroup"

	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/overload"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/servererror"
	"mongofork/lab/internal/topology"
	"mongofork/tools/rig/server"
)

// Config configures a lab.
type Config struct {
	Members  *server.Deployment // a replica set, with a front before each member
	Backend  string             // the address of the server of which, without members, the fronts make a topology
	Topology topology.Spec
	Logger   *slog.Logger // unless nil, it receives a line for every connection that ends with an error
}

// Lab is a deployment.
type Lab struct {
	Hosts  []string // the addresses of the fronts
	config Config
	fronts []*front
}

// front is one address of the lab.
type front struct {
	listener net.Listener
	proxy    *proxy.Front
	limits   *overload.Front
	silent   atomic.Bool
}

// StartMembers starts a real replica set, for Config.Members. Its files are in a new folder below dir; the caller must stop it.
func StartMembers(ctx context.Context, mongod, dir string, count int) (*server.Deployment, error) {
	return server.Start(ctx, server.Options{Binary: mongod, Dir: dir, Members: count, ReplicaSet: topology.SetName})
}

// Open returns a lab whose fronts listen. They serve once Run is called, which is required.
func Open(config Config) (*Lab, error) {
	if config.Members != nil {
		config.Topology = topology.Spec{Kind: topology.ReplicaSet, Members: len(config.Members.Members())}
	}
	l := &Lab{config: config}
	var names []string // of each member, and of its front
	for i := range config.Topology.Fronts() {
		listener, err := net.Listen("tcp", "127.0.0.1:0") // for this machine only, because the lab lets its clients do anything
		if err != nil {
			return nil, fmt.Errorf("front %d: %w", i, err)
		}
		l.fronts = append(l.fronts, &front{listener: listener, limits: overload.NewFront()})
		l.Hosts = append(l.Hosts, listener.Addr().String())
		if config.Members != nil {
			names = append(names, strconv.Quote(config.Members.Members()[i].Address()), strconv.Quote(l.Hosts[i]))
		}
	}
	made := topology.New(config.Topology, l.Hosts)
	for i, f := range l.fronts {
		// The order of handlers follows a server's: silence first; then the limit, because a server limits requests before it looks
		// at them; then the topology, which lets a hello wait for news; then fail points. Real members have fail points of their
		// own.
		p := proxy.Config{Backend: config.Backend, Accept: f.limits.Accept, Logger: config.Logger,
			Handlers: []proxy.Handler{l.handle, f.handle, f.limits.Handle}}
		if config.Members != nil {
			p.Backend = config.Members.Members()[i].Address()
			p.Handlers = append(p.Handlers, renamed(strings.NewReplacer(names...)))
		} else {
			p.Handlers = append(p.Handlers, made.Handler(i), (&failPoint{router: config.Topology.Routes()}).handle)
		}
		f.proxy = proxy.New(p)
	}
	return l, nil
}

// Run serves until the context ends, and then returns nil; or until a front fails. Nothing is left when it returns.
func (l *Lab) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, f := range l.fronts {
		group.Go(func() error { return f.proxy.Serve(ctx, f.listener) })
	}
	return group.Wait()
}

// URIs returns the applications' connection strings for the lab.
func (l *Lab) URIs() []string { return l.config.Topology.URIs(l.Hosts) }

// renamed makes a front stand for a real member: clients see the addresses of the fronts, which take the place of the members' in
// replies to hellos. The member answers hellos itself, and waits for changes if asked to.
func renamed(names *strings.Replacer) proxy.Handler {
	return func(ctx context.Context, req *proxy.Request, next proxy.Next) (reply bson.Raw, err error) {
		if reply, err = next(ctx, req); reply == nil || !proxy.IsHello(req.Command) {
			return reply, err
		}
		text, err := bson.MarshalExtJSON(reply, true, false)
		if err == nil {
			err = bson.UnmarshalExtJSON([]byte(names.Replace(string(text))), true, &reply)
		}
		return reply, err
	}
}

// What can happen to a front, and to the real member behind it.
var (
	ofFront = map[string]func(*front){
		"silent": func(f *front) { f.silent.Store(true) },  // it accepts everything and answers nothing
		"off":    func(f *front) { f.silent.Store(false) }, // ends that: it goes on with what came meanwhile
		"reset":  func(f *front) { f.proxy.Reset() },
	}
	ofMember = map[string]func(*server.Member, context.Context) error{
		"kill":     func(m *server.Member, _ context.Context) error { m.Kill(); return nil },
		"restart":  (*server.Member).Restart, // on the same data
		"pause":    func(m *server.Member, _ context.Context) error { return m.Pause() },
		"resume":   func(m *server.Member, _ context.Context) error { return m.Resume() },
		"stepDown": (*server.Member).StepDown,
	}
)

// Disturb lets something happen to a front, or to its member.
func (l *Lab) Disturb(ctx context.Context, what string, number int) error {
	if number < 0 || number >= len(l.fronts) {
		return fmt.Errorf("there is no member %d; they are numbered from 0 to %d", number, len(l.fronts)-1)
	}
	if happen, ok := ofFront[what]; ok {
		happen(l.fronts[number])
		return nil
	}
	if happen, ok := ofMember[what]; ok && l.config.Members != nil {
		return happen(l.config.Members.Members()[number], ctx)
	}
	return fmt.Errorf("labFault %q: give one of %q, and of %q with real members", what, slices.Sorted(maps.Keys(ofFront)),
		slices.Sorted(maps.Keys(ofMember)))
}

// handle is a proxy.Handler of the command by which clients of any front disturb the deployment:
//
//	{labFault: "silent", member: 1}
//
// It runs before the front's silence, so that a client can end the silence over a connection to that front.
func (l *Lab) handle(ctx context.Context, req *proxy.Request, next proxy.Next) (bson.Raw, error) {
	if req.Command != "labFault" {
		return next(ctx, req)
	}
	what, _ := req.Document().Lookup(req.Command).StringValueOK()
	member, _ := req.Document().Lookup("member").AsInt64OK()
	if err := l.Disturb(ctx, what, int(member)); err != nil {
		return servererror.Errorf(servererror.CodeBadValue, "%v", err).Reply(), nil
	}
	return servererror.OK(), nil
}

// Primary returns the number of the real member that is primary; -1 if none is.
func (l *Lab) Primary(ctx context.Context) int {
	return slices.IndexFunc(l.config.Members.Members(), func(m *server.Member) bool { return m.IsPrimary(ctx) })
}

// Limit sets the limits of all fronts.
func (l *Lab) Limit(requests, connections overload.Limit) {
	for _, f := range l.fronts {
		f.limits.Requests.SetLimit(requests)
		f.limits.Connections.SetLimit(connections)
	}
}

// wait returns nil once the front is not silent, or the reason why the context ended.
func (f *front) wait(ctx context.Context) (err error) {
	for err == nil && f.silent.Load() {
		err = clock.Wait(ctx, time.Millisecond)
	}
	return err
}

// handle is a proxy.Handler. Once the front is no longer silent, it handles what came meanwhile.
func (f *front) handle(ctx context.Context, req *proxy.Request, next proxy.Next) (reply bson.Raw, err error) {
	if err = f.wait(ctx); err == nil {
		reply, err = next(ctx, req)
	}
	if err == nil {
		err = f.wait(ctx) // what the server answers meanwhile, such as to a hello that waits for news, has to be held back, too
	}
	return reply, err
}

// failPoint is the fail point failCommand of the server's test builds, set with configureFailPoint, of one front with any backend. It is
// off at first. The next handler does not see the commands that fail.
type failPoint struct {
	router bool // whether it is a router's, which does not label errors as retryable writes

	mu    sync.Mutex
	times int64 // how often it still is taken
	data  *data // which does not change
}

// data is what the fail point does.
type data struct {
	FailCommands      []string  `bson:"failCommands"`
	AppName           *string   `bson:"appName"`
	BlockConnection   bool      `bson:"blockConnection"`
	BlockTimeMS       int32     `bson:"blockTimeMS"`
	CloseConnection   bool      `bson:"closeConnection"`
	ErrorCode         *int32    `bson:"errorCode"`
	ErrorLabels       *[]string `bson:"errorLabels"` // without it, those that the server itself would give
	WriteConcernError bson.Raw  `bson:"writeConcernError"`
}

// handle is a proxy.Handler. Fail points that the lab does not have are passed to the backend, and apply to all fronts.
func (h *failPoint) handle(ctx context.Context, req *proxy.Request, next proxy.Next) (bson.Raw, error) {
	if req.Command == "configureFailPoint" && req.Database == "admin" {
		if name, _ := req.Document().Lookup(req.Command).StringValueOK(); name != "failCommand" {
			return next(ctx, req)
		}
		return h.configure(req.Document()), nil
	}
	failing := h.take(req)
	if failing == nil {
		return next(ctx, req)
	}
	if failing.BlockConnection {
		if err := clock.Wait(ctx, time.Duration(failing.BlockTimeMS)*time.Millisecond); err != nil {
			return nil, err
		}
	}
	if failing.CloseConnection {
		return nil, proxy.ErrClose
	}
	labels := func(code, writeConcernCode int32) []string {
		if failing.ErrorLabels != nil {
			return *failing.ErrorLabels
		}
		return servererror.Labels(req.Document(), code, writeConcernCode, h.router)
	}
	if failing.ErrorCode != nil {
		failure := servererror.Errorf(*failing.ErrorCode, "Failing command via 'failCommand' failpoint")
		failure.Labels = labels(failure.Code, 0)
		return failure.Reply(), nil
	}
	reply, err := next(ctx, req)
	if reply != nil && failing.WriteConcernError != nil {
		code, _ := reply.Lookup("code").AsInt64OK()
		writeConcernCode, _ := failing.WriteConcernError.Lookup("code").AsInt64OK()
		reply = servererror.WithConcern(reply, failing.WriteConcernError, labels(int32(code), int32(writeConcernCode)))
	}
	return reply, err
}

// configure sets the mode and the data, and returns the reply. What is refused changes nothing.
func (h *failPoint) configure(command bson.Raw) bson.Raw {
	var given struct {
		Mode bson.RawValue `bson:"mode"`
		Data data          `bson:"data"`
	}
	if err := bson.Unmarshal(command, &given); err != nil {
		return servererror.Errorf(servererror.CodeTypeMismatch, "failCommand: %v", err).Reply()
	}
	mode, _ := given.Mode.DocumentOK()
	times, limited := mode.Lookup("times").AsInt64OK()
	switch name, _ := given.Mode.StringValueOK(); {
	case name == "alwaysOn":
		times = math.MaxInt64
	case name != "off" && (!limited || times < 0):
		return servererror.Errorf(servererror.CodeBadValue, `mode is %v; give "off", "alwaysOn" or {times: n}`, given.Mode).Reply()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.times, h.data = times, &given.Data
	return servererror.OK()
}

// take returns the data if the command fails, otherwise nil.
func (h *failPoint) take(req *proxy.Request) *data {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.times == 0 || h.data.AppName != nil && *h.data.AppName != req.Client.AppName ||
		!slices.Contains(h.data.FailCommands, req.Command) {
		return nil
	}
	h.times--
	return h.data
}
