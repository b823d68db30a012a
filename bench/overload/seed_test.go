//go:build go1.26

package overload

import "testing/cryptotest"

func init() { seed = cryptotest.SetGlobalRandom }
