// Package limits runs an application with the fork against a server's limits on the rates of requests and new connections. It
// checks that operations succeed nevertheless, and that the driver does what it has to and no more.
//
// It needs what the fork adds to the driver, so it is not part of the lab's own program, which can also be built with upstream's.
package limits

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/deployment"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/topology"
)

// restoreTime limits how long ending the limits may take.
const restoreTime = 30 * time.Second

// Config describes a run.
type Config struct {
	// URI is the connection string of a server that is primary or router, with one host. Its user, if any, has to be allowed
	// to set parameters. The database "limits" is dropped.
	URI string
	// ServerOnly makes it an error if the server has no limits; otherwise a lab before it provides them.
	ServerOnly bool
}

// Run returns the results, or an error if the run failed. Either way it restores the limits.
func Run(ctx context.Context, config Config) (*Report, error) {
	backend, err := proxy.ParseBackend(config.URI)
	if err != nil {
		return nil, err
	}
	connect := func() *options.ClientOptions { return options.Client().ApplyURI(withRetries(config.URI)) }
	missing, err := missingParameters(ctx, connect())
	switch {
	case err != nil:
		return nil, err
	case len(missing) == 0:
		return runOn(ctx, "the server itself", connect)
	case config.ServerOnly:
		return nil, fmt.Errorf("the server has no %s: it takes a mongod or mongos of 8.2 or later", strings.Join(missing, ", no "))
	default:
		return runOnLab(ctx, backend, connect().Auth)
	}
}

// withRetries returns the connection string for as many retries as the specification of 2026-03-12 allows. On v2.5.0 that is
// so anyhow, and the option is not known and left alone.
func withRetries(uri string) string {
	const option = "maxAdaptiveRetries=5"
	switch {
	case strings.Contains(uri, "?"):
		return uri + "&" + option
	case strings.Count(uri, "/") > len("//"):
		return uri + "?" + option
	default:
		return uri + "/?" + option
	}
}

// missingParameters returns the names of the parameters that a server does not have.
func missingParameters(ctx context.Context, opts *options.ClientOptions) (missing []string, err error) {
	admin, err := newAdministrator(opts)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, admin.client.Disconnect(context.WithoutCancel(ctx))) }()
	_, missing, err = admin.learn(ctx)
	return missing, err
}

// runOnLab runs on a lab before the server. Clients authenticate with the server.
func runOnLab(ctx context.Context, backend proxy.Backend, auth *options.Credential) (report *Report, err error) {
	l, err := deployment.Open(deployment.Config{
		Topology: topology.Spec{Kind: topology.ReplicaSet, Members: 1}, Backend: backend, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	labCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- l.Run(labCtx) }()
	defer func() {
		stop()
		err = errors.Join(err, <-ended)
	}()
	return runOn(ctx, "the lab, before a server without them", func() *options.ClientOptions {
		opts := options.Client().ApplyURI(withRetries(l.Endpoints()[0].URI))
		if auth != nil {
			opts.SetAuth(*auth)
		}
		return opts
	})
}

// trial is a run under way.
type trial struct {
	admin   *administrator
	connect func() *options.ClientOptions
	report  *Report
}

// runOn runs on what has the limits.
func runOn(ctx context.Context, where string, connect func() *options.ClientOptions) (_ *Report, err error) {
	admin, err := newAdministrator(connect())
	if err != nil {
		return nil, err
	}
	t := &trial{admin: admin, connect: connect, report: &Report{Where: where}}
	after := context.WithoutCancel(ctx)
	defer func() { err = errors.Join(err, admin.client.Disconnect(after)) }()
	if admin.former, _, err = admin.learn(ctx); err != nil {
		return nil, err
	}
	// Whatever has happened.
	defer func() { err = errors.Join(err, t.end(after)) }()
	if err := admin.client.Database(database).Drop(ctx); err != nil {
		return nil, err
	}
	if err := admin.exempt(ctx); err != nil {
		return nil, err
	}
	for _, try := range []func(context.Context) error{t.requests, t.exhausted, t.connections} {
		if err := try(ctx); err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return t.report, nil
}

// end restores what was changed.
func (t *trial) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, restoreTime)
	defer cancel()
	restored, err := t.admin.restore(ctx)
	t.report.add("both", "all parameters have their former values", restored, "%d parameters", len(parameterNames))
	return errors.Join(err, t.admin.client.Database(database).Drop(ctx))
}

// limited does something while a limit is on, and returns what was rejected meanwhile.
func (t *trial) limited(ctx context.Context, enabled string, do func()) (rejected, error) {
	before, err := t.admin.rejected(ctx)
	if err != nil {
		return rejected{}, err
	}
	err = t.admin.set(ctx, sets(enabled, true))
	if err == nil {
		do()
	}
	// A run that is interrupted leaves no limit behind either.
	after := context.WithoutCancel(ctx)
	err = errors.Join(err, t.admin.set(after, sets(enabled, false)))
	now, statusErr := t.admin.rejected(after)
	return rejected{now.requests - before.requests, now.connections - before.connections}, errors.Join(err, statusErr)
}
