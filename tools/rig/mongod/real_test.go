//go:build unix

package mongod_test

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

	"mongofork/tools/rig/mongod"
	"mongofork/tools/rig/server"
)

// ownerDir in the environment makes this test binary the owner of a replica set that is to be killed.
const (
	ownerDir    = "MONGOD_TEST_OWNER_DIR"
	ownerBinary = "MONGOD_TEST_OWNER_BINARY"
)

func TestMain(m *testing.M) {
	if os.Getenv(ownerDir) == "" {
		os.Exit(m.Run())
	}
	if err := own(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// own starts a replica set, pauses a member, prints the members' processes, and waits to be killed.
func own() error {
	d, err := mongod.Start(context.Background(), mongod.Options{Binary: os.Getenv(ownerBinary), Dir: os.Getenv(ownerDir)})
	if err != nil {
		return err
	}
	for _, m := range d.Members() {
		fmt.Println(m.PID())
	}
	if err := d.Members()[1].Pause(); err != nil {
		return err
	}
	fmt.Println(d.Files().Folder)
	select {}
}

// pinned returns the path of the pinned mongod.
func pinned(t *testing.T) string {
	t.Helper()
	binary, err := server.InstallMongod(t.Context(), server.Config{Root: "../../..", Progress: t.Output()})
	if errors.Is(err, server.ErrUnavailable) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	require.NoError(t, err)
	return binary
}

func connect(t *testing.T, uri string) *mongo.Client {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	return client
}

// start starts a deployment that is stopped with the test and must leave nothing then.
func start(t *testing.T, o mongod.Options) *mongod.Deployment {
	t.Helper()
	o.Binary, o.Dir = pinned(t), t.TempDir()
	d, err := mongod.Start(t.Context(), o)
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

// primary waits for the primary.
func primary(t *testing.T, d *mongod.Deployment) *mongod.Member {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	m, err := d.AwaitPrimary(ctx)
	require.NoError(t, err)
	return m
}

func TestMembersElectDieAndComeBack(t *testing.T) {
	t.Parallel()
	d := start(t, mongod.Options{Parameters: map[string]string{"transactionLifetimeLimitSeconds": "77"}})
	require.Len(t, d.Members(), 3)
	assert.Regexp(t, `^6\.0\.`, d.Version())
	client := connect(t, d.URI())
	notes := client.Database("test").Collection("notes", options.Collection().SetWriteConcern(writeconcern.Majority()))
	_, err := notes.InsertOne(t.Context(), bson.D{{Key: "_id", Value: 1}})
	require.NoError(t, err)
	var parameter struct {
		Seconds int `bson:"transactionLifetimeLimitSeconds"`
	}
	require.NoError(t, client.Database("admin").RunCommand(t.Context(), bson.D{
		{Key: "getParameter", Value: 1}, {Key: "transactionLifetimeLimitSeconds", Value: 1},
	}).Decode(&parameter))
	assert.Equal(t, 77, parameter.Seconds)

	first := primary(t, d)
	require.NoError(t, first.Kill())
	assert.Zero(t, first.PID())
	require.NoError(t, first.Kill(), "it is dead already")
	assert.ErrorIs(t, first.Pause(), os.ErrProcessDone)
	second := primary(t, d)
	assert.NotEqual(t, first, second)
	count, err := notes.CountDocuments(t.Context(), bson.D{})
	require.NoError(t, err)
	assert.EqualValues(t, 1, count, "what a majority has survives its primary")

	require.NoError(t, first.Restart(t.Context()))
	assert.NotZero(t, first.PID())
	require.NoError(t, second.Pause())
	third := primary(t, d)
	assert.NotEqual(t, second, third, "a paused primary is replaced")
	require.NoError(t, second.Resume())
	_, err = notes.InsertOne(t.Context(), bson.D{{Key: "_id", Value: 2}})
	require.NoError(t, err)
}

func TestUsersAndTLS(t *testing.T) {
	t.Parallel()
	tests := map[string]mongod.Options{
		"standalone":                {Standalone: true},
		"standalone, users":         {Standalone: true, Users: true},
		"set of one, TLS":           {Members: 1, TLS: true},
		"set of three, users, TLS":  {Users: true, TLS: true},
		"set of one, users, named":  {Members: 1, Users: true, ReplicaSet: "other"},
		"standalone with arguments": {Standalone: true, Arguments: []string{"--storageEngine", "ephemeralForTest"}},
	}
	for name, o := range tests {
		t.Run(name, func(t *testing.T) {
			d := start(t, o)
			_, err := connect(t, d.URI()).Database("test").Collection("notes").InsertOne(t.Context(), bson.D{})
			require.NoError(t, err)
			for _, m := range d.Members() {
				require.NoError(t, connect(t, m.URI()).Ping(t.Context(), nil), "directly")
			}
			uri, err := url.Parse(d.URI())
			require.NoError(t, err)
			if o.Users {
				uri.User = nil
				_, err := connect(t, uri.String()).Database("test").Collection("notes").InsertOne(t.Context(), bson.D{})
				assert.ErrorContains(t, err, "requires authentication")
			}
			assert.Equal(t, o.TLS, uri.Query().Get("tls") == "true")
			assert.Equal(t, o.TLS, d.Files().CA != "")
			if o.TLS {
				query := uri.Query()
				query.Set("tlsCertificateKeyFile", d.Files().EncryptedClient)
				query.Set("tlsCertificateKeyFilePassword", "password")
				encrypted := *uri
				encrypted.RawQuery = query.Encode()
				require.NoError(t, connect(t, encrypted.String()).Ping(t.Context(), nil), "with the encrypted key")
			}
			if o.ReplicaSet != "" {
				assert.Equal(t, o.ReplicaSet, uri.Query().Get("replicaSet"))
			}
		})
	}
}

func TestHostsAreWhatTheConfigurationSays(t *testing.T) {
	t.Parallel()
	d := start(t, mongod.Options{Members: 1, Host: func(_ int, address string) (string, error) {
		return strings.Replace(address, "127.0.0.1", "localhost", 1), nil
	}})
	var hello struct{ Hosts []string }
	require.NoError(t, connect(t, d.URI()).Database("admin").RunCommand(t.Context(), bson.D{{Key: "hello", Value: 1}}).Decode(&hello))
	assert.Equal(t, []string{d.Members()[0].Host()}, hello.Hosts)
	assert.Contains(t, d.URI(), "localhost:")
	assert.Contains(t, d.Members()[0].Address(), "127.0.0.1:")
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
	var folder string
	for lines.Scan() {
		pid, err := strconv.Atoi(lines.Text())
		if err != nil {
			folder = lines.Text()
			break
		}
		pids = append(pids, pid)
	}
	require.Len(t, pids, 3, folder)
	for _, pid := range pids {
		require.True(t, alive(pid))
	}
	require.NoError(t, owner.Process.Kill())
	require.Error(t, owner.Wait())
	for _, pid := range pids {
		assert.Eventually(t, func() bool { return !alive(pid) }, 20*time.Second, 10*time.Millisecond, "process %d", pid)
	}

	// What it left is removed by the next that starts something there.
	require.DirExists(t, folder)
	d, err := mongod.Start(t.Context(), mongod.Options{Binary: pinned(t), Dir: dir, Standalone: true})
	require.NoError(t, err)
	assert.NoDirExists(t, folder)
	require.NoError(t, d.Stop())
}

// alive reports if a process runs or is paused. One that nobody has waited for is none.
func alive(pid int) bool {
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	}
	_, rest, _ := strings.Cut(string(status), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func TestAMemberThatEndsByItselfIsNoticed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, err := mongod.Start(t.Context(), mongod.Options{Binary: pinned(t), Dir: dir, Standalone: true})
	require.NoError(t, err)
	require.NoError(t, d.Err())
	require.NoError(t, syscall.Kill(d.Members()[0].PID(), syscall.SIGTERM))
	<-d.Failed()
	assert.ErrorContains(t, d.Err(), "member 1 of 1 (127.0.0.1:")
	assert.ErrorContains(t, d.Err(), "ended by itself (exit status 0)")
	assert.NotEmpty(t, d.Log())
	require.NoError(t, d.Stop())
}

func TestNoPrimary(t *testing.T) {
	t.Parallel()
	d := start(t, mongod.Options{})
	for _, m := range d.Members()[:2] {
		require.NoError(t, m.Kill())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	// The last member may be the primary until it has missed the others for two seconds.
	assert.Eventually(t, func() bool {
		once, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		defer cancel()
		_, err := d.AwaitPrimary(once)
		return err != nil && strings.HasPrefix(err.Error(), "no primary after 30s; the members' logs are in "+d.Files().Folder)
	}, time.Minute, time.Millisecond)
}
