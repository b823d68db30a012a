package fronts

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/fault"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/servererror"
)

// faultCommand is the command by which clients of any front disturb the deployment:
//
//	{labFault: "silent", member: 0, seconds: 10}
const faultCommand = "labFault"

// Handle implements proxy.Handler. It comes before all faults, so that each can be ended at the front that has it.
func (l *Lab) Handle(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	if req.Command != faultCommand {
		return next(ctx, req, reply)
	}
	var f struct {
		Kind    string  `bson:"labFault"`
		Member  int     `bson:"member"`
		Seconds float64 `bson:"seconds"`
	}
	err := bson.Unmarshal(req.Document(), &f)
	if err == nil {
		err = l.Disturb(ctx, f.Kind, f.Member, time.Duration(f.Seconds*float64(time.Second)))
	}
	if err != nil {
		return servererror.Errorf(servererror.CodeBadValue, "%v", err).Send(req, reply)
	}
	return servererror.OK(req, reply)
}

// Disturb lets something happen to a member or its front. A fault or a partition ends by itself after a time, unless that is 0.
func (l *Lab) Disturb(ctx context.Context, what string, member int, after time.Duration) error {
	switch kind := fault.Kind(what); {
	case kind == fault.Off, kind == fault.Silent, kind == fault.Reset:
		return l.SetFault(member, kind, after)
	case l.config.Members == nil:
		return fmt.Errorf("%q needs --topology members; without, there are %q, %q and %q", what, fault.Off, fault.Silent,
			fault.Reset)
	default:
		return l.config.Members.Disturb(ctx, what, member, after)
	}
}
