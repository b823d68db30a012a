//fork:base >=v2.7.0

package connstring

// ConnString holds the URI option adaptiveRetries.
//
//fork:extend adaptiveRetries is a URI option
type ConnString struct {
	AdaptiveRetries    bool
	AdaptiveRetriesSet bool
}

// addOptions adds the options of the URI, and removes the overload options from the unknown ones.
//
//fork:wrap adaptiveRetries is a URI option
func (u *ConnString) addOptions(connectionArgPairs []string) error {
	err := u.upstreamAddOptions(connectionArgPairs)
	if err != nil {
		return err
	}
	return u.takeBool("adaptiveRetries", &u.AdaptiveRetries, &u.AdaptiveRetriesSet)
}
