//go:build cse

package mongocrypt

// #include <mongocrypt.h>
import "C"
import "time"

// Pause returns how long to wait before the request is sent. It is more than zero if libmongocrypt repeats a request that has failed.
func (kc *KmsContext) Pause() time.Duration {
	return time.Duration(C.mongocrypt_kms_ctx_usleep(kc.wrapped)) * time.Microsecond
}

// MessageAfterPause returns the message to send, as Message does, but leaves the pause to the caller, who may have to end it.
func (kc *KmsContext) MessageAfterPause() ([]byte, error) {
	message := newBinary()
	defer message.close()
	if !C.mongocrypt_kms_ctx_message(kc.wrapped, message.wrapped) {
		return nil, kc.createErrorFromStatus()
	}
	return message.toBytes(), nil
}
