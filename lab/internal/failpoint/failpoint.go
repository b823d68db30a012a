// Package failpoint gives a front, with any backend, the fail point failCommand of the server's test builds, set with
// configureFailPoint.
package failpoint

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/servererror"
)

// Handler has the fail point of one front, which is off at first. The next handler does not see the commands that fail.
type Handler struct {
	Router bool // whether it is a router's, which does not label errors as retryable writes

	mu    sync.Mutex
	times int64 // how often it still is taken
	data  *data // which does not change
}

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

// Handle is a proxy.Handler. Fail points that the lab does not have are passed to the backend, and apply to all fronts.
func (h *Handler) Handle(ctx context.Context, req *proxy.Request, next proxy.Next) (bson.Raw, error) {
	if req.Command == "configureFailPoint" && req.Database == "admin" {
		if name, _ := req.Document().Lookup(req.Command).StringValueOK(); name != "failCommand" {
			return next(ctx, req)
		}
		return h.configure(req.Document()), nil
	}
	failing := h.take(req)
	if failing == nil {
		return next(ctx, req)
	}
	if failing.BlockConnection {
		if err := clock.Wait(ctx, time.Duration(failing.BlockTimeMS)*time.Millisecond); err != nil {
			return nil, err
		}
	}
	if failing.CloseConnection {
		return nil, proxy.ErrClose
	}
	labels := func(code, writeConcernCode int32) []string {
		if failing.ErrorLabels != nil {
			return *failing.ErrorLabels
		}
		return servererror.Labels(req.Document(), code, writeConcernCode, h.Router)
	}
	if failing.ErrorCode != nil {
		failure := servererror.Errorf(*failing.ErrorCode, "Failing command via 'failCommand' failpoint")
		failure.Labels = labels(failure.Code, 0)
		return failure.Reply(), nil
	}
	reply, err := next(ctx, req)
	if reply != nil && failing.WriteConcernError != nil {
		code, _ := reply.Lookup("code").AsInt64OK()
		writeConcernCode, _ := failing.WriteConcernError.Lookup("code").AsInt64OK()
		reply = servererror.WithConcern(reply, failing.WriteConcernError, labels(int32(code), int32(writeConcernCode)))
	}
	return reply, err
}

// configure sets the mode and the data, and returns the reply. What is refused changes nothing.
func (h *Handler) configure(command bson.Raw) bson.Raw {
	var given struct {
		Mode bson.RawValue `bson:"mode"`
		Data data          `bson:"data"`
	}
	if err := bson.Unmarshal(command, &given); err != nil {
		return servererror.Errorf(servererror.CodeTypeMismatch, "failCommand: %v", err).Reply()
	}
	mode, _ := given.Mode.DocumentOK()
	times, limited := mode.Lookup("times").AsInt64OK()
	switch name, _ := given.Mode.StringValueOK(); {
	case name == "alwaysOn":
		times = math.MaxInt64
	case name != "off" && (!limited || times < 0):
		return servererror.Errorf(servererror.CodeBadValue, `mode is %v; give "off", "alwaysOn" or {times: n}`, given.Mode).Reply()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.times, h.data = times, &given.Data
	return servererror.OK()
}

// take returns the data if the command fails, otherwise nil.
func (h *Handler) take(req *proxy.Request) *data {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.times == 0 || h.data.AppName != nil && *h.data.AppName != req.Client.AppName ||
		!slices.Contains(h.data.FailCommands, req.Command) {
		return nil
	}
	h.times--
	return h.data
}
