package parallel

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// What a server has to miss until it counts as lost: so many reads for each server, while the client checked another one so often. On a
// slow machine both take longer.
const (
	missed     = 60
	heartbeats = 20
	failed     = 4 // reads in a row, each after all retries and the time for the selection of a server
)

// askForShare asks, once all servers are up again, whether a client uses each of them.
func (a *application) askForShare(ctx context.Context) {
	start, hosts := time.Now(), a.servers.Hosts()
	before, errs := a.checks(hosts), 0
	for n := 1; ctx.Err() == nil; n++ {
		filter := bson.D{d("nonce", a.number), d("probe", a.number), d("docs", int32(1))}
		_, err := a.Database("db").Collection("c").FindOne(ctx, filter).Raw()
		if errs++; err == nil {
			errs = 0
		}
		lost, spent := a.servers.unused(a.number), time.Since(start).Round(time.Second)
		switch {
		case errs >= failed:
			a.run.finding("share", "client %d cannot read although all servers have been up for %v: %v", a.number, spent, err)
			return
		case len(lost) == 0:
			return
		case n < missed*len(hosts):
		case a.checks(hosts) >= before+heartbeats || spent > patience/4:
			a.run.finding("share", "client %d (%q) sent %d reads, in %v, to %d of %d servers that are up, and none to %s",
				a.number, a.uri, n, spent, len(hosts)-len(lost), len(hosts), lost)
			return
		default:
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// checks returns how often the client has checked the server that it checked most often.
func (a *application) checks(hosts []string) (most int) {
	for _, host := range hosts {
		most = max(most, a.times(host, checked))
	}
	return most
}
