//fork:base >=v2.7.0

package connstring

// ConnString holds the URI options adaptiveRetries and adaptiveThrottling.
//
//fork:extend adaptiveRetries and adaptiveThrottling are URI options
type ConnString struct {
	AdaptiveRetries       bool
	AdaptiveRetriesSet    bool
	AdaptiveThrottling    bool
	AdaptiveThrottlingSet bool
}

// addOptions adds the options of the URI, and removes the overload options from the unknown ones.
//
//fork:wrap adaptiveRetries and adaptiveThrottling are URI options
func (u *ConnString) addOptions(connectionArgPairs []string) error {
	err := u.upstreamAddOptions(connectionArgPairs)
	if err != nil {
		return err
	}
	return u.takeSwitches()
}
