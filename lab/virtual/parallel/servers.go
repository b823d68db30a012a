package parallel

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/virtual"
	"mongofork/lab/virtual/trial"
)

// slow is the comment of commands that wait, and writes are those that have a nonce.
const slow = "slow"

var writes = []string{"insert", "update", "delete", "bulkWrite", "findAndModify"}

// answer is the hook of the cluster.
func (o *round) answer(c virtual.Command, run func() bson.Raw) bson.Raw {
	switch c.Name {
	case "hello", "isMaster", "ismaster":
		return o.hello(run())
	case "endSessions":
		return run()
	}
	if nonce, whole := owner(c.Body); !whole || nonce == 0 && slices.Contains(writes, c.Name) {
		o.finding("handed in", "the %s that a server got is not as one operation gave it: the driver read what the "+
			"application overwrote after the call, or mixed two operations: %s", c.Name, brief(c.Body))
		return virtual.Fail(c, 2)
	}
	if o.storm.Load() {
		return o.trouble().Reply(c, run)
	}
	comment, _ := c.Body.Lookup("comment").StringValueOK()
	if o.probes.Store(c.Host+comment, true); comment == slow {
		select {
		case o.held <- c:
			<-o.release
		case <-o.release: // it is a retry
		}
	}
	return run()
}

// unused returns the hosts that have got no probe of a client.
func (o *round) unused(client string) []string {
	return slices.DeleteFunc(o.Hosts(), func(host string) bool {
		_, used := o.probes.Load(host + client)
		return used
	})
}

// hello hides the primary of a set that has none, and a member that has left its set.
func (o *round) hello(reply bson.Raw) bson.Raw {
	if hosts, is := reply.Lookup("hosts").ArrayOK(); is && o.smaller.Load() {
		values, _ := hosts.Values()
		reply = bsondoc.With(reply, d("hosts", slices.Delete(values, 1, 2)))
	}
	if !o.kind.headless || reply == nil {
		return reply
	}
	reply = bsondoc.With(reply, d("isWritablePrimary", false), d("ismaster", false), d("secondary", true))
	return bsondoc.Rebuild(reply, []string{"primary", "electionId"}, nil)
}

// trouble is what a command meets in a storm, if anything.
func (o *round) trouble() *trial.Fault {
	switch p := rand.Float64(); {
	case p < 0.01:
		return &trial.Fault{What: trial.Close}
	case p < 0.02:
		return &trial.Fault{What: trial.Abort}
	case p < 0.03:
		return &trial.Fault{What: trial.Error, Code: []int32{91, 189, 11600, 10107, 43, 50}[rand.IntN(6)]}
	case p < 0.07:
		o.rejected.Add(1)
		return &trial.Fault{What: trial.Reject, Code: 462}
	case p > 0.97:
		return &trial.Fault{What: trial.Slow, For: time.Duration(rand.IntN(20)) * time.Millisecond}
	}
	return nil
}

// perNonce is how many numbers a nonce has: all from the least nonce's on are of one.
const perNonce, least = 20, 1 << 40 * perNonce

// owner returns of which nonce a document is, if anything in it tells, and whether all of it is, as it was handed to the driver.
func owner(doc bson.Raw) (nonce int64, whole bool) {
	torn, pads := false, []byte(nil) // what paddings consist of
	var read func(doc bson.Raw)
	read = func(doc bson.Raw) {
		elements, err := doc.Elements()
		torn = torn || err != nil
		for _, e := range elements {
			switch value := e.Value(); value.Type {
			case bson.TypeEmbeddedDocument, bson.TypeArray:
				read(value.Value)
			case bson.TypeInt64:
				if of := value.Int64() / perNonce; of >= least/perNonce {
					torn = torn || nonce != 0 && nonce != of
					nonce = of
				}
			case bson.TypeBinary:
				if _, data := value.Binary(); e.Key() == "pad" && len(data) > 0 {
					torn = torn || bytes.Count(data, data[:1]) != len(data)
					pads = append(pads, data[0])
				}
			}
		}
	}
	read(doc)
	return nonce, !torn && nonce != spoiled/perNonce && bytes.Count(pads, []byte{byte(nonce)}) == len(pads)
}
