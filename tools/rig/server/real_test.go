//go:build unix

package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

// ownerDir in the environment makes this test binary the owner of a replica set that is to be killed.
const ownerDir, ownerBinary = "SERVER_TEST_OWNER_DIR", "SERVER_TEST_OWNER_BINARY"

func TestMain(m *testing.M) {
	if os.Getenv(ownerDir) == "" {
		os.Exit(m.Run())
	}
	d, err := Start(context.Background(), Options{Binary: os.Getenv(ownerBinary), Dir: os.Getenv(ownerDir), Form: ReplicaSet(3)})
	if err == nil {
		err = d.Members()[1].Pause()
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for _, m := range d.Members() {
		fmt.Println(m.running().cmd.Process.Pid)
	}
	select {}
}

// pinned returns the path of the pinned mongod.
func pinned(t *testing.T) string {
	t.Helper()
	binary, err := installMongod(t.Context(), Config{Root: "../../..", Progress: t.Output()})
	skipIfAbsent(t, err)
	return binary
}

func skipIfAbsent(t *testing.T, err error) {
	t.Helper()
	var missing absence
	if (errors.As(err, &missing) || errors.Is(err, ErrUnavailable)) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	require.NoError(t, err)
}

func connect(t *testing.T, uri, app string) *mongo.Client {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(uri).SetAppName(app))
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	return client
}

// start starts a deployment that is stopped with the test and must leave nothing then.
func start(t *testing.T, o Options) *Deployment {
	t.Helper()
	o.Binary, o.Dir = pinned(t), t.TempDir()
	d, err := Start(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, d.Err())
		assert.NoError(t, d.Stop())
		left, err := os.ReadDir(o.Dir)
		assert.NoError(t, err)
		assert.Empty(t, left, "left behind")
	})
	return d
}

func TestMembersElectDieAndComeBack(t *testing.T) {
	t.Parallel()
	d := start(t, Options{Form: ReplicaSet(3)})
	require.Len(t, d.Members(), 3)
	assert.Regexp(t, `^6\.0\.`, d.Version())
	notes := connect(t, d.URI(), "").Database("test").Collection("notes", options.Collection().SetWriteConcern(writeconcern.Majority()))
	_, err := notes.InsertOne(t.Context(), bson.D{{Key: "_id", Value: 1}})
	require.NoError(t, err)
	primary := func() (found *Member) {
		for found == nil {
			for _, m := range d.Members() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				_ = withClient(ctx, m.direct(), func(client *mongo.Client) error {
					role, err := askHello(ctx, client)
					if err == nil && role.Primary {
						found = m
					}
					return err
				})
				cancel()
			}
		}
		return found
	}

	first := primary()
	first.Kill()
	assert.Nil(t, first.running())
	first.Kill() // it is dead already
	assert.ErrorIs(t, first.Pause(), os.ErrProcessDone)
	second := primary()
	assert.NotEqual(t, first, second)
	count, err := notes.CountDocuments(t.Context(), bson.D{})
	require.NoError(t, err)
	assert.EqualValues(t, 1, count, "what a majority has survives its primary")

	require.NoError(t, first.Restart(t.Context()))
	assert.NotNil(t, first.running())
	require.NoError(t, second.Pause())
	assert.NotEqual(t, second, primary(), "a paused primary is replaced")
	require.NoError(t, second.Resume())
	_, err = notes.InsertOne(t.Context(), bson.D{{Key: "_id", Value: 2}})
	require.NoError(t, err)
}

func TestUsersAndTLS(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"standalone, users":        {Form: Form{kind: standalone, size: 1, Users: true}},
		"set of three, users, TLS": {Form: Form{kind: replicaSet, size: 3, Users: true, TLS: true}},
		"named": {Form: ReplicaSet(1), ReplicaSet: "other",
			Arguments: []string{"--setParameter", "ttlMonitorEnabled=false"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := start(t, o)
			_, err := connect(t, d.URI(), "").Database("test").Collection("notes").InsertOne(t.Context(), bson.D{})
			require.NoError(t, err)
			for _, m := range d.Members() {
				require.NoError(t, connect(t, m.URI(), "").Ping(t.Context(), nil), "directly")
			}
			uri, err := url.Parse(d.URI())
			require.NoError(t, err)
			query := uri.Query()
			if o.Form.Users {
				uri.User = nil
				_, err := connect(t, uri.String(), "").Database("test").Collection("notes").InsertOne(t.Context(), bson.D{})
				assert.ErrorContains(t, err, "requires authentication")
			}
			env := strings.Join(d.driverTests(), "\n")
			assert.Equal(t, o.Form.TLS, strings.Contains(env, "SSL=ssl"))
			assert.Equal(t, o.Form.Users, strings.Contains(env, "AUTH=auth"))
			assert.NotContains(t, envValue(d.driverTests(), "MONGODB_URI"), "tls")
			assert.Equal(t, o.ReplicaSet == "other", query.Get("replicaSet") == "other")
		})
	}
}

