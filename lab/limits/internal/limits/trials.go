package limits

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/clock"
)

const (
	// A rate of 50 a second with 5 saved up rejects most of a wave at first, and all of it is admitted long before an
	// operation has used up its retries, whose backoffs add up to 1.5 seconds on average.
	rate      = 50
	burstSecs = 0.1
	// wavePause fills the bucket.
	wavePause = 200 * time.Millisecond

	// requestWave is how many connections the driver makes ready at once; for more it takes its time.
	requestWave  = 10
	requestWaves = 5
	// plainWaves follow each other without a pause.
	plainWaves = 3

	// Connections are admitted by twice that rate, for each takes the time of a handshake before it is of use.
	connectingRate      = 100
	connectingBurstSecs = 0.05
	connectionWave      = 20
	// latency is more than it takes to begin a wave.
	latency = 20 * time.Millisecond

	// maxCommands is how many commands the specification allows for one operation: one, and five retries.
	maxCommands = 6
	// A rate of 1 a second is too low for a wave: of 10 operations that take some 3 seconds at most, some must fail.
	lowRate      = 1
	lowBurstSecs = 1.0
	// allTokens is how many a client with adaptiveRetries has at first.
	allTokens = 1000
)

func sets(name string, value any) bson.E { return bson.E{Key: name, Value: value} }

// requests runs two applications against a request limit, one of them without retries.
func (t *trial) requests(ctx context.Context) (err error) {
	const limit = "requests"
	plain, err := newApplication(ctx, "without-retries",
		t.connect().SetRetryReads(false).SetRetryWrites(false).SetMinPoolSize(requestWave))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plain.client.Disconnect(context.WithoutCancel(ctx))) }()
	app, err := newApplication(ctx, "with-retries", t.connect().SetAdaptiveRetries(true).SetMinPoolSize(requestWave))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, app.client.Disconnect(context.WithoutCancel(ctx))) }()
	if err := t.admin.set(ctx, sets(requestRate, rate), sets(requestBurst, burstSecs)); err != nil {
		return err
	}
	counted, err := t.limited(ctx, limitRequests, func() {
		for range plainWaves {
			plain.wave(ctx, requestWave)
		}
		for range requestWaves {
			if (clock.System{}).Wait(ctx, wavePause) == nil {
				app.wave(ctx, requestWave)
			}
		}
	})
	if err != nil || ctx.Err() != nil {
		return err
	}
	t.checkPlain(plain)
	did := app.journal.read()
	t.report.add(limit, "the server rejects, and counts at least what the applications saw",
		did.failures > 0 && counted.requests >= int64(did.failures+len(plain.errs)),
		"%d rejected by the server, %d seen", counted.requests, did.failures+len(plain.errs))
	t.report.add(limit, "the tokens fall, by no more than one a retry",
		did.tokens < allTokens && did.tokens >= float64(allTokens-did.retries), "at least %v left after %d retries", did.tokens, did.retries)
	t.checkPools(limit, did, "are kept", did.broken == 0)
	return t.checkOperations(ctx, limit, app, did)
}

// checkPlain checks what an application sees that does not retry: that shows that there is something to retry.
func (t *trial) checkPlain(plain *application) {
	others := slices.DeleteFunc(slices.Clone(plain.errs), isRetryableOverload)
	t.report.add("requests", "without retries, operations fail, with both labels", len(plain.errs) > 0 && len(others) == 0,
		"%d of %d failed%s", len(plain.errs), plain.operations, example(others...))
	did := plain.journal.read()
	t.checkPools("requests", did, "are kept without retries, too", did.broken == 0)
}

