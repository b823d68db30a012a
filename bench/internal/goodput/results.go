package goodput

import (
	"time"

	"mongofork/bench/internal/openloop"
)

// Results are the measurements.
type Results struct {
	// Capacity is the number of requests per second that a server serves, Queue the number that may wait.
	Capacity int `json:"capacity"`
	Queue    int `json:"queue"`
	// Connections is the total number of connections for the clients of an arm.
	Connections int `json:"connections"`
	// Patience is the time that operations had after the load.
	Patience time.Duration `json:"patience_ns"`

	Runs   []Run      `json:"runs"`
	Storm  Storm      `json:"storm"`
	Storms []StormRun `json:"storms"`
}

// Run is one scenario with one arm. All arms of a scenario run at the same time.
type Run struct {
	Scenario
	Arm    string           `json:"arm"`
	Report *openloop.Report `json:"report"`
	// Used is the share of the machine's processor time that the programs and servers of all arms took meanwhile, Idle the unused
	// share.
	Used float64 `json:"used"`
	Idle float64 `json:"idle"`
}

// Storm is a start of many clients at once.
type Storm struct {
	Clients int `json:"clients"`
	// PerSecond is the number of connections per second that the server accepts, Queue the number that may wait.
	PerSecond int           `json:"connections_per_second"`
	Queue     int           `json:"queue"`
	Limit     time.Duration `json:"limit_ns"`
	// Arms are the arms that meet it, one after the other.
	Arms []string `json:"-"`
}

// StormRun is the storm with one arm.
type StormRun struct {
	Arm    string                `json:"arm"`
	Report *openloop.StormReport `json:"report"`
	// Idle is the unused share of the machine's processor time; zero if unknown.
	Idle float64 `json:"idle,omitempty"`
}

// Work is the share of the server's time that the replies took. In a lasting overload it is 1, unless something other than the
// server was the limit.
func (r Run) Work() float64 {
	work := float64(r.Report.Served) + r.RejectionCost*float64(r.Report.Rejected)
	return work / (r.Plan.Capacity * r.Plan.Duration.Seconds())
}

// Goodput is the rate of operations that succeeded, as a share of the capacity.
func (r Run) Goodput() float64 {
	return float64(r.Report.Good) / (r.Plan.Capacity * r.Plan.Duration.Seconds())
}

// CommandsPerOperation is the mean number of commands of operations that ended.
func (r Run) CommandsPerOperation() float64 {
	return float64(r.Report.Commands) / float64(max(1, r.Report.Succeeded+r.Report.Failed))
}

// Errors is the share of operations that did not succeed.
func (r Run) Errors() float64 {
	return 1 - float64(r.Report.Succeeded)/float64(r.Report.Arrived)
}

// GivenUp is the share of operations that had not ended when the run did.
func (r Run) GivenUp() float64 { return float64(r.Report.GivenUp) / float64(r.Report.Arrived) }

// MemberLoad is the load on the member that does not admit all of its share, as a multiple of what it admits.
func (r Run) MemberLoad() float64 {
	return r.Plan.Load.Base * r.Plan.Capacity / float64(r.Members) / float64(r.Limit)
}

// Fairness is Jain's index of the clients' shares of success: 1 if all are equal, and 1/n if one of n has everything.
func (r Run) Fairness() float64 {
	var sum, squares, n float64
	for _, c := range r.Report.Clients {
		if c.Arrived == 0 {
			continue
		}
		share := float64(c.Succeeded) / float64(c.Arrived)
		sum, squares, n = sum+share, squares+share*share, n+1
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (n * squares)
}