func TestHostsAreWhatTheConfigurationSays(t *testing.T) {
	t.Parallel()
	d := start(t, Options{Form: ReplicaSet(1), Host: func(_ int, address string) (string, error) {
		return strings.Replace(address, loopback, "localhost", 1), nil
	}})
	var hello struct{ Hosts []string }
	require.NoError(t, connect(t, d.URI(), "").Database("admin").RunCommand(t.Context(),
		bson.D{{Key: "hello", Value: 1}}).Decode(&hello))
	assert.Equal(t, []string{d.Members()[0].Host()}, hello.Hosts)
	assert.Contains(t, d.URI(), "localhost:")
	assert.Contains(t, d.Members()[0].Address(), loopback+":")
}

func TestMembersEndWithTheirOwner(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("only Linux kills processes when their parent dies")
	}
	dir := t.TempDir()
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), ownerDir+"="+dir, ownerBinary+"="+pinned(t))
	output, err := owner.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, owner.Start())
	lines := bufio.NewScanner(output)
	var pids []int
	for len(pids) < 3 && lines.Scan() {
		pid, err := strconv.Atoi(lines.Text())
		require.NoError(t, err, lines.Text())
		pids = append(pids, pid)
	}
	require.NoError(t, owner.Process.Kill())
	require.Error(t, owner.Wait())
	for _, pid := range pids {
		assert.Eventually(t, func() bool { return !alive(pid) }, 20*time.Second, 10*time.Millisecond, "process %d", pid)
	}
}

// alive reports whether a process runs or is paused. A zombie does neither.
func alive(pid int) bool {
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	_, rest, _ := strings.Cut(string(status), ") ")
	return err == nil && !strings.HasPrefix(rest, "Z")
}

func TestAMemberThatEndsByItselfIsNoticed(t *testing.T) {
	t.Parallel()
	d, err := Start(t.Context(), Options{Binary: pinned(t), Dir: t.TempDir(), Form: Form{kind: standalone, size: 1}})
	require.NoError(t, err)
	require.NoError(t, d.Err())
	require.NoError(t, syscall.Kill(d.Members()[0].running().cmd.Process.Pid, syscall.SIGTERM))
	<-d.Failed()
	assert.ErrorContains(t, d.Err(), "exited (exit status 0)")
	require.NoError(t, d.Stop())

	_, err = Start(t.Context(), Options{Binary: pinned(t), Dir: t.TempDir(), Form: ReplicaSet(3), Arguments: []string{"--nonsense"}})
	assert.ErrorContains(t, err, "unrecognised option '--nonsense'")
}

// TestSecantusDB installs and starts the pinned server, and tries the fail points that the tests rely on.
func TestSecantusDB(t *testing.T) {
	t.Parallel()
	server, err := Open(t.Context(), Config{Root: "../../..", Name: SecantusDB, Progress: t.Output()})
	skipIfAbsent(t, err)
	defer func() { require.NoError(t, server.Close()) }()
	assert.Regexp(t, `^SecantusDB \d+\.\d+\.\d+$`, server.String())

	shop, others := connect(t, server.URI, "shop"), connect(t, server.URI, "others")
	require.NoError(t, others.Database("admin").RunCommand(t.Context(), bson.D{
		{Key: "configureFailPoint", Value: "failCommand"},
		{Key: "mode", Value: bson.D{{Key: "times", Value: 2}}},
		{Key: "data", Value: bson.D{
			{Key: "failCommands", Value: bson.A{"insert"}}, {Key: "appName", Value: "shop"}, {Key: "errorCode", Value: 462},
			{Key: "errorLabels", Value: bson.A{"SystemOverloadedError", "RetryableError"}},
		}},
	}).Err())
	insert := func(client *mongo.Client) error {
		_, err := client.Database("test").Collection("orders").InsertOne(t.Context(), bson.D{})
		return err
	}
	require.NoError(t, insert(others), "the fail point is for another application")
	for range 2 {
		var rejected mongo.ServerError
		require.ErrorAs(t, insert(shop), &rejected)
		assert.True(t, rejected.HasErrorCode(462) && rejected.HasErrorLabel("SystemOverloadedError"))
	}
	assert.NoError(t, insert(shop), "the fail point is used up")
}
