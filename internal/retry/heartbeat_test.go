package retry

import (
	"testing"
	"time"
)

func TestHeartbeatBackoff(t *testing.T) {
	const frequency = 10 * time.Second
	tests := []struct {
		name      string
		jitter    float64
		frequency time.Duration
		want      time.Duration
	}{
		{"never sooner than the specification permits", 0, frequency, 500 * time.Millisecond},
		{"jitter", 0.5, frequency, 1500 * time.Millisecond},
		{"longest", 1, frequency, 2500 * time.Millisecond},
		{"a frequent heartbeat", 1, 700 * time.Millisecond, 700 * time.Millisecond},
		{"the most frequent heartbeat", 1, minHeartbeatInterval, minHeartbeatInterval},
	}
	for _, tt := range tests {
		if got := HeartbeatBackoff(tt.jitter, tt.frequency); got != tt.want {
			t.Errorf("%s: HeartbeatBackoff(%v, %v) = %v, want %v", tt.name, tt.jitter, tt.frequency, got, tt.want)
		}
	}
}
