//go:build berth_pkgconfig

package berth

// #cgo pkg-config: berth
// #include "berth.h"
import "C"
