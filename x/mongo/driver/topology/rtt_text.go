package topology

import (
	"sync/atomic"
	"time"
)

// rttMonitor keeps the text that Stats made last.
//
//fork:extend the text was made for each command, and only a few errors have it
type rttMonitor struct {
	told atomic.Value // holds an rttText
}

// rttFigures are what Stats tells.
type rttFigures struct{ average, minimum, deviation time.Duration }

// rttText is the text of figures.
type rttText struct {
	rttFigures
	text string
}

// The text is made once for each measurement.
//
//fork:wrap each command asks for the text, though it needs it only if there is no time left
func (r *rttMonitor) Stats() string {
	figures := r.figures()
	if told, ok := r.told.Load().(rttText); ok && told.rttFigures == figures {
		return told.text
	}
	text := r.upstreamStats()
	if r.figures() == figures {
		r.told.Store(rttText{figures, text})
	}
	return text
}

func (r *rttMonitor) figures() rttFigures {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return rttFigures{average: r.averageRTT, minimum: r.minRTT, deviation: r.stddevRTT}
}
