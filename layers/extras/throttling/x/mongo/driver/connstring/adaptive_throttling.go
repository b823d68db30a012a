package connstring

// ConnString holds the URI option adaptiveThrottling.
//
//fork:extend it is a URI option
type ConnString struct {
	AdaptiveThrottling    bool
	AdaptiveThrottlingSet bool
}
