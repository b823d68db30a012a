package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestPlot: nothing is at the bottom, the capacity at the top, and twice the capacity where the axis says so.
func TestPlot(t *testing.T) {
	all := everything()
	all[key{lastingAt(2, 0.1), testArms.noRetry.name}] = result{Goodput: 100}
	all[key{lastingAt(10, 0.1), testArms.noRetry.name}] = result{Goodput: 0}
	all[key{firstSeconds(2), testArms.full.name}] = result{Goodput: 25}
	plot := testArms.plot(all)
	assert.Contains(t, plot, `<path d="M56.0 133.0 110.0 133.0 160.0 16.0 280.6 133.0 440.0 250.0" fill="none" stroke="#57606a"`)
	assert.Contains(t, plot, `<path d="M56.0 133.0 110.0 133.0 160.0 191.5 280.6 133.0 440.0 133.0" fill="none" stroke="#1a7f37"`)
	assert.NotContains(t, plot, "NaN")
}
