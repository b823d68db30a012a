package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"mongofork/lab/internal/deployment"
	"mongofork/lab/internal/fault"
	"mongofork/lab/internal/members"
	"mongofork/lab/internal/topology"
)

// defaultStepDown is the time for which a primary that stepped down is not elected, unless the request gives one.
const defaultStepDown = 60 * time.Second

// control returns a handler for these requests. From web pages it answers only reads, and never a request for a host other than this
// machine, such as one from a web page whose name was made to lead here:
//
//	GET  /status                      the deployment's members and the fronts' faults, as JSON
//	POST /stepdown?for=10s            the primary steps down, and is not elected for that long
//	POST /fronts/{front}/fault?kind=slow&delay=100ms&for=5s
//	                                  what is wrong with a front: off, silent, slow or reset
//	POST /members/{member}/{action}   the process of a real member: kill, restart, pause or resume
//	POST /partition?members=0,2&for=5s
//	                                  these members are cut off from the others; without members nobody is
func control(l *deployment.Lab) http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, act func(*http.Request) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { respond(w, r, l, act) })
	}
	handle("GET /status", func(*http.Request) error { return nil })
	handle("POST /stepdown", func(r *http.Request) error {
		period, err := durationOf(r, "for", defaultStepDown)
		if err != nil {
			return err
		}
		return l.Cluster().StepDown(period)
	})
	handle("POST /fronts/{front}/fault", func(r *http.Request) error { return setFault(l, r) })
	handle("POST /members/{member}/{action}", func(r *http.Request) error {
		set, err := setOf(l)
		if err != nil {
			return err
		}
		member, err := numberOf(r, "member")
		if err != nil {
			return err
		}
		return set.Process(r.Context(), member, members.Action(r.PathValue("action")))
	})
	handle("POST /partition", func(r *http.Request) error { return partition(l, r) })
	return local(http.NewCrossOriginProtection().Handler(mux))
}

// status is the content of /status, and the answer to all other requests.
type status struct {
	topology.Status
	Faults []fault.Fault `json:"faults"`
}

// respond acts, and answers with the status, or the error as a bad request, as JSON.
func respond(w http.ResponseWriter, r *http.Request, l *deployment.Lab, act func(*http.Request) error) {
	var result any
	code := http.StatusOK
	if err := act(r); err != nil {
		result, code = map[string]string{"error": err.Error()}, http.StatusBadRequest
		if errors.Is(err, deployment.ErrNoFront) || errors.Is(err, members.ErrNoMember) {
			code = http.StatusNotFound
		}
	} else {
		result = status{l.Cluster().Status(), l.Faults()}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(result) // fails where the client is gone
}

func setFault(l *deployment.Lab, r *http.Request) error {
	front, err := numberOf(r, "front")
	f := fault.Fault{Kind: fault.Kind(r.FormValue("kind"))}
	if err == nil {
		f.Delay, err = durationOf(r, "delay", 0)
	}
	if err == nil {
		f.For, err = durationOf(r, "for", 0)
	}
	if err != nil {
		return err
	}
	return l.SetFault(front, f)
}

// setOf returns the real members behind a lab.
func setOf(l *deployment.Lab) (*members.Set, error) {
	if l.Members() == nil {
		return nil, errors.New("the lab makes its members of one server; start it with --topology members")
	}
	return l.Members(), nil
}

func partition(l *deployment.Lab, r *http.Request) error {
	set, err := setOf(l)
	if err != nil {
		return err
	}
	duration, err := durationOf(r, "for", 0)
	if err != nil {
		return err
	}
	var cut []int
	for text := range strings.SplitSeq(r.FormValue("members"), ",") {
		member, err := strconv.Atoi(text)
		switch {
		case err == nil:
			cut = append(cut, member)
		case text != "":
			return fmt.Errorf("members=%q: give numbers such as 0,2", r.FormValue("members"))
		}
	}
	return set.Partition(cut, duration)
}

func numberOf(r *http.Request, name string) (int, error) {
	number, err := strconv.Atoi(r.PathValue(name))
	if err != nil {
		return 0, fmt.Errorf("%s %q: it is not a number", name, r.PathValue(name))
	}
	return number, nil
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

// local refuses requests whose Host is neither localhost nor a loopback address. Browsers would otherwise let a web page whose
// host name leads to this machine control the lab.
func local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		address, err := netip.ParseAddr(strings.Trim(host, "[]"))
		if !strings.EqualFold(host, "localhost") && (err != nil || !address.IsLoopback()) {
			http.Error(w, fmt.Sprintf("host %q: ask for 127.0.0.1 or localhost", r.Host), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
