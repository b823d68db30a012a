package connstring

import "fmt"

// ConnString holds the URI options adaptiveRetries and adaptiveThrottling.
//
//fork:extend adaptiveRetries and adaptiveThrottling are URI options
type ConnString struct {
	AdaptiveRetries       bool
	AdaptiveRetriesSet    bool
	AdaptiveThrottling    bool
	AdaptiveThrottlingSet bool
}

// The names of the options as the parser keeps unknown options.
const (
	adaptiveRetriesKey    = "adaptiveretries"
	adaptiveThrottlingKey = "adaptivethrottling"
)

// addOptions adds the options of the URI, and removes adaptiveRetries and adaptiveThrottling from the unknown ones.
//
//fork:wrap adaptiveRetries and adaptiveThrottling are URI options
func (u *ConnString) addOptions(connectionArgPairs []string) error {
	if err := u.upstreamAddOptions(connectionArgPairs); err != nil {
		return err
	}
	if err := u.takeBool(adaptiveRetriesKey, "adaptiveRetries", &u.AdaptiveRetries, &u.AdaptiveRetriesSet); err != nil {
		return err
	}
	return u.takeBool(adaptiveThrottlingKey, "adaptiveThrottling", &u.AdaptiveThrottling, &u.AdaptiveThrottlingSet)
}

// takeBool removes an option from the unknown ones and returns its value.
func (u *ConnString) takeBool(key, name string, value, set *bool) error {
	for _, text := range u.UnknownOptions[key] {
		if text != "true" && text != "false" {
			return fmt.Errorf("invalid value for %q: %q", name, text)
		}
		*value, *set = text == "true", true
	}
	delete(u.UnknownOptions, key)
	return nil
}
