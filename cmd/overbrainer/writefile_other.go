//go:build !unix

package main

import "os"

// shared is not known here.
func shared(os.FileInfo) bool { return false }
