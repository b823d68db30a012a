package deployment

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/answer"
	"mongofork/lab/internal/fault"
	"mongofork/lab/internal/members"
	"mongofork/lab/internal/proxy"
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
		err = l.disturb(ctx, f.Kind, f.Member, time.Duration(f.Seconds*float64(time.Second)))
	}
	if err != nil {
		return answer.Errorf(answer.CodeBadValue, "%v", err).Send(req, reply)
	}
	return answer.OK(req, reply)
}

// disturb begins something at a member or its front, which ends after a time if that is not 0.
func (l *Lab) disturb(ctx context.Context, kind string, member int, after time.Duration) error {
	switch set := l.config.Members; {
	case fault.Kind(kind) == fault.Off, fault.Kind(kind) == fault.Silent, fault.Kind(kind) == fault.Reset:
		return l.SetFault(member, fault.Kind(kind), after)
	case set == nil:
		return fmt.Errorf("%q needs --topology members; without, there are %q, %q and %q", kind, fault.Off, fault.Silent, fault.Reset)
	case kind == "partition":
		return set.Partition([]int{member}, after)
	case kind == "heal":
		return set.Partition(nil, 0)
	default:
		return set.Process(ctx, member, members.Action(kind))
	}
}
