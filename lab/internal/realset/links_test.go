package realset

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.uber.org/goleak"

	"mongofork/lab/internal/wire"
	"mongofork/tools/rig/server"
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

// start returns a set of so many members with links between them, where these listen and what they are to be called.
func start(t *testing.T, count int) (s *Set, addresses, hosts []string) {
	t.Helper()
	s = &Set{Deployment: &server.Deployment{}, links: newLinks(t.Context(), count)}
	t.Cleanup(s.links.close)
	for i := range count {
		addresses = append(addresses, echo(t))
		host, err := s.links.serve(i, addresses[i])
		require.NoError(t, err)
		hosts = append(hosts, host)
	}
	return s, addresses, hosts
}

// call connects as the member that listens at an address, or as nobody, and sends the first message.
func call(t *testing.T, host, from string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", host)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	doc := bson.D{{Key: "hello", Value: 1}, {Key: "$db", Value: "admin"}}
	if from != "" {
		doc = append(doc, bson.E{Key: "hostInfo", Value: from})
	}
	require.NoError(t, wire.Write(conn, &wire.Message{RequestID: 1, Body: marshal(t, doc)}))
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
		member int
		cut    [][2]int // by from and to
	}{
		"one from the others": {1, [][2]int{{0, 1}, {1, 0}, {1, 2}, {2, 1}}},
		"nobody":              {nobody, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, addresses, hosts := start(t, 3)
			s.partition(test.member, 0)
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
	s, addresses, hosts := start(t, 2)
	conn := call(t, hosts[1], addresses[0])
	require.True(t, hears(t, conn, patience))
	s.partition(0, 0)
	_, err := conn.Write([]byte("later"))
	require.NoError(t, err)
	assert.False(t, hears(t, conn, quiet))
	s.partition(nobody, 0)
	assert.True(t, hears(t, conn, patience))

	s.partition(0, time.Millisecond)
	_, err = conn.Write([]byte("by itself"))
	require.NoError(t, err)
	assert.True(t, hears(t, conn, patience), "it heals after its time")
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
	_, err = nonsense.Write(bytes.Repeat([]byte{0xff}, 100))
	require.NoError(t, err)
	_, err = nonsense.Read(make([]byte, 1))
	assert.Error(t, err, "its connection is ended")
}
