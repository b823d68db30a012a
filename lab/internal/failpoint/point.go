package failpoint

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/answer"
	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/proxy"
)

// data is what a fail point does. The first fields are failCommand's.
type data struct {
	FailCommands      []string  `bson:"failCommands"`
	AppName           *string   `bson:"appName"`
	BlockConnection   bool      `bson:"blockConnection"`
	BlockTimeMS       int32     `bson:"blockTimeMS"`
	CloseConnection   bool      `bson:"closeConnection"`
	ErrorCode         *int32    `bson:"errorCode"`
	ErrorLabels       *[]string `bson:"errorLabels"` // without it, those that the server itself would give
	WriteConcernError bson.Raw  `bson:"writeConcernError"`

	// onPrimaryTransactionalWrite's: without it, the write is committed and its reply is lost.
	FailBeforeCommitExceptionCode *int32 `bson:"failBeforeCommitExceptionCode"`
}

var fields = map[string][]string{
	failCommand: {
		"failCommands", "appName", "blockConnection", "blockTimeMS", "closeConnection", "errorCode", "errorLabels", "writeConcernError",
	},
	onWrite: {"failBeforeCommitExceptionCode"},
}

// parseData reads the data of a fail point.
func parseData(point string, value bson.RawValue) (data, error) {
	var d data
	if value.IsZero() {
		return d, nil
	}
	doc, _ := value.DocumentOK()
	elements, err := doc.Elements()
	if err == nil {
		err = value.Unmarshal(&d)
	}
	if err != nil {
		return d, answer.Errorf(answer.CodeTypeMismatch, "%s: data is %v: %v", point, value, err)
	}
	for _, element := range elements {
		if !slices.Contains(fields[point], element.Key()) {
			return d, answer.Errorf(answer.CodeInvalidOptions, "%s: the lab has no data.%s", point, element.Key())
		}
	}
	return d, nil
}

// matches reports whether the command fails.
func (d *data) matches(req *proxy.Request) bool {
	if d.AppName != nil && *d.AppName != req.Client.AppName {
		return false
	}
	command := canonical(req.Command)
	return slices.ContainsFunc(d.FailCommands, func(name string) bool { return canonical(name) == command })
}

// canonical returns the canonical name of a command that has several. hello is none of isMaster's.
func canonical(command string) string {
	switch command {
	case "ismaster":
		return "isMaster"
	case "findandmodify":
		return "findAndModify"
	default:
		return command
	}
}

// point is a fail point that is on or off.
type point struct {
	mu          sync.Mutex
	skip, times int64   // the chances that are not taken at first, and those that are taken after that
	probability float64 // of each chance
	data        data
	count       int64 // how often it has been taken
	done        map[string]int64
}

// configure sets the mode and the data, and returns how often the fail point had been taken until then. A mode that is refused
// changes nothing.
func (p *point) configure(mode bson.RawValue, d data) (int64, error) {
	skip, times, probability, err := parseMode(mode)
	if err != nil {
		return 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.skip, p.times, p.probability, p.data, p.done = skip, times, probability, d, map[string]int64{}
	return p.count, nil
}

// parseMode reads "off", "alwaysOn", {times: n}, {skip: n} or {activationProbability: p}.
func parseMode(value bson.RawValue) (skip, times int64, probability float64, err error) {
	refused := answer.Errorf(answer.CodeBadValue,
		`mode is %v; give "off", "alwaysOn", {times: n}, {skip: n} or {activationProbability: p}`, value)
	if name, ok := value.StringValueOK(); ok {
		switch name {
		case "off":
			return 0, 0, 0, nil
		case "alwaysOn":
			return 0, math.MaxInt64, 1, nil
		}
		return 0, 0, 0, refused
	}
	doc, _ := value.DocumentOK()
	// Some clients send a skip of 0 beside times; like the server, this uses the first in that order and ignores the rest.
	for _, name := range []string{"times", "skip", "activationProbability"} {
		field, err := doc.LookupErr(name)
		if err != nil {
			continue
		}
		n, ok := bsondoc.Number(field)
		switch {
		case !ok || !(n >= 0 && n <= math.MaxInt32): // NaN, too, is refused
			return 0, 0, 0, refused
		case name == "activationProbability":
			return 0, math.MaxInt64, n, nil
		case name == "skip":
			return int64(n), math.MaxInt64, 1, nil
		default:
			return 0, int64(n), 1, nil
		}
	}
	return 0, 0, 0, refused
}

// take returns the data if one of these chances is taken, otherwise nil. Commands that do not match are no chances.
func (p *point) take(chances int, matches func(*data) bool) *data {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.times == 0 || !matches(&p.data) {
		return nil
	}
	var taken *data
	for range chances {
		switch {
		case p.skip > 0:
			p.skip--
		case p.times > 0 && rand.Float64() < p.probability:
			p.times--
			p.count++
			d := p.data
			taken = &d
		}
	}
	return taken
}

// remember keeps that a session's write has been done, while the fail point is on: its retry is no write.
func (p *point) remember(session string, number int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.times > 0 {
		p.done[session] = number
	}
}

// has reports whether the write has been done. A session has one write at a time, so its last one suffices.
func (p *point) has(session string, number int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	latest, known := p.done[session]
	return known && latest == number
}
