package connstring

import "fmt"

// ConnString holds the URI option adaptiveRetries.
//
//fork:extend adaptiveRetries is a URI option
type ConnString struct {
	AdaptiveRetries    bool
	AdaptiveRetriesSet bool
}

// adaptiveRetriesKey is the option's name as upstream's parser keeps the options that it does not know.
const adaptiveRetriesKey = "adaptiveretries"

// addOptions adds the options of the URI, and takes adaptiveRetries out of those that are unknown.
//
//fork:wrap adaptiveRetries is a URI option
func (u *ConnString) addOptions(connectionArgPairs []string) error {
	if err := u.upstreamAddOptions(connectionArgPairs); err != nil {
		return err
	}
	for _, value := range u.UnknownOptions[adaptiveRetriesKey] {
		if value != "true" && value != "false" {
			return fmt.Errorf("invalid value for %q: %q", "adaptiveRetries", value)
		}
		u.AdaptiveRetries, u.AdaptiveRetriesSet = value == "true", true
	}
	delete(u.UnknownOptions, adaptiveRetriesKey)
	return nil
}
