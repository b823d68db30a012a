package deployment

import (
	"context"
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/fault"
)

func splitPort(address string) (string, int, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	port, err := strconv.Atoi(text)
	return host, port, err
}

func TestSilence(t *testing.T) {
	l := startLab(t, "standalone", Config{})
	client, _ := connect(t, l.Endpoints()[0].URI)
	use(t, client)
	require.NoError(t, l.SetFault(0, fault.Fault{Kind: fault.Silent}, 0))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	assert.ErrorIs(t, collection(client).FindOne(ctx, bson.D{}).Err(), context.DeadlineExceeded)

	answered := make(chan error, 1)
	go func() { answered <- collection(client).FindOne(t.Context(), bson.D{}).Err() }()
	select {
	case err := <-answered:
		assert.Fail(t, "it is not silent", "%v", err)
	case <-time.After(100 * time.Millisecond):
	}
	require.NoError(t, l.SetFault(0, fault.Fault{Kind: fault.Off}, 0))
	assert.NoError(t, <-answered, "what waited is answered")
}

func TestSlowness(t *testing.T) {
	l := startLab(t, "standalone", Config{})
	client, _ := connect(t, l.Endpoints()[0].URI)
	use(t, client)
	const delay = 60 * time.Millisecond
	require.NoError(t, l.SetFault(0, fault.Fault{Kind: fault.Slow, Delay: delay}, 0))
	start := time.Now()
	use(t, client)
	assert.GreaterOrEqual(t, time.Since(start), 2*delay, "two commands")
}

func TestReset(t *testing.T) {
	l := startLab(t, "replicaset:1", Config{})
	old, err := net.Dial("tcp", l.Hosts()[0])
	require.NoError(t, err)
	defer old.Close()
	client, _ := connect(t, l.Endpoints()[0].URI)
	use(t, client) // so that the first connection has been accepted, too

	require.NoError(t, l.SetFault(0, fault.Fault{Kind: fault.Reset}, 0))
	expectReset(t, old)
	assert.Eventually(t, func() bool { // until it listens again
		fresh, err := net.Dial("tcp", l.Hosts()[0])
		if err != nil {
			return false
		}
		defer fresh.Close()
		expectReset(t, fresh)
		return true
	}, patience, time.Millisecond)

	require.NoError(t, l.SetFault(0, fault.Fault{Kind: fault.Off}, 0))
	use(t, client)
	assert.Equal(t, "primary", string(l.Cluster().Status().Members[0].Role), "the host was there all the time")
}

func expectReset(t *testing.T, conn net.Conn) {
	t.Helper()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
	_, err := conn.Read(make([]byte, 1))
	assert.ErrorIs(t, err, syscall.ECONNRESET)
}

func TestRestart(t *testing.T) {
	l := startLab(t, "replicaset:3", Config{})
	client, _ := connect(t, l.Endpoints()[0].URI)
	use(t, client)
	require.NoError(t, l.SetFault(0, fault.Fault{Kind: fault.Restart}, 500*time.Millisecond))
	assert.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", l.Hosts()[0])
		if err == nil {
			conn.Close()
		}
		return err != nil
	}, patience, time.Millisecond, "nobody listens")
	use(t, client) // at another primary
	assert.Eventually(t, func() bool {
		status := l.Cluster().Status()
		return status.Members[0].Role == "secondary" && status.Members[1].Role == "primary"
	}, patience, time.Millisecond)
	direct, _ := connect(t, "mongodb://"+l.Hosts()[0]+"/?directConnection=true")
	assert.NoError(t, direct.Ping(t.Context(), nil), "it is back at the same address")
	assert.Equal(t, fault.Off, l.Faults()[0].Kind)
}

func TestFaultsReplaceEachOther(t *testing.T) {
	l := startLab(t, "standalone", Config{})
	require.NoError(t, l.SetFault(0, fault.Fault{Kind: fault.Restart}, 50*time.Millisecond))
	require.NoError(t, l.SetFault(0, fault.Fault{Kind: fault.Slow, Delay: time.Millisecond}, 0))
	time.Sleep(100 * time.Millisecond) // the first one's time is over, which must not end the second
	assert.Equal(t, fault.Slow, l.Faults()[0].Kind)
	client, _ := connect(t, l.Endpoints()[0].URI)
	use(t, client)
}

func TestSetFaultRefuses(t *testing.T) {
	l := startLab(t, "standalone", Config{})
	for want, set := range map[string]func() error{
		"numbered from 0 to 0":  func() error { return l.SetFault(1, fault.Fault{Kind: fault.Silent}, 0) },
		"front -1":              func() error { return l.SetFault(-1, fault.Fault{Kind: fault.Silent}, 0) },
		`fault "loud"`:          func() error { return l.SetFault(0, fault.Fault{Kind: "loud"}, 0) },
		"a delay of more":       func() error { return l.SetFault(0, fault.Fault{Kind: fault.Slow}, 0) },
		"only \"slow\" takes":   func() error { return l.SetFault(0, fault.Fault{Kind: fault.Reset, Delay: 1}, 0) },
		"until further notice,": func() error { return l.SetFault(0, fault.Fault{Kind: fault.Silent}, -1) },
	} {
		assert.ErrorContains(t, set(), want)
	}
	assert.Equal(t, fault.Off, l.Faults()[0].Kind)
}
