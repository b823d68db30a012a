package limits

import "fmt"

// Report is the result of a run.
type Report struct {
	// Where is who limited: the server, or the lab before it.
	Where  string
	Checks []Check
}

// Check is one thing that has to be so.
type Check struct {
	// Limit is the limited resource, "requests" or "connections".
	Limit string
	What  string
	OK    bool
	// Figures are what the verdict rests on.
	Figures string
}

// Failed tells whether anything is not as it has to be.
func (r *Report) Failed() bool {
	for _, check := range r.Checks {
		if !check.OK {
			return true
		}
	}
	return false
}

func (r *Report) add(limit, what string, ok bool, figures string, args ...any) {
	r.Checks = append(r.Checks, Check{Limit: limit, What: what, OK: ok, Figures: fmt.Sprintf(figures, args...)})
}
