package failpoint

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestErrorLabels(t *testing.T) {
	for data, want := range map[string]string{
		`"errorCode": 91`:                            `"codeName":"ShutdownInProgress","errorLabels":["RetryableWriteError"]}`,
		`"errorCode": 91, "errorLabels": []`:         `"codeName":"ShutdownInProgress"}`,
		`"errorCode": 91, "errorLabels": ["a", "b"]`: `"codeName":"ShutdownInProgress","errorLabels":["a","b"]}`,
	} {
		b := newBench(t)
		b.set(t, failCommandName, `"alwaysOn"`, `{"failCommands": ["insert"], `+data+`}`)
		reply, err := b.run(t, "d", `{"insert": "c", "txnNumber": 1}`)
		assert.NoError(t, err)
		assert.Contains(t, reply, want)
	}
}
