//go:build !cse

package mongocrypt

import "time"

// Pause returns how long to wait before the request is sent.
func (kc *KmsContext) Pause() time.Duration { panic(cseNotSupportedMsg) }

// MessageAfterPause returns the message to send.
func (kc *KmsContext) MessageAfterPause() ([]byte, error) { panic(cseNotSupportedMsg) }
