package hostile

import (
	"testing"
	"testing/synctest"
)

func TestHostile(t *testing.T) {
	for seed := range uint64(300) {
		var findings []string
		plan := New(seed)
		synctest.Test(t, func(t *testing.T) { findings = Run(t, plan) })
		for _, finding := range findings {
			t.Errorf("seed %d: %s\n%+v", seed, finding, plan)
		}
	}
}
