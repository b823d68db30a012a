// Package control serves a lab's counts, and lets people and scripts act on it, over HTTP.
package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"mongofork/lab/internal/fault"
	"mongofork/lab/internal/lab"
	"mongofork/lab/internal/topology"
)

// defaultStepDown is how long a primary that stepped down is not elected, where the request does not say.
const defaultStepDown = 60 * time.Second

// New returns a handler for these requests; other than reading ones are refused from web pages:
//
//	GET  /metrics                     the counts, for Prometheus
//	GET  /counts                      the counts, as JSON
//	GET  /status                      the deployment's members and the fronts' faults, as JSON
//	POST /stepdown?for=10s            the primary steps down, and is not elected for that long
//	POST /fronts/{front}/fault?kind=slow&delay=100ms&for=5s
//	                                  what is wrong with a front: off, silent, slow, reset or restart
func New(l *lab.Lab) (http.Handler, error) {
	registry := prometheus.NewRegistry()
	if err := registry.Register(l.Metrics().Collector()); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.Handle("GET /counts", answering(func(*http.Request) (any, error) { return l.Metrics().Counts(), nil }))
	mux.Handle("GET /status", answering(func(*http.Request) (any, error) { return statusOf(l), nil }))
	mux.Handle("POST /stepdown", answering(func(r *http.Request) (any, error) { return stepDown(l, r) }))
	mux.Handle("POST /fronts/{front}/fault", answering(func(r *http.Request) (any, error) { return setFault(l, r) }))
	return http.NewCrossOriginProtection().Handler(mux), nil
}

// Status is what /status serves.
type Status struct {
	topology.Status
	Faults []fault.Fault `json:"faults"`
}

func statusOf(l *lab.Lab) Status {
	return Status{Status: l.Cluster().Status(), Faults: l.Faults()}
}

func stepDown(l *lab.Lab, r *http.Request) (any, error) {
	period, err := durationOf(r, "for", defaultStepDown)
	if err != nil {
		return nil, err
	}
	if err := l.Cluster().StepDown(period); err != nil {
		return nil, err
	}
	return statusOf(l), nil
}

func setFault(l *lab.Lab, r *http.Request) (any, error) {
	front, err := strconv.Atoi(r.PathValue("front"))
	if err != nil {
		return nil, fmt.Errorf("front %q: it is not a number", r.PathValue("front"))
	}
	f := fault.Fault{Kind: fault.Kind(r.FormValue("kind"))}
	if f.Delay, err = durationOf(r, "delay", 0); err != nil {
		return nil, err
	}
	duration, err := durationOf(r, "for", 0)
	if err != nil {
		return nil, err
	}
	if err := l.SetFault(front, f, duration); err != nil {
		return nil, err
	}
	return statusOf(l), nil
}

func durationOf(r *http.Request, name string, byDefault time.Duration) (time.Duration, error) {
	text := r.FormValue(name)
	if text == "" {
		return byDefault, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%s=%q: give a time such as 500ms or 10s", name, text)
	}
	return d, nil
}

// answering returns a handler that serves what act returns as JSON, or its error as a request that makes no sense.
func answering(act func(*http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		result, err := act(r)
		status := http.StatusOK
		if err != nil {
			result, status = map[string]string{"error": err.Error()}, http.StatusBadRequest
			if errors.Is(err, lab.ErrNoFront) {
				status = http.StatusNotFound
			}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(result) // fails where the client is gone
	})
}