// exhausted lets an application meet a limit of requests that its retries are too few for.
func (t *trial) exhausted(ctx context.Context) (err error) {
	const limit = "requests"
	app, err := newApplication(ctx, "out-of-retries", t.connect().SetAdaptiveRetries(true).SetMinPoolSize(requestWave))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, app.client.Disconnect(context.WithoutCancel(ctx))) }()
	if err := t.admin.set(ctx, sets(requestRate, lowRate), sets(requestBurst, lowBurstSecs)); err != nil {
		return err
	}
	_, err = t.limited(ctx, limitRequests, func() { app.wave(ctx, requestWave) })
	if err != nil || ctx.Err() != nil {
		return err
	}
	did := app.journal.read()
	most := 0
	for _, n := range did.commands {
		most = max(most, n)
	}
	others := slices.DeleteFunc(slices.Clone(app.errs), isRetryableOverload)
	t.report.add(limit, fmt.Sprintf("under a limit that is too low, operations fail after %d commands, with both labels", maxCommands),
		len(app.errs) > 0 && len(others) == 0 && most == maxCommands,
		"%d of %d failed, at most %d commands%s", len(app.errs), app.operations, most, example(others...))
	t.checkPools(limit, did, "are kept even then", did.broken == 0)
	return nil
}

// connections lets an application that has one connection, and wants many, meet a limit of connections.
func (t *trial) connections(ctx context.Context) (err error) {
	const limit = "connections"
	app, err := newApplication(ctx, "connecting", t.connect().SetAdaptiveRetries(true).SetMaxConnecting(connectionWave).
		SetDialer(&slowNetwork{latency: latency}))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, app.client.Disconnect(context.WithoutCancel(ctx))) }()
	err = t.admin.set(ctx, sets(connectionRate, connectingRate), sets(connectionBurst, connectingBurstSecs), sets(connectionQueue, 0))
	if err != nil {
		return err
	}
	counted, err := t.limited(ctx, limitConnections, func() { app.wave(ctx, connectionWave) })
	if err != nil || ctx.Err() != nil {
		return err
	}
	did := app.journal.read()
	t.report.add(limit, "the server closes connections, at least those that the application lost",
		did.broken > 0 && counted.connections >= int64(did.broken), "%d closed by the server, %d lost", counted.connections, did.broken)
	t.report.add(limit, "operations meet closed connections", did.failures > 0, "%d attempts failed", did.failures)
	t.checkPools(limit, did, "are used", did.ready > 1)
	return t.checkOperations(ctx, limit, app, did)
}

// checkPools checks that the client did not take the server for one that is gone; and something about connections.
func (t *trial) checkPools(limit string, did account, connections string, ok bool) {
	t.report.add(limit, "no pool is cleared, the server stays known, and connections "+connections,
		ok && did.cleared == 0 && did.lost == 0, "%d cleared, %d times unknown, %d connections ready, %d broken",
		did.cleared, did.lost, did.ready, did.broken)
}

// checkOperations checks what holds for both limits.
func (t *trial) checkOperations(ctx context.Context, limit string, app *application, did account) error {
	t.report.add(limit, "all failed attempts have both labels", did.unlabelled == nil, "%d failed%s", did.failures, example(did.unlabelled))
	t.report.add(limit, "all operations succeed", len(app.errs) == 0, "%d of %d failed%s",
		len(app.errs), app.operations, example(app.errs...))
	most, commands := did.most, 0
	for _, n := range did.commands {
		most, commands = max(most, n), commands+n
	}
	t.report.add(limit, fmt.Sprintf("no operation takes more than %d attempts", maxCommands),
		most <= maxCommands && len(did.commands) >= app.operations-len(app.errs), // else they were not counted
		"%d commands and %d failed attempts for %d operations, at most %d each", commands, did.failures, app.operations, most)
	lost, doubled, err := app.misdone(ctx, t.admin.client)
	if err != nil {
		return err
	}
	t.report.add(limit, "every acknowledged write is there once", lost == 0 && doubled == 0 && len(app.acknowledged) > 0,
		"%d acknowledged, %d lost, %d doubled", len(app.acknowledged), lost, doubled)
	return nil
}

// example returns the first error, for the end of a line.
func example(errs ...error) string {
	for _, err := range errs {
		if err != nil {
			return fmt.Sprintf("; such as: %.200v", err)
		}
	}
	return ""
}
