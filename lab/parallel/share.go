package parallel

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// What a server has to miss until it counts as lost: so many reads for each server, while the client checked another one so often. On a
// slow machine both take longer.
const (
	missed     = 60
	heartbeats = 20
	failed     = 4 // reads in a row, each after all retries and the time for the selection of a server
	// longer is for how long a client that has lost a server is asked again.
	longer = 30 * time.Second
)

// asker asks, once all servers are up again, whether a client uses each of them.
type asker struct {
	*application
	start time.Time
	errs  map[string]error // of the last read that failed, by the server that it names
}

func (s *asker) ask(ctx context.Context) {
	hosts := s.servers.Hosts()
	before, errs := s.checks(hosts), 0
	for n := 1; ctx.Err() == nil; n++ {
		err := s.read(ctx)
		if errs++; err == nil {
			errs = 0
		}
		lost := s.servers.unused(s.number)
		switch {
		case errs >= failed:
			s.run.finding("share", "client %d cannot read although all servers have been up for %v: %v", s.number, s.spent(), err)
			return
		case len(lost) == 0:
			return
		case n < missed*len(hosts):
		case s.checks(hosts) >= before+heartbeats || s.spent() > patience/4:
			s.run.finding("share", "client %d (%q) sent %d reads, in %v, to %d of %d servers that are up, and none to %s",
				s.number, s.uri, n, s.spent(), len(hosts)-len(lost), len(hosts), lost)
			s.goOn(ctx, lost[0])
			return
		default:
			time.Sleep(10 * time.Millisecond)
		}
	}
}

func (s *asker) spent() time.Duration { return time.Since(s.start).Round(time.Second) }

// checks returns how often the client has checked the server that it checked most often.
func (s *asker) checks(hosts []string) (most int) {
	for _, host := range hosts {
		most = max(most, s.times(host, checked))
	}
	return most
}

func (s *asker) read(ctx context.Context) error {
	filter := bson.D{d("nonce", s.number), d("probe", s.number), d("docs", int32(1))}
	_, err := s.Database("db").Collection("c").FindOne(ctx, filter).Raw()
	for _, host := range s.servers.Hosts() {
		if err != nil && strings.Contains(err.Error(), host) {
			s.errs[host] = fmt.Errorf("%w, after %v", err, s.spent())
		}
	}
	return err
}

// goOn asks whether the client has lost a server for good. One that counts operations which have ended takes the server for busy, but
// less so than the others while many reads run.
func (s *asker) goOn(ctx context.Context, host string) {
	knew := s.last(host)
	used := func() bool {
		_ = s.read(ctx)
		return !slices.Contains(s.servers.unused(s.number), host)
	}
	verdict := "used it again, so that it was only slow"
	if !within(longer, used) {
		var reading sync.WaitGroup
		for range goroutines {
			reading.Go(func() { _ = (&asker{s.application, s.start, map[string]error{}}).read(ctx) })
		}
		if reading.Wait(); used() {
			verdict = "used it only when many reads ran at once, so that it takes it for busy"
		} else {
			verdict = "did not use it any more"
		}
	}
	s.run.print("share", "%v after all servers were up, client %d %s.\nThe last read that failed at %s: %v\n"+
		"What the client said of it, when it was missed:\n  %s\nand now:\n  %s",
		s.spent(), s.number, verdict, host, s.errs[host], knew, s.last(host))
}
