package metrics

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Counts are the outcomes of a command's requests at a front.
type Counts struct {
	Front   int    `json:"front"`
	Host    string `json:"host"`
	Command string `json:"command"`

	Received int64 `json:"received"`
	Admitted int64 `json:"admitted"` // run without an error of the command as a whole
	Rejected int64 `json:"rejected"` // refused for overload
	Errors   int64 `json:"errors"`   // failed otherwise
	Closed   int64 `json:"closed"`   // the connection ended instead of a reply

	// Latency sums the times until the reply.
	Latency time.Duration `json:"latencyNanoseconds"`
	// Attempts counts requests by their attempt, from the first. It omits requests whose attempt is unknown: all but retryable
	// writes and ends of transactions.
	Attempts []int64 `json:"attempts,omitempty"`
}

// Counts returns all counts, by front and command.
func (r *Recorder) Counts() []Counts {
	r.mu.RLock()
	defer r.mu.RUnlock()
	all := []Counts{} // in JSON a list, also when it is empty
	for front, host := range r.hosts {
		for _, command := range slices.Sorted(maps.Keys(r.commands)) {
			c := &r.commands[command][front]
			if c.received.Load() > 0 {
				all = append(all, c.counts(front, host, command))
			}
		}
	}
	return all
}

func (c *counters) counts(front int, host, command string) Counts {
	counts := Counts{
		Front: front, Host: host, Command: command,
		Received: c.received.Load(), Admitted: c.admitted.Load(), Rejected: c.rejected.Load(),
		Errors: c.errors.Load(), Closed: c.closed.Load(), Latency: time.Duration(c.latency.Load()),
	}
	for attempt := unknownAttempt + 1; attempt <= maxAttempts; attempt++ {
		n := c.attempts[attempt].Load()
		if n > 0 {
			counts.Attempts = append(counts.Attempts, make([]int64, attempt-len(counts.Attempts))...)
			counts.Attempts[attempt-1] = n
		}
	}
	return counts
}

// collector passes the counts to Prometheus.
type collector struct {
	recorder *Recorder
	requests *prometheus.Desc
	outcomes *prometheus.Desc
	latency  *prometheus.Desc
	attempts *prometheus.Desc
}

// Collector returns the recorder as a collector for a Prometheus registry.
func (r *Recorder) Collector() prometheus.Collector {
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("lab_"+name, help, append([]string{"front", "command"}, labels...), nil)
	}
	return &collector{
		recorder: r,
		requests: describe("requests_total", "Requests that clients sent."),
		outcomes: describe("outcomes_total", "Requests by outcome.", "outcome"),
		latency:  describe("latency_seconds_total", "Total time until the reply."),
		attempts: describe("attempts_total", "Requests by attempt, if known.", "attempt"),
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(descriptions chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.requests, c.outcomes, c.latency, c.attempts} {
		descriptions <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(metrics chan<- prometheus.Metric) {
	for _, counts := range c.recorder.Counts() {
		send := func(d *prometheus.Desc, value float64, labels ...string) {
			labels = append([]string{counts.Host, counts.Command}, labels...)
			metrics <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, value, labels...)
		}
		send(c.requests, float64(counts.Received))
		send(c.outcomes, float64(counts.Admitted), "admitted")
		send(c.outcomes, float64(counts.Rejected), "rejected")
		send(c.outcomes, float64(counts.Errors), "error")
		send(c.outcomes, float64(counts.Closed), "closed")
		send(c.latency, counts.Latency.Seconds())
		for i, n := range counts.Attempts {
			send(c.attempts, float64(n), strconv.Itoa(i+1))
		}
	}
}

// Answered is the number of requests that had a reply, except those that want none.
func (c Counts) Answered() int64 { return c.Admitted + c.Rejected + c.Errors }

// Total sums a front's counts without its hellos, which idle clients send, too.
func Total(all []Counts, front int) Counts {
	total := Counts{Front: front}
	for _, c := range all {
		switch c.Command {
		case "hello", "isMaster", "ismaster":
			continue
		}
		if c.Front != front {
			continue
		}
		total.Host = c.Host
		total.Received += c.Received
		total.Admitted += c.Admitted
		total.Rejected += c.Rejected
		total.Errors += c.Errors
		total.Closed += c.Closed
		total.Latency += c.Latency
	}
	return total
}
