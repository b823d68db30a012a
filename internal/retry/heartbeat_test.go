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
		{name: "never sooner than the specification permits", jitter: 0, frequency: frequency, want: 500 * time.Millisecond},
		{name: "jitter", jitter: 0.5, frequency: frequency, want: 1000 * time.Millisecond},
		{name: "longest", jitter: 1, frequency: frequency, want: 1500 * time.Millisecond},
		{name: "a frequent heartbeat", jitter: 1, frequency: 700 * time.Millisecond, want: 700 * time.Millisecond},
		{name: "the most frequent heartbeat", jitter: 1, frequency: 500 * time.Millisecond, want: 500 * time.Millisecond},
	}
	for _, tt := range tests {
		if got := HeartbeatBackoff(tt.jitter, tt.frequency); got != tt.want {
			t.Errorf("%s: HeartbeatBackoff(%v, %v) = %v, want %v", tt.name, tt.jitter, tt.frequency, got, tt.want)
		}
	}
}
