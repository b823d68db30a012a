package scenario

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/fault"
)

func TestParse(t *testing.T) {
	s, err := Parse([]byte(`
topology: replicaset:3
duration: 1m
steps:
- at: 20s
  stepDown: {for: 10s}
- at: 1500ms
  front: 1
  fault: {kind: slow, delay: 100ms, for: 5s}
- at: 2s
  setParameter: {b: 2, a: true}
- at: 3s
  failPoint: {name: failCommand, mode: {times: 5}, data: {failCommands: [find]}}
`))
	require.NoError(t, err)
	assert.Equal(t, time.Minute, s.Duration)
	require.Len(t, s.Steps, 4)
	assert.Equal(t, 1500*time.Millisecond, s.Steps[0].At, "steps are sorted")
	assert.Equal(t, &Fault{Kind: fault.Slow, Delay: 100 * time.Millisecond, For: 5 * time.Second}, s.Steps[0].Fault)
	assert.Equal(t, 1, *s.Steps[0].Front)
	for i, want := range map[int]string{
		1: `{"setParameter": 1, "a": true, "b": 2}`,
		2: `{"configureFailPoint": "failCommand", "mode": {"times": 5}, "data": {"failCommands": ["find"]}}`,
	} {
		raw, err := bson.MarshalExtJSON(s.Steps[i].command(), false, false)
		require.NoError(t, err)
		assert.JSONEq(t, want, string(raw))
	}
	assert.Equal(t, "the primary steps down for 10s", s.Steps[3].String())
}

func TestParseRefuses(t *testing.T) {
	const (
		head = "topology: replicaset:3\nduration: 1m\nsteps:\n"
		real = "topology: members:3\nduration: 1m\nsteps:\n"
	)
	for text, want := range map[string]string{
		"":                                "empty",
		"topology: x\nduration: 1m":       "the kind is unknown",
		"topology: standalone":            "give more than 0",
		head + "- {at: 1s, stepdown: {}}": "stepdown",
		head + "- at: 1s":                 "0 actions",
		head + "- {at: 2m, setParameter: {a: 1}}":                           "step 1: at 2m0s is not between",
		head + "- {at: -1s, setParameter: {a: 1}}":                          "is not between",
		head + "- {at: 1s, stepDown: {for: 1s}, fault: {kind: off}}":        "2 actions",
		head + "- {at: 1s, stepDown: {for: 0s}}":                            "give more than 0",
		head + "- {at: 1s, front: 1, stepDown: {for: 1s}}":                  "takes no front",
		head + "- {at: 1s, front: 3, fault: {kind: off}}":                   "numbered from 0 to 2",
		head + "- {at: 1s, fault: {kind: loud}}":                            `fault "loud" is unknown`,
		head + "- {at: 1s, fault: {kind: silent, for: -1s}}":                "give 0 or more",
		head + "- {at: 1s, failPoint: {name: failCommand}}":                 "needs name and mode",
		"topology: sharded:2\nduration: 1m\nsteps: [{stepDown: {for: 1s}}]": "only a replica set",
		"topology: sharded:2\ntopology: sharded:3\nduration: 1m":            "topology",
		head + "- {at: 1s, front: 0, process: kill}":                        "only real members",
		head + "- {at: 1s, partition: {members: [0]}}":                      "only real members",
		real + "- {at: 1s, process: kill}":                                  "needs a front",
		real + "- {at: 1s, front: 3, process: kill}":                        "numbered from 0 to 2",
		real + "- {at: 1s, front: 0, process: stop}":                        `"stop" is unknown`,
		real + "- {at: 1s, front: 0, partition: {members: [0]}}":            "takes no front",
		real + "- {at: 1s, partition: {members: [3]}}":                      "numbered from 0 to 2",
		real + "- {at: 1s, partition: {members: [0], for: -1s}}":            "give 0 or more",
		real + "- {at: 1s, partition: {members: [0]}, fault: {kind: off}}":  "2 actions",
	} {
		_, err := Parse([]byte(text))
		assert.ErrorContains(t, err, want, text)
	}
}

func TestFrontsThatThereAreNot(t *testing.T) {
	s, err := Parse([]byte("topology: members\nduration: 1m\nsteps: [{at: 1s, front: 5, process: kill}]"))
	require.NoError(t, err, "how many members there are turns out later")
	assert.ErrorContains(t, s.checkFronts(3), "step 1: front 5: they are numbered from 0 to 2")
	assert.NoError(t, s.checkFronts(6))
	assert.Equal(t, "kill the process of the member at front 5", s.Steps[0].String())
}

func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../scenarios/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		_, err = Parse(text)
		assert.NoError(t, err, file)
	}
}
