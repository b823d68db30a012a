package failpoint

import (
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/answer"
	"mongofork/lab/internal/proxy"
)

const (
	failCommandName = "failCommand"

	failMessage = "Failing command via 'failCommand' failpoint"
)

// failCommand determines which commands fail, and how.
type failCommand struct {
	commands  []string
	appName   *string // nil for every application
	namespace *string // nil for every namespace

	block             time.Duration
	closeConnection   bool
	errorCode         *int32
	errorLabels       []string // nil stands for those that the server itself would give
	extraInfo         bson.Raw
	writeConcernError bson.Raw
}

// parseFailCommand reads the data of the fail point.
func parseFailCommand(data bson.Raw) (*failCommand, error) {
	f := &fields{fail: failCommandName, doc: data}
	c := &failCommand{}
	var blocks, hasTime bool
	err := f.each(func(key string, value bson.RawValue) bool {
		switch key {
		case "failCommands":
			c.commands = f.texts(key, value)
		case "appName":
			appName := f.text(key, value)
			c.appName = &appName
		case "namespace":
			namespace := f.text(key, value)
			c.namespace = &namespace
		case "blockConnection":
			blocks = f.boolean(key, value)
		case "blockTimeMS":
			c.block, hasTime = time.Duration(f.count(key, value))*time.Millisecond, true
		case "failInternalCommands":
			if f.boolean(key, value) {
				f.reject(key, value, "false: the lab's clients are no members of a cluster")
			}
		default:
			return c.parseOutcome(f, key, value)
		}
		return true
	})
	switch {
	case err != nil:
		return nil, err
	case c.commands == nil:
		return nil, answer.Errorf(answer.CodeBadValue, "failCommand: data.failCommands is missing; give the names of the commands")
	case blocks && !hasTime:
		return nil, answer.Errorf(answer.CodeInvalidOptions, "failCommand: data.blockConnection needs data.blockTimeMS")
	case !blocks:
		c.block = 0 // which is how the server takes a time alone
	}
	return c, nil
}

// parseOutcome reads what happens to the command.
func (c *failCommand) parseOutcome(f *fields, key string, value bson.RawValue) (known bool) {
	switch key {
	case "closeConnection":
		c.closeConnection = f.boolean(key, value)
	case "errorCode":
		code := f.count(key, value)
		c.errorCode = &code
	case "errorLabels":
		c.errorLabels = f.texts(key, value)
	case "errorExtraInfo":
		c.extraInfo = f.document(key, value)
	case "writeConcernError":
		c.writeConcernError = f.document(key, value)
		if _, ok := c.writeConcernError.Lookup("code").AsInt64OK(); f.err == nil && !ok {
			f.reject(key, value, "a document with a numeric code")
		}
	default:
		return false
	}
	return true
}

// matches reports whether the command fails.
func (c *failCommand) matches(req *proxy.Request) bool {
	if c.appName != nil && *c.appName != req.Client.AppName {
		return false
	}
	if c.namespace != nil && *c.namespace != namespace(req) {
		return false
	}
	command := canonical(req.Command)
	return slices.ContainsFunc(c.commands, func(name string) bool { return canonical(name) == command })
}

// namespace returns the command's namespace: the database and, if its first value names one, the collection.
func namespace(req *proxy.Request) string {
	key := req.Command
	if key == "getMore" {
		key = "collection"
	}
	if collection, ok := req.Document().Lookup(key).StringValueOK(); ok {
		return req.Database + "." + collection
	}
	return req.Database
}

// canonical returns the canonical name of a command that has several. hello is none of isMaster's.
func canonical(command string) string {
	switch command {
	case "ismaster":
		return "isMaster"
	case "findandmodify":
		return "findAndModify"
	case "buildinfo":
		return "buildInfo"
	default:
		return command
	}
}
