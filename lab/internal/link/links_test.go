package link

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.uber.org/goleak"

	"mongofork/lab/internal/fault"
	"mongofork/lab/internal/wire"
)

const (
	patience = 10 * time.Second
	// quiet is how long a test listens for what must not come.
	quiet = 50 * time.Millisecond
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is a member that gives back what it gets.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var connections sync.WaitGroup
	connections.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Go(func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		connections.Wait()
	})
	return listener.Addr().String()
}

// start returns links to as many members, where these listen and what they are to be called.
func start(t *testing.T, members int) (links *Links, addresses, hosts []string) {
	t.Helper()
	links, err := New()
	require.NoError(t, err)
	for range members {
		addresses = append(addresses, echo(t))
		host, err := links.Add(addresses[len(addresses)-1])
		require.NoError(t, err)
		hosts = append(hosts, host)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var served sync.WaitGroup
	for to := range members {
		served.Go(func() { assert.NoError(t, links.Serve(ctx, to)) })
	}
	t.Cleanup(func() {
		cancel()
		served.Wait()
		links.Close()
	})
	return links, addresses, hosts
}

// hello returns the first message of a caller; hostInfo is left out where it is empty.
func hello(t *testing.T, hostInfo string) []byte {
	t.Helper()
	doc := bson.D{{Key: "hello", Value: 1}, {Key: "$db", Value: "admin"}}
	if hostInfo != "" {
		doc = append(doc, bson.E{Key: "hostInfo", Value: hostInfo})
	}
	body, err := bson.Marshal(doc)
	require.NoError(t, err)
	codec, err := wire.NewCodec(0)
	require.NoError(t, err)
	message, err := codec.Append(nil, &wire.Message{RequestID: 1, Content: &wire.Msg{Body: body}})
	require.NoError(t, err)
	return message
}

// call connects as the member that listens at an address, or as nobody, and sends the first message.
func call(t *testing.T, host, from string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", host)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	_, err = conn.Write(hello(t, from))
	require.NoError(t, err)
	return conn
}

// hears tells whether the first message, or whatever was sent, comes back within a time.
func hears(t *testing.T, conn net.Conn, within time.Duration) bool {
	t.Helper()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(within)))
	n, err := conn.Read(make([]byte, 4096))
	return n > 0 && err == nil
}

func TestPartition(t *testing.T) {
	for name, test := range map[string]struct {
		members []int
		cut     [][2]int // by from and to
	}{
		"one from the others": {[]int{1}, [][2]int{{0, 1}, {1, 0}, {1, 2}, {2, 1}}},
		"two from the third":  {[]int{0, 1}, [][2]int{{0, 2}, {2, 0}, {1, 2}, {2, 1}}},
		"nobody":              {nil, nil},
		"all":                 {[]int{0, 1, 2}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			links, addresses, hosts := start(t, 3)
			require.NoError(t, links.Partition(test.members, 0))
			cut := map[[2]int]bool{}
			for _, way := range test.cut {
				cut[way] = true
			}
			for from := range 3 {
				for to := range 3 {
					conn, within := call(t, hosts[to], addresses[from]), patience
					if cut[[2]int{from, to}] {
						within = quiet
					}
					assert.Equal(t, !cut[[2]int{from, to}], hears(t, conn, within), "%d to %d", from, to)
				}
			}
			for to := range 3 {
				assert.True(t, hears(t, call(t, hosts[to], ""), patience), "clients reach member %d", to)
				assert.True(t, hears(t, call(t, hosts[to], "elsewhere:1"), patience), "others reach member %d", to)
			}
		})
	}
}

func TestWhatWasHeldGoesOnWhenThePartitionHeals(t *testing.T) {
	links, addresses, hosts := start(t, 2)
	conn := call(t, hosts[1], addresses[0])
	require.True(t, hears(t, conn, patience))
	require.NoError(t, links.Partition([]int{0}, 0))
	_, err := conn.Write([]byte("later"))
	require.NoError(t, err)
	assert.False(t, hears(t, conn, quiet))
	require.NoError(t, links.Partition(nil, 0))
	assert.True(t, hears(t, conn, patience))

	require.NoError(t, links.Partition([]int{0}, time.Millisecond))
	_, err = conn.Write([]byte("by itself"))
	require.NoError(t, err)
	assert.True(t, hears(t, conn, patience), "it heals after its time")
}

func TestFaultsOfAWay(t *testing.T) {
	links, addresses, hosts := start(t, 2)
	there, back := call(t, hosts[1], addresses[0]), call(t, hosts[0], addresses[1])
	require.True(t, hears(t, there, patience))
	require.True(t, hears(t, back, patience))

	require.NoError(t, links.SetFault(0, 1, fault.Fault{Kind: fault.Reset}, 0))
	_, err := there.Read(make([]byte, 1))
	assert.Error(t, err, "the connection that there was")
	_, err = call(t, hosts[1], addresses[0]).Read(make([]byte, 1))
	assert.Error(t, err, "a new one")
	_, err = back.Write([]byte("x"))
	require.NoError(t, err)
	assert.True(t, hears(t, back, patience), "the other direction is as it was")

	const delay = 60 * time.Millisecond
	require.NoError(t, links.SetFault(0, 1, fault.Fault{Kind: fault.Slow, Delay: delay}, 0))
	conn := call(t, hosts[1], addresses[0])
	start := time.Now()
	assert.True(t, hears(t, conn, patience))
	assert.GreaterOrEqual(t, time.Since(start), delay)

	assert.Equal(t, fault.Slow, links.Faults()[0][1].Kind)
	assert.Equal(t, fault.Off, links.Faults()[1][0].Kind)
}

func TestRefusals(t *testing.T) {
	links, _, _ := start(t, 2)
	assert.ErrorContains(t, links.SetFault(0, 2, fault.Fault{Kind: fault.Silent}, 0), "there is no link")
	assert.ErrorContains(t, links.SetFault(-1, 0, fault.Fault{Kind: fault.Silent}, 0), "there is no link")
	assert.ErrorContains(t, links.SetFault(0, 1, fault.Fault{Kind: fault.Restart}, 0), "kill the member")
	assert.ErrorContains(t, links.SetFault(0, 1, fault.Fault{Kind: "loud"}, 0), "unknown")
	assert.ErrorContains(t, links.Partition([]int{0, 2}, 0), "there is no member 2; they are numbered from 0 to 1")
	assert.Equal(t, fault.Off, links.Faults()[0][1].Kind, "nothing was changed")
}

func TestWhoSaysNothingIsHeldUpAlone(t *testing.T) {
	_, addresses, hosts := start(t, 2)
	silent, err := net.Dial("tcp", hosts[0])
	require.NoError(t, err)
	defer silent.Close()
	assert.True(t, hears(t, call(t, hosts[0], addresses[1]), patience))

	nonsense, err := net.Dial("tcp", hosts[0])
	require.NoError(t, err)
	defer nonsense.Close()
	_, err = nonsense.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
	require.NoError(t, err)
	_, err = nonsense.Read(make([]byte, 1))
	assert.Error(t, err, "its connection is ended")
}
