package deployment

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"mongofork/lab/internal/answer"
	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

// The outcomes of a request.
const (
	admitted = "admitted" // it was run
	rejected = "rejected" // the server was overloaded
	failed   = "error"    // another error of the command as a whole
	closed   = "closed"   // the connection ended instead
)

// metrics counts the requests at the fronts.
type metrics struct {
	registry *prometheus.Registry
	outcomes *prometheus.CounterVec
	latency  *prometheus.CounterVec
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		outcomes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lab_outcomes_total", Help: "Requests that ended, by outcome.",
		}, []string{"front", "command", "outcome"}),
		latency: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lab_latency_seconds_total", Help: "Total time until the reply.",
		}, []string{"front", "command"}),
	}
	m.registry.MustRegister(m.outcomes, m.latency)
	return m
}

// Metrics returns a handler that serves the counts of the requests to Prometheus.
func (l *Lab) Metrics() http.Handler {
	return promhttp.HandlerFor(l.metrics.registry, promhttp.HandlerOpts{})
}

// handler returns the handler that counts the requests of a front.
func (m *metrics) handler(front string) proxy.Handler { return frontMetrics{m, front} }

type frontMetrics struct {
	*metrics
	front string
}

// Handle implements proxy.Handler.
func (m frontMetrics) Handle(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	start, replied := time.Now(), false
	count := func(outcome string) { m.outcomes.WithLabelValues(m.front, req.Command, outcome).Inc() }
	err := next(ctx, req, func(got *wire.Message) error {
		if !replied { // further replies of a stream do not answer this request
			replied = true
			m.latency.WithLabelValues(m.front, req.Command).Add(time.Since(start).Seconds())
			count(outcomeOf(got))
		}
		return reply(got)
	})
	switch {
	case replied:
	case err == nil && !req.Acknowledged():
		count(admitted)
	default:
		count(closed)
	}
	return err
}

// outcomeOf returns the outcome of a request from its reply.
func outcomeOf(reply *wire.Message) string {
	if bsondoc.Succeeded(reply.Body) {
		return admitted
	}
	labels, _ := reply.Body.Lookup("errorLabels").ArrayOK()
	values, _ := labels.Values()
	for _, label := range values {
		if text, _ := label.StringValueOK(); text == answer.LabelSystemOverloaded {
			return rejected
		}
	}
	return failed
}
