package server

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"golang.org/x/mod/semver"
)

// rootUser is the user of a mongod that demands authentication.
const rootUser = "root"

// limitable changes how a mongod of that version is launched so that its ingress limiters do their work. The limiter of
// requests lets connections pass that have not authenticated, such as those of monitors, unless nobody has to: then it
// limits those, too, which drivers are not made for.
func (l *launch) limitable(version string) {
	l.user = url.UserPassword(rootUser, rand.Text())
	build, initiate := l.command, l.initiate
	l.command = func(dir, port string) (what command, err error) {
		if what, err = build(dir, port); err != nil {
			return what, err
		}
		// Members of a replica set need a key once users have to authenticate, even if there is only one.
		key := filepath.Join(dir, "key")
		what.args = append(what.args, "--keyFile", key)
		if semver.MajorMinor(version) == "v8.2" {
			// The limiter of requests is behind this flag, which may be off in 8.2; later versions have it on.
			what.args = append(what.args, "--setParameter", "featureFlagIngressRateLimiting=true")
		}
		return what, os.WriteFile(key, []byte(rand.Text()+rand.Text()), 0o600)
	}
	l.initiate = func(ctx context.Context, address string) error {
		if err := initiate(ctx, address); err != nil {
			return err
		}
		return createRoot(ctx, address, l.user)
	}
}

// createRoot makes the first user of a server, which it lets anybody do who connects from its own machine.
func createRoot(ctx context.Context, address string, user *url.Userinfo) (err error) {
	client, err := mongo.Connect(options.Client().SetHosts([]string{address}).SetDirect(true))
	if err != nil {
		return err
	}
	defer func() { _ = client.Disconnect(ctx) }()
	if err := awaitWritable(ctx, client); err != nil {
		return err
	}
	password, _ := user.Password()
	err = client.Database("admin").RunCommand(ctx, bson.D{
		{Key: "createUser", Value: user.Username()}, {Key: "pwd", Value: password}, {Key: "roles", Value: bson.A{"root"}},
	}).Err()
	if err != nil {
		return fmt.Errorf("createUser: %w", err)
	}
	return nil
}
