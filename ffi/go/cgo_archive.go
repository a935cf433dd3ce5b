//go:build !berth_pkgconfig

package berth

// #cgo CFLAGS: -I${SRCDIR}/include
// #cgo LDFLAGS: ${SRCDIR}/lib/libberth.a -lgcc_s -lutil -lrt -lpthread -lm -ldl
// #include "berth.h"
import "C"
