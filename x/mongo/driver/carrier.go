package driver

// carrier returns what may carry the overload policy of a deployment or server: that of a cursor is the server that it was opened on.
func carrier(of any) any {
	switch of := of.(type) {
	case SingleServerDeployment:
		return of.Server
	case *loadBalancedCursorDeployment:
		return of.errorProcessor
	default:
		return of
	}
}
