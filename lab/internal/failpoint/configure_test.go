package failpoint

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/lab/internal/answer"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

// assertRefused tells that the command fails for that reason, and that what was configured before goes on to hold.
func assertRefused(t *testing.T, db, command, want string) {
	t.Helper()
	b := newBench(t)
	b.set(t, failCommandName, `"alwaysOn"`, `{"failCommands": ["ping"], "errorCode": 10107}`)
	reply, err := b.run(t, db, command)
	require.NoError(t, err)
	assert.Contains(t, reply, `"ok":0.0`, command)
	assert.Contains(t, reply, want, command)
	reply, err = b.run(t, "admin", `{"ping": 1}`)
	require.NoError(t, err)
	assert.Equal(t, failed, reply, command)
}

func TestRefusedCommands(t *testing.T) {
	assertRefused(t, "d", `{"configureFailPoint": "failCommand", "mode": "off"}`, `against the admin database, not \"d\"","code":13`)
	assertRefused(t, "admin", `{"configureFailPoint": 1, "mode": "off"}`, `takes the name of a fail point`)
	assertRefused(t, "admin", `{"configureFailPoint": "failCommand"}`, `a fail point needs a mode`)
}

func TestRefusedModes(t *testing.T) {
	for mode, want := range map[string]string{
		`"on"`:           `unknown mode \"on\"`,
		`1`:              `give a string or a document`,
		`{}`:             `give {times: n}`,
		`{"times": -1}`:  `mode.times is {\"$numberInt\":\"-1\"}; give a whole number from 0`,
		`{"times": 1.5}`: `mode.times`,
		`{"times": {"$numberLong": "2147483648"}}`: `from 0 to 2147483647`,
		`{"skip": "1"}`:                                       `mode.skip`,
		`{"activationProbability": 1.1}`:                      `a number from 0 to 1`,
		`{"activationProbability": -0.1}`:                     `a number from 0 to 1`,
		`{"activationProbability": {"$numberDouble": "NaN"}}`: `a number from 0 to 1`,
	} {
		assertRefused(t, "admin", `{"configureFailPoint": "failCommand", "mode": `+mode+`, "data": {"failCommands": []}}`, want)
	}
}

func TestRefusedData(t *testing.T) {
	on := func(name, data string) string {
		return `{"configureFailPoint": "` + name + `", "mode": "alwaysOn", "data": ` + data + `}`
	}
	for data, want := range map[string]string{
		`[]`:                             `data is array`,
		`{}`:                             `data.failCommands is missing`,
		`{"failCommands": "a"}`:          `an array of strings`,
		`{"failCommands": [1]}`:          `give a string`,
		`{"errorcode": 1}`:               `the lab has no data.errorcode`,
		`{"errorCode": "1"}`:             `data.errorCode is`,
		`{"closeConnection": 1}`:         `data.closeConnection is`,
		`{"writeConcernError": {}}`:      `a numeric code`,
		`{"errorExtraInfo": 1}`:          `give a document`,
		`{"failInternalCommands": true}`: `no members of a cluster`,
		`{"failCommands": [], "blockConnection": true}`: `needs data.blockTimeMS`,
	} {
		assertRefused(t, "admin", on(failCommandName, data), want)
	}
	assertRefused(t, "admin", on(transactionalWriteName, `{"errorCode": 1}`), `the lab has no data.errorCode`)
	assertRefused(t, "admin", on(transactionalWriteName, `{"closeConnection": "no"}`), `give true or false`)
}

func FuzzConfigure(f *testing.F) {
	for _, command := range []string{
		`{"configureFailPoint": "failCommand", "mode": {"times": 1}, "data": {"failCommands": ["ping"], "errorCode": 1, "errorLabels": ["a"]}}`,
		`{"configureFailPoint": "failCommand", "mode": {"skip": 1}, "data": {"failCommands": ["ping"], "blockConnection": true, "blockTimeMS": 1}}`,
		`{"configureFailPoint": "onPrimaryTransactionalWrite", "mode": {"activationProbability": 0.1}, "data": {"failBeforeCommitExceptionCode": 1}}`,
		`{"configureFailPoint": "failCommand", "mode": "off"}`,
	} {
		f.Add([]byte(marshal(f, parse(f, command))))
	}
	f.Fuzz(func(t *testing.T, command []byte) {
		if wire.ValidateDocument(command) != nil {
			return // nothing else gets through the proxy
		}
		b := newBench(t)
		b.draws = []float64{0, 0, 0}
		_, err := b.Handler.set("admin", command)
		configured := b.failCommand.data
		if err != nil {
			assert.ErrorAs(t, err, new(*answer.Error))
			assert.Nil(t, configured)
		}
		_, err = b.run(t, "admin", `{"ping": 1}`)
		assert.True(t, err == nil || errors.Is(err, proxy.ErrClose), "%v", err)
	})
}
