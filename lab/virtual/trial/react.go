package trial

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/virtual"
)

// servers returns the options of the plan's servers.
func (p Plan) servers() virtual.Options {
	opts := virtual.Options{Topology: p.Topology, Nearest: int(p.Seed % 6), Batch: p.Batch}
	if p.Auth.Mechanism != "" {
		opts.Auth = &virtual.Auth{Speculative: p.Auth.Speculative, Exchange: p.Auth.Exchange}
	}
	return opts
}

// client gives a client what connection strings lack: the plan's credentials, and a mode of monitoring, which upstream reads there but
// does not apply.
func (p Plan) client(opts *options.ClientOptions) *options.ClientOptions {
	for _, option := range p.Options {
		if mode, ok := strings.CutPrefix(option, "serverMonitoringMode="); ok {
			opts.SetServerMonitoringMode(mode)
		}
	}
	mechanism := p.Auth.Mechanism
	switch mechanism {
	case "":
		return opts
	case Offered:
		mechanism = ""
	case OIDC:
		token := func(context.Context, *options.OIDCArgs) (*options.OIDCCredential, error) {
			return &options.OIDCCredential{AccessToken: virtual.Token}, nil
		}
		return opts.SetAuth(options.Credential{AuthMechanism: mechanism, OIDCMachineCallback: token})
	}
	return opts.SetAuth(options.Credential{AuthMechanism: mechanism, Username: virtual.User, Password: virtual.Password})
}

// These are added to a call's number for the command that its monitor runs, and for the second end of its transaction.
const monitors, second = 1000, 2000

// monitor is the kind of such a command, endSession of what ends a call's session.
const monitor, endSession = "monitor", "endSession"

// react is what the plan's monitors do.
func (a *application) react(ctx context.Context, event string) {
	m := a.plan.Monitor
	c := callOf(ctx)
	if event != m.On || c.ID == 0 || c.ID >= monitors || c.Kind == endSession {
		return
	}
	if time.Sleep(m.Takes); m.Asks == 0 {
		return
	}
	c.ID, c.Kind = c.ID+monitors, monitor
	a.note(func() { delete(a.calls, c.ID) }) // this one's attempts are not more of the last one's
	ctx, cancel := context.WithCancel(context.WithValue(ctx, callKey{}, c))
	defer cancel()
	time.AfterFunc(m.Asks+asideOf(c.ID), cancel)
	n, err := a.coll.EstimatedDocumentCount(ctx)
	a.ended(c.ID, n, err)
}

// caught makes a call. What it panics with is its error, so that the others go on.
func (a *application) caught(ctx context.Context, c Call) (result any, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("%w: %v", errPanic, reason)
		}
	}()
	return kinds[c.Kind].run(calling{a, c, ctx})
}

// altered returns a reply as the fault makes it.
func altered(f Fault, reply bson.Raw) bson.Raw {
	if reply == nil {
		return nil
	}
	fields := bson.D{{Key: "pad", Value: bson.Binary{Data: make([]byte, 3_000_000)}}}
	switch f.What {
	case Lack:
		outer, inner, _ := strings.Cut(f.Field, ".")
		nested, isNested := reply.Lookup(outer).DocumentOK()
		if inner == "" || !isNested {
			return bsondoc.Rebuild(reply, []string{outer}, nil)
		}
		fields = bson.D{{Key: outer, Value: bsondoc.Rebuild(nested, []string{inner}, nil)}}
	case Labels:
		labels := make([]string, 20_000)
		for i := range labels {
			labels[i] = fmt.Sprintf("label%07d", i)
		}
		fields = bson.D{{Key: "errorLabels", Value: labels}}
		if bsondoc.Succeeded(reply) {
			fields = append(fields, bson.E{Key: "writeErrors",
				Value: bson.A{bson.D{{Key: "index", Value: 0}, {Key: "code", Value: 8},
					{Key: "errmsg", Value: "fails by plan"}}}})
		}
	}
	return bsondoc.With(reply, fields...)
}
