package soak

import (
	"fmt"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/event"

	"mongofork/lab/internal/bsondoc"
)

func TestCommandsOfAnOperation(t *testing.T) {
	for name, test := range map[string]struct {
		command    string
		operations int
		times      int
		want       map[string]int
		most       int
	}{
		"with all retries":        {"insert", 1, maxCommands, map[string]int{}, maxCommands},
		"once more":               {"insert", 1, 7, map[string]int{"operations of more than 6 commands": 1}, 7},
		"of several operations":   {"insert", 2, 4, map[string]int{}, 4},
		"batches are no attempts": {"getMore", 1, 7, map[string]int{}, 0},
	} {
		report := newReport()
		for i := range test.times * test.operations {
			command := bsondoc.Marshal(bsondoc.D(test.command, 1, "comment", fmt.Sprint(i%test.operations)))
			report.started(t.Context(), &event.CommandStartedEvent{CommandName: test.command, Command: command})
		}
		assert.Equal(t, test.want, counted(report), name)
		assert.Equal(t, test.most, report.Most, name)
	}
}

func TestOpenFiles(t *testing.T) {
	if _, err := openFiles(); err != nil {
		t.Skip("there is no /dev/fd here")
	}
	var open [3]int
	for i := range open {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		if i == 1 {
			defer listener.Close()
		} else {
			require.NoError(t, listener.Close())
		}
		open[i], err = openFiles()
		require.NoError(t, err)
	}
	assert.Equal(t, [3]int{open[0], open[0] + 1, open[0] + 1}, open)
}
