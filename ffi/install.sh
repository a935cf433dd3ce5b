#!/bin/sh
# Installs the C library, for programs in C, C++ and Go.
#
#     ffi/install.sh [--prefix DIR] [--from FOLDER]
#
# DIR (/usr/local) gets include/berth.h, lib/libberth.a, lib/libberth.so, packages for pkg-config and
# CMake, the Go package in share/berth/go, and the pages in share/doc/berth. With --from nothing is
# built: FOLDER has libberth.a and libberth.so. DESTDIR is put before DIR, as packagers want it.
set -eu

prefix=/usr/local
from=
while [ $# -gt 0 ]; do
    case $1 in
        --prefix) prefix=${2:?--prefix needs a folder}; shift 2 ;;
        --from) from=${2:?--from needs a folder}; shift 2 ;;
        *) echo "install.sh: unknown argument $1; write --prefix DIR or --from FOLDER" >&2; exit 2 ;;
    esac
done
case $prefix in
    /*) ;;
    *) prefix=$PWD/$prefix ;;
esac
# A relative --from is the caller's.
if [ -n "$from" ]; then
    from=$(cd "$from" && pwd)
fi

cd "$(dirname "$0")/.."
if [ -z "$from" ]; then
    cargo build --release -p berth-ffi
    from=${CARGO_TARGET_DIR:-target}/release
fi
abi=$(sed -n 's/^#define BERTH_ABI_VERSION //p' include/berth.h)
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
to=${DESTDIR:-}$prefix
# What Rust's standard library needs of the system.
system="gcc_s util rt pthread m dl"

mkdir -p "$to/include" "$to/lib/pkgconfig" "$to/lib/cmake/Berth" "$to/share/doc/berth" \
    "$to/share/berth/go/include" "$to/share/berth/go/lib"
cp include/berth.h "$to/include/berth.h"
strip --strip-debug -o "$to/lib/libberth.a" "$from/libberth.a"
strip --strip-debug -o "$to/lib/libberth.so.$abi" "$from/libberth.so"
ln -sf "libberth.so.$abi" "$to/lib/libberth.so"
cp ffi/docs/*.md LICENSE "$to/share/doc/berth/"

cat >"$to/lib/pkgconfig/berth.pc" <<END
prefix=\${pcfiledir}/../..
libdir=\${prefix}/lib
static_library=\${libdir}/libberth.a

Name: berth
Description: The Kubernetes scheduler's decisions as a library
Version: $version
Cflags: -I\${prefix}/include
Libs: -L\${libdir} -lberth
Libs.private: $(printf -- '-l%s ' $system)
END

cat >"$to/lib/cmake/Berth/BerthConfig.cmake" <<END
# Berth::static and Berth::shared.
get_filename_component(_berth_prefix "\${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET Berth::static)
  add_library(Berth::static STATIC IMPORTED)
  set_target_properties(Berth::static PROPERTIES
    IMPORTED_LOCATION "\${_berth_prefix}/lib/libberth.a"
    INTERFACE_INCLUDE_DIRECTORIES "\${_berth_prefix}/include"
    INTERFACE_LINK_LIBRARIES "$(echo $system | tr ' ' ';')")
endif()
if(NOT TARGET Berth::shared)
  add_library(Berth::shared SHARED IMPORTED)
  set_target_properties(Berth::shared PROPERTIES
    IMPORTED_LOCATION "\${_berth_prefix}/lib/libberth.so.$abi"
    IMPORTED_SONAME "libberth.so.$abi"
    INTERFACE_INCLUDE_DIRECTORIES "\${_berth_prefix}/include")
endif()
unset(_berth_prefix)
END

cat >"$to/lib/cmake/Berth/BerthConfigVersion.cmake" <<END
# Before 1.0 every minor version may differ from the one before.
set(PACKAGE_VERSION "$version")
if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
elseif("\${PACKAGE_FIND_VERSION_MAJOR}.\${PACKAGE_FIND_VERSION_MINOR}" STREQUAL "${version%.*}")
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
else()
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
endif()
if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_EXACT TRUE)
endif()
END

# Self-contained, so that a \`replace\` in go.mod is all that a Go program needs.
for file in ffi/go/*.go ffi/go/go.mod; do
    case $file in
        *_test.go) ;;
        *) cp "$file" "$to/share/berth/go/" ;;
    esac
done
cp include/berth.h "$to/share/berth/go/include/"
cp "$to/lib/libberth.a" "$to/share/berth/go/lib/"

echo "berth $version (ABI $abi) is in $prefix"
