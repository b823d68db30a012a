package fronts

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/overload"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/servererror"
	"mongofork/tools/rig/server"
)

// What can happen to a front or to the real member behind it.
const (
	Silent  = "silent"  // the front accepts everything and answers nothing
	Off     = "off"     // ends that: it goes on with what came meanwhile
	Reset   = "reset"   // the front's connections are reset
	Kill    = "kill"    // SIGKILL
	Restart = "restart" // on the same data; the member is killed first where it runs
	Pause   = "pause"   // SIGSTOP
	Resume  = "resume"  // SIGCONT
	// StepDown makes the primary a secondary for some seconds.
	StepDown = "stepDown"
)

// disturbCommand is the command by which clients of any front disturb the deployment:
//
//	{labFault: "silent", member: 1}
const disturbCommand = "labFault"

// Handle is a proxy.Handler. It runs before the front's silence, so that a client can end the silence over a connection to that front.
func (l *Lab) Handle(ctx context.Context, req *proxy.Request, next proxy.Next) (bson.Raw, error) {
	if req.Command != disturbCommand {
		return next(ctx, req)
	}
	what, _ := req.Document().Lookup(disturbCommand).StringValueOK()
	member, _ := req.Document().Lookup("member").AsInt64OK()
	if err := l.Disturb(ctx, what, int(member)); err != nil {
		return servererror.Errorf(servererror.CodeBadValue, "%v", err).Reply(), nil
	}
	return servererror.OK(), nil
}

var (
	ofFront = map[string]func(*front){
		Silent: func(f *front) { f.silence.Store(true) },
		Off:    func(f *front) { f.silence.Store(false) },
		Reset:  func(f *front) { f.proxy.Reset() },
	}
	ofMember = map[string]func(*server.Member, context.Context) error{
		Kill:     func(m *server.Member, _ context.Context) error { m.Kill(); return nil },
		Restart:  (*server.Member).Restart,
		Pause:    func(m *server.Member, _ context.Context) error { return m.Pause() },
		Resume:   func(m *server.Member, _ context.Context) error { return m.Resume() },
		StepDown: (*server.Member).StepDown,
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

// silence makes a front accept everything and answer nothing while it is on. When it ends, the front handles what came meanwhile.
type silence struct{ atomic.Bool }

// wait returns nil once it is off, or the reason why the context ended.
func (s *silence) wait(ctx context.Context) error {
	for s.Load() {
		if err := clock.Wait(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// Handle is a proxy.Handler.
func (s *silence) Handle(ctx context.Context, req *proxy.Request, next proxy.Next) (bson.Raw, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	reply, err := next(ctx, req)
	if err == nil {
		err = s.wait(ctx) // what the server answers meanwhile, such as to a hello that waits for news, has to be held back, too
	}
	return reply, err
}
