package fronts

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/overload"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/servererror"
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

// Handle is a proxy.Handler. It comes before a front's silence, which can be ended by a connection to that front, too.
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

// Disturb lets something happen to a front, or to its member.
func (l *Lab) Disturb(ctx context.Context, what string, number int) error {
	if number < 0 || number >= len(l.fronts) {
		return fmt.Errorf("there is no member %d; they are numbered from 0 to %d", number, len(l.fronts)-1)
	}
	f := l.fronts[number]
	switch what {
	case Silent, Off:
		f.silence.Store(what == Silent)
		return nil
	case Reset:
		f.proxy.Reset()
		return nil
	}
	if l.config.Members == nil {
		return fmt.Errorf("labFault %q: without real members there are %q, %q and %q", what, Silent, Off, Reset)
	}
	switch member := l.config.Members.Members()[number]; what {
	case Kill:
		member.Kill()
		return nil
	case Restart:
		return member.Restart(ctx)
	case Pause:
		return member.Pause()
	case Resume:
		return member.Resume()
	case StepDown:
		return member.StepDown(ctx)
	}
	return fmt.Errorf("labFault %q: give %q, %q, %q, %q, %q, %q, %q or %q", what, Silent, Off, Reset, Kill, Restart, Pause, Resume,
		StepDown)
}

// Primary returns the number of the real member that is primary.
func (l *Lab) Primary(ctx context.Context) (member int, found bool) {
	for i, m := range l.config.Members.Members() {
		if m.IsPrimary(ctx) {
			return i, true
		}
	}
	return 0, false
}

// Limit sets the limits of all fronts.
func (l *Lab) Limit(requests, connections overload.Limit) {
	for _, f := range l.fronts {
		f.limits.Requests.SetLimit(requests)
		f.limits.Connections.SetLimit(connections)
	}
}

// silence lets a front accept everything and answer nothing while it is on; what came meanwhile then goes on.
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
