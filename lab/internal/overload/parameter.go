package overload

import (
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/answer"
	"mongofork/lab/internal/bsondoc"
)

// settings are the values of all parameters.
type settings struct {
	requests, connections Limit
	applications          []string // that are exempt from the limit on requests
}

// parameter is a server parameter of the lab.
type parameter struct {
	name string
	get  func(*settings) any
	set  func(*settings, bson.RawValue) error
}

// newParameters returns the parameters, under the server's names.
func newParameters() []parameter {
	parameters := limitParameters("ingressRequestRateLimiterEnabled", "ingressRequestAdmission",
		func(s *settings) *Limit { return &s.requests })
	parameters = append(parameters, limitParameters("ingressConnectionEstablishmentRateLimiterEnabled",
		"ingressConnectionEstablishment", func(s *settings) *Limit { return &s.connections })...)
	return append(parameters, exemptApplications())
}

// limitParameters returns the parameters of one limit; stem is the common prefix of all but one of their names.
func limitParameters(enabled, stem string, of func(*settings) *Limit) []parameter {
	rate, burst, depth := stem+"RatePerSec", stem+"BurstCapacitySecs", stem+"MaxQueueDepth"
	return []parameter{
		{enabled, func(s *settings) any { return of(s).Enabled }, func(s *settings, value bson.RawValue) (err error) {
			of(s).Enabled, err = truth(enabled, value)
			return err
		}},
		{rate, func(s *settings) any { return of(s).RatePerSec }, func(s *settings, value bson.RawValue) error {
			n, err := whole(rate, value, 1, math.MaxInt32)
			of(s).RatePerSec = int32(n)
			return err
		}},
		{burst, func(s *settings) any { return of(s).BurstCapacitySecs }, func(s *settings, value bson.RawValue) (err error) {
			of(s).BurstCapacitySecs, err = positive(burst, value)
			return err
		}},
		{depth, func(s *settings) any { return of(s).MaxQueueDepth }, func(s *settings, value bson.RawValue) (err error) {
			of(s).MaxQueueDepth, err = whole(depth, value, 0, math.MaxInt32)
			return err
		}},
	}
}

// exemptApplications accepts {appNames: [...]}, and returns the array alone.
func exemptApplications() parameter {
	const name = "ingressRequestRateLimiterApplicationExemptions"
	get := func(s *settings) any { return s.applications }
	return parameter{name, get, func(s *settings, value bson.RawValue) error {
		var exemptions struct {
			AppNames []string `bson:"appNames"`
		}
		if err := value.Unmarshal(&exemptions); err != nil || exemptions.AppNames == nil {
			return answer.Errorf(answer.CodeTypeMismatch, "%s is %v; give {appNames: [name, ...]}", name, value)
		}
		s.applications = exemptions.AppNames
		return nil
	}}
}

// truth reads a boolean, which may be a number.
func truth(name string, value bson.RawValue) (bool, error) {
	if b, ok := value.BooleanOK(); ok {
		return b, nil
	}
	n, ok := bsondoc.Number(value)
	if !ok {
		return false, answer.Errorf(answer.CodeTypeMismatch, "%s is %v; give true or false", name, value)
	}
	return n != 0, nil
}

// whole reads a whole number of any numeric type.
func whole(name string, value bson.RawValue, least, most int64) (int64, error) {
	n, ok := bsondoc.Number(value)
	if !ok {
		return 0, answer.Errorf(answer.CodeTypeMismatch, "%s is %v; give a number", name, value)
	}
	if n != math.Trunc(n) || n < float64(least) || n > float64(most) {
		return 0, answer.Errorf(answer.CodeBadValue, "%s is %v; give a whole number from %d to %d", name, value, least, most)
	}
	return int64(n), nil
}

// positive reads a number above 0.
func positive(name string, value bson.RawValue) (float64, error) {
	n, ok := bsondoc.Number(value)
	if !ok {
		return 0, answer.Errorf(answer.CodeTypeMismatch, "%s is %v; give a number", name, value)
	}
	if !(n > 0) { // NaN, too
		return 0, answer.Errorf(answer.CodeBadValue, "%s is %v; give a number above 0", name, value)
	}
	return n, nil
}
