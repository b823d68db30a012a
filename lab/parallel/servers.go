package parallel

import (
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/topology"
	"mongofork/lab/virtual"
)

// servers answer commands instead of a database: each reply has the nonce of its command, and documents of that nonce alone.
type servers struct {
	run       *run
	cluster   *virtual.Cluster
	spec      topology.Spec
	kind      shape
	storm     atomic.Bool
	stormed   atomic.Bool // a storm has begun
	smaller   atomic.Bool // a member has left its set
	clock     atomic.Uint32
	chance    func() float64
	mu        sync.Mutex
	last      int64
	cursors   map[int64]*cursor
	probes    map[string]map[int32]int // commands that ask for nothing but to be counted, by host and client
	stale     chan struct{}            // while it is open, slow commands wait
	staleHeld []virtual.Command
	hellos    map[string]int // answered, by host
}

// answer is the hook of the cluster.
func (s *servers) answer(c virtual.Command, run func() bson.Raw) bson.Raw {
	switch c.Name {
	case "hello", "isMaster", "ismaster":
		reply := s.hello(run())
		s.mu.Lock()
		defer s.mu.Unlock()
		s.hellos[c.Host]++
		return reply
	case "endSessions":
		return run()
	}
	if s.storm.Load() {
		if reply, done := s.trouble(c); done {
			return reply
		}
	}
	var q command
	if bson.Unmarshal(c.Body, &q) != nil {
		s.run.finding("handed in", "a server got a command that is no document of its kind: %s", brief(c.Body))
		return nil
	}
	nonce, fine := s.whose(c)
	if !fine {
		return virtual.Fail(c, 2)
	}
	return s.reply(c, &q, nonce)
}

// writes have a nonce in each statement.
var writes = []string{"insert", "update", "delete", "bulkWrite", "findAndModify"}

// hello hides the primary of a set that has none, and a member that has left its set.
func (s *servers) hello(reply bson.Raw) bson.Raw {
	if hosts, is := reply.Lookup("hosts").ArrayOK(); is && s.smaller.Load() {
		values, _ := hosts.Values()
		reply = bsondoc.With(reply, bson.E{Key: "hosts", Value: slices.Delete(values, 1, 2)})
	}
	if !s.kind.headless || reply == nil {
		return reply
	}
	for _, name := range []string{"isWritablePrimary", "ismaster"} {
		if bsondoc.Has(reply, name) {
			reply = bsondoc.With(reply, bson.E{Key: name, Value: false}, bson.E{Key: "secondary", Value: true})
		}
	}
	return bsondoc.Rebuild(reply, []string{"primary", "electionId"}, nil)
}

// trouble is what commands meet in a storm.
func (s *servers) trouble(c virtual.Command) (bson.Raw, bool) {
	switch p := s.chance(); {
	case p < 0.04:
		s.run.rejected.Add(1)
		return virtual.RequestRate.Reply(), true
	case p < 0.05:
		return nil, true
	case p < 0.055:
		c.Reset()
		return nil, true
	case p < 0.065:
		return virtual.Fail(c, []int32{91, 189, 11600, 10107, 43, 50}[int(p*100_000)%6]), true
	case p < 0.1:
		time.Sleep(time.Duration(p * float64(200*time.Millisecond)))
	}
	return nil, false
}

// open reports whether a cursor of an operation is open.
func (s *servers) open(nonce int32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.cursors {
		if c.nonce == nonce {
			return true
		}
	}
	return false
}

// wait lets a command wait as long as the round holds slow ones.
func (s *servers) wait(c virtual.Command) {
	s.mu.Lock()
	s.staleHeld = append(s.staleHeld, c)
	s.mu.Unlock()
	<-s.stale
}

func newServers(r *run, t *bench, kind shape, chance *rand.Rand) *servers {
	spec, _ := topology.ParseSpec(kind.topology)
	s := &servers{run: r, spec: spec, kind: kind, cursors: map[int64]*cursor{}, probes: map[string]map[int32]int{},
		stale: make(chan struct{}), hellos: map[string]int{}}
	var mu sync.Mutex
	s.chance = func() float64 {
		mu.Lock()
		defer mu.Unlock()
		return chance.Float64()
	}
	s.cluster = virtual.New(t, virtual.Options{Topology: kind.topology, Batch: kind.batch})
	for _, host := range s.cluster.Hosts() {
		s.probes[host] = map[int32]int{}
	}
	s.cluster.Intercept(s.answer)
	return s
}

// held returns the commands that wait.
func (s *servers) held() []virtual.Command {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.staleHeld)
}

// beats returns how many hellos each host has answered.
func (s *servers) beats() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.hellos)
}
