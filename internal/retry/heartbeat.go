package retry

import "time"

const (
	// minHeartbeatInterval is minHeartbeatFrequencyMS (server-monitoring.md).
	minHeartbeatInterval = 500 * time.Millisecond

	// heartbeatBackoff is the longest random part of the wait, and how much later than others a client with adaptiveThrottling may
	// notice that a server is back.
	heartbeatBackoff = time.Second
)

// HeartbeatBackoff returns the least time between the end of a check in which the server closed the connection before it was
// established, and the beginning of the next check: minHeartbeatFrequencyMS plus jitter * 1 s, but no more than
// heartbeatFrequencyMS, after which checks take place anyway. Jitter is in [0, 1).
func HeartbeatBackoff(jitter float64, heartbeatFrequency time.Duration) time.Duration {
	wait := minHeartbeatInterval + time.Duration(jitter*float64(heartbeatBackoff))
	if wait > heartbeatFrequency {
		return heartbeatFrequency
	}
	return wait
}
