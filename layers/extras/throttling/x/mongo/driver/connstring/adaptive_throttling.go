package connstring

// ConnString holds the URI option adaptiveThrottling.
//
//fork:extend it is a URI option
type ConnString struct {
	AdaptiveThrottling    bool
	AdaptiveThrottlingSet bool
}

// addOptions also takes adaptiveThrottling from the unknown options.
//
//fork:wrap adaptiveThrottling is a URI option
func (u *ConnString) addOptions(connectionArgPairs []string) error {
	err := u.upstreamAddOptions(connectionArgPairs)
	if err != nil {
		return err
	}
	return u.takeBool("adaptiveThrottling", &u.AdaptiveThrottling, &u.AdaptiveThrottlingSet)
}
