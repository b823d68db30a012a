package soak

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
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
