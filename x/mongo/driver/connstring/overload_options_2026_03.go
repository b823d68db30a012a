//fork:base <v2.7.0

package connstring

import (
	"errors"
	"fmt"
	"strconv"
)

// ConnString holds the URI options adaptiveRetries and, as later versions do, maxAdaptiveRetries.
//
//fork:extend this version lacks the URI options
type ConnString struct {
	AdaptiveRetries       bool
	AdaptiveRetriesSet    bool
	MaxAdaptiveRetries    uint
	MaxAdaptiveRetriesSet bool
}

// maxAdaptiveRetriesKey is the name of the option as the parser keeps unknown options.
const maxAdaptiveRetriesKey = "maxadaptiveretries"

// addOptions adds the options of the URI, and removes the overload options from the unknown ones.
//
//fork:wrap they are URI options
func (u *ConnString) addOptions(connectionArgPairs []string) error {
	err := u.upstreamAddOptions(connectionArgPairs)
	if err != nil {
		return err
	}
	for _, text := range u.UnknownOptions[maxAdaptiveRetriesKey] {
		n, invalid := strconv.Atoi(text)
		if invalid != nil || n < 0 {
			return fmt.Errorf("invalid value for %q: %q: want a number, 0 or more", "maxAdaptiveRetries", text)
		}
		u.MaxAdaptiveRetries, u.MaxAdaptiveRetriesSet = uint(n), true
	}
	delete(u.UnknownOptions, maxAdaptiveRetriesKey)
	if u.UnknownOptions["enableoverloadretargeting"] != nil { // this version always avoids overloaded servers, which false forbids
		return errors.New("enableOverloadRetargeting is an option of later versions of the driver, and has no effect in " +
			"this one: remove it")
	}
	return u.takeBool("adaptiveRetries", &u.AdaptiveRetries, &u.AdaptiveRetriesSet)
}
