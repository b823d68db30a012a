// Package control serves a lab's counts and control requests over HTTP.
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

	"mongofork/lab/internal/deployment"
	"mongofork/lab/internal/fault"
	"mongofork/lab/internal/members"
	"mongofork/lab/internal/topology"
)

// defaultStepDown is the time for which a primary that stepped down is not elected, unless the request gives one.
const defaultStepDown = 60 * time.Second

// New returns a handler for these requests. From web pages it answers only reads, and never a request for a host other than this
// machine, such as one from a web page whose name was made to lead here:
//
//	GET  /metrics                     the counts, for Prometheus
//	GET  /counts                      the counts, as JSON
//	GET  /status                      the deployment's members and the fronts' faults, as JSON
//	POST /stepdown?for=10s            the primary steps down, and is not elected for that long
//	POST /fronts/{front}/fault?kind=slow&delay=100ms&for=5s
//	                                  what is wrong with a front: off, silent, slow, reset or restart
//	POST /members/{member}/{action}   the process of a real member: kill, restart, pause or resume
//	POST /partition?members=0,2&for=5s
//	                                  these members are cut off from the others; without members nobody is
//	POST /links/{from}/{to}/fault?kind=slow&delay=100ms&for=5s
//	                                  what is wrong with the way from one member to another: off, silent, slow or reset
func New(l *deployment.Lab) (http.Handler, error) {
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
	mux.Handle("POST /members/{member}/{action}", answering(func(r *http.Request) (any, error) { return actOnMember(l, r) }))
	mux.Handle("POST /partition", answering(func(r *http.Request) (any, error) { return partition(l, r) }))
	mux.Handle("POST /links/{from}/{to}/fault", answering(func(r *http.Request) (any, error) { return setLinkFault(l, r) }))
	return local(http.NewCrossOriginProtection().Handler(mux)), nil
}

// Status is the content of /status.
type Status struct {
	topology.Status
	Faults []fault.Fault `json:"faults"`
	// Links are the faults of the links between members that the lab started, by from and to.
	Links [][]fault.Fault `json:"links,omitempty"`
}

func statusOf(l *deployment.Lab) Status {
	status := Status{Status: l.Cluster().Status(), Faults: l.Faults()}
	if set := l.Members(); set != nil {
		status.Links = set.LinkFaults()
	}
	return status
}

func stepDown(l *deployment.Lab, r *http.Request) (any, error) {
	period, err := durationOf(r, "for", defaultStepDown)
	if err != nil {
		return nil, err
	}
	if err := l.Cluster().StepDown(period); err != nil {
		return nil, err
	}
	return statusOf(l), nil
}

func setFault(l *deployment.Lab, r *http.Request) (any, error) {
	front, err := numberOf(r, "front")
	if err != nil {
		return nil, err
	}
	f, duration, err := faultOf(r)
	if err != nil {
		return nil, err
	}
	if err := l.SetFault(front, f, duration); err != nil {
		return nil, err
	}
	return statusOf(l), nil
}

func numberOf(r *http.Request, name string) (int, error) {
	number, err := strconv.Atoi(r.PathValue(name))
	if err != nil {
		return 0, fmt.Errorf("%s %q: it is not a number", name, r.PathValue(name))
	}
	return number, nil
}

// faultOf returns the fault that a request asks for, and its duration.
func faultOf(r *http.Request) (f fault.Fault, duration time.Duration, err error) {
	f.Kind = fault.Kind(r.FormValue("kind"))
	if f.Delay, err = durationOf(r, "delay", 0); err != nil {
		return f, 0, err
	}
	duration, err = durationOf(r, "for", 0)
	return f, duration, err
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

// answering returns a handler that serves the result of act as JSON, or its error as a bad request.
func answering(act func(*http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		result, err := act(r)
		status := http.StatusOK
		if err != nil {
			result, status = map[string]string{"error": err.Error()}, http.StatusBadRequest
			if errors.Is(err, deployment.ErrNoFront) || errors.Is(err, members.ErrNoMember) {
				status = http.StatusNotFound
			}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(result) // fails where the client is gone
	})
}
