package failpoint

import (
	"math"
	"slices"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/servererror"
)

// data is what the fail point does.
type data struct {
	FailCommands      []string  `bson:"failCommands"`
	AppName           *string   `bson:"appName"`
	BlockConnection   bool      `bson:"blockConnection"`
	BlockTimeMS       int32     `bson:"blockTimeMS"`
	CloseConnection   bool      `bson:"closeConnection"`
	ErrorCode         *int32    `bson:"errorCode"`
	ErrorLabels       *[]string `bson:"errorLabels"` // without it, those that the server itself would give
	WriteConcernError bson.Raw  `bson:"writeConcernError"`
}

var fields = []string{
	"failCommands", "appName", "blockConnection", "blockTimeMS", "closeConnection", "errorCode", "errorLabels", "writeConcernError",
}

// parseData reads the data of the fail point.
func parseData(value bson.RawValue) (data, error) {
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
		return d, servererror.Errorf(servererror.CodeTypeMismatch, "%s: data is %v: %v", failCommand, value, err)
	}
	for _, element := range elements {
		if !slices.Contains(fields, element.Key()) {
			return d, servererror.Errorf(servererror.CodeInvalidOptions, "%s: the lab has no data.%s", failCommand,
				element.Key())
		}
	}
	return d, nil
}

// matches reports whether the command fails.
func (d *data) matches(req *proxy.Request) bool {
	if d.AppName != nil && *d.AppName != req.Client.AppName {
		return false
	}
	return slices.Contains(d.FailCommands, req.Command)
}

// point is a fail point that is on or off.
type point struct {
	mu    sync.Mutex
	skip  int64 // how often it is not taken before that
	times int64 // how often it still is taken
	data  data
	count int64 // how often it has been taken
}

// configure sets the mode and the data, and returns how often the fail point had been taken until then. A mode that is refused
// changes nothing.
func (p *point) configure(mode bson.RawValue, d data) (int64, error) {
	skip, times, err := parseMode(mode)
	if err != nil {
		return 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.skip, p.times, p.data = skip, times, d
	return p.count, nil
}

// parseMode reads "off", "alwaysOn", {times: n} or {skip: n}. Some clients send a skip of 0 beside times; like the server, this uses
// times.
func parseMode(value bson.RawValue) (skip, times int64, err error) {
	switch name, _ := value.StringValueOK(); name {
	case "off":
		return 0, 0, nil
	case "alwaysOn":
		return 0, math.MaxInt64, nil
	}
	doc, _ := value.DocumentOK()
	for _, name := range []string{"times", "skip"} {
		n, ok := bsondoc.Int64(doc.Lookup(name))
		switch {
		case !ok || n < 0 || n > math.MaxInt32:
			continue
		case name == "skip":
			return n, math.MaxInt64, nil
		default:
			return 0, n, nil
		}
	}
	return 0, 0, servererror.Errorf(servererror.CodeBadValue, `mode is %v; give "off", "alwaysOn", {times: n} or {skip: n}`, value)
}

// take returns the data if the command fails, otherwise nil.
func (p *point) take(req *proxy.Request) *data {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.times == 0 || !p.data.matches(req) {
		return nil
	}
	if p.skip > 0 {
		p.skip--
		return nil
	}
	p.times--
	p.count++
	d := p.data
	return &d
}
