package failpoint

import (
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/answer"
	"mongofork/lab/internal/bsondoc"
)

// mode determines which of a fail point's chances it takes.
type mode struct {
	kind        modeKind
	count       int64   // of times or skip
	probability float64 // of random
}

type modeKind int

const (
	off modeKind = iota
	alwaysOn
	times  // the first count chances
	skip   // all but the first count chances
	random // each with the probability
)

// take reports whether this chance is taken, and returns the mode that is left.
func (m mode) take(draw func() float64) (bool, mode) {
	switch m.kind {
	case alwaysOn:
		return true, m
	case times:
		m.count--
		if m.count == 0 {
			m = mode{kind: off}
		}
		return true, m
	case skip:
		if m.count == 0 {
			return true, m
		}
		m.count--
		return false, m
	case random:
		return draw() < m.probability, m
	default:
		return false, m
	}
}

// parseMode reads the mode of a configureFailPoint.
func parseMode(value bson.RawValue) (mode, error) {
	if value.IsZero() {
		return mode{}, answer.Errorf(answer.CodeIllegalOperation,
			`a fail point needs a mode: "off", "alwaysOn", {times: n}, {skip: n} or {activationProbability: p}`)
	}
	if name, ok := value.StringValueOK(); ok {
		switch name {
		case "off":
			return mode{kind: off}, nil
		case "alwaysOn":
			return mode{kind: alwaysOn}, nil
		}
		return mode{}, answer.Errorf(answer.CodeBadValue, `unknown mode %q; give "off" or "alwaysOn"`, name)
	}
	doc, ok := value.DocumentOK()
	if !ok {
		return mode{}, answer.Errorf(answer.CodeTypeMismatch, "mode is %v; give a string or a document", value.Type)
	}
	return parseModeDocument(doc)
}

// parseModeDocument reads {times: n}, {skip: n} or {activationProbability: p}. Some clients send a skip of 0 beside times; like
// the server, this uses the first in that order and ignores the rest.
func parseModeDocument(doc bson.Raw) (mode, error) {
	if value, err := doc.LookupErr("times"); err == nil {
		count, err := parseCount("mode.times", value)
		if count == 0 {
			return mode{kind: off}, err
		}
		return mode{kind: times, count: count}, err
	}
	if value, err := doc.LookupErr("skip"); err == nil {
		count, err := parseCount("mode.skip", value)
		return mode{kind: skip, count: count}, err
	}
	if value, err := doc.LookupErr("activationProbability"); err == nil {
		probability, ok := bsondoc.Number(value)
		if !ok || !(probability >= 0 && probability <= 1) { // NaN, too, is refused
			return mode{}, answer.Errorf(answer.CodeBadValue, "mode.activationProbability is %v; give a number from 0 to 1", value)
		}
		return mode{kind: random, probability: probability}, nil
	}
	return mode{}, answer.Errorf(answer.CodeBadValue,
		"mode is %v; give {times: n}, {skip: n} or {activationProbability: p}", doc)
}

// parseCount reads an int32 of any numeric type.
func parseCount(name string, value bson.RawValue) (int64, error) {
	n, ok := bsondoc.Number(value)
	if !ok || n != math.Trunc(n) || n < 0 || n > math.MaxInt32 {
		return 0, answer.Errorf(answer.CodeBadValue, "%s is %v; give a whole number from 0 to %d", name, value, math.MaxInt32)
	}
	return int64(n), nil
}
