package report

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"mongofork/bench/internal/goodput"
)

func serverResults() *goodput.Results {
	r := &goodput.Results{Runs: fakeRuns(goodput.ServerScenarios())}
	for i, succeeded := range []int{50, 30, 20, 45} {
		r.Runs[i].Report.Good = succeeded
	}
	return r
}

func TestWriteGoodputOnAServer(t *testing.T) {
	text := writePage(t, GoodputServerFile, &goodput.ServerResults{Server: "9.9 from somewhere", Results: serverResults()})
	assert.Contains(t, text, "before the server 9.9 from somewhere")
	assert.Contains(t, text, "was not measured.")
	assert.Contains(t, text, "| 2 | 10 % | fork | 10.0 | not measured | 0.400 | not measured | 1.12 | not measured |")
	assert.NotContains(t, text, "bench-goodput`, where there is a server")
}

func TestServerAgreesWithCannedReplies(t *testing.T) {
	server, canned := serverResults(), fakeResults()
	assert.Contains(t, agreement(server, canned), "by at most 0.400 (`fork`)")
	assert.Contains(t, goodputServerTable(server, canned).RenderMarkdown(), "| fork | 10.0 | 20.0 | 0.400 | 0.800 | 1.12 | 1.12 |")

	canned.Runs = ofKind(canned, goodput.Spike, goodput.Fork)
	assert.Contains(t, agreement(server, canned), "was not measured")
	for i := range server.Runs {
		server.Runs[i].Report.Good = 0
	}
	assert.Contains(t, agreement(server, fakeResults()), "was not measured", "nothing is no ratio of nothing")
}
