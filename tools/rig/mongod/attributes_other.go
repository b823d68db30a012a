//go:build !unix

package mongod

import "syscall"

func attributes() *syscall.SysProcAttr { return nil }
