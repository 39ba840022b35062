#!/bin/sh
# Runs the self-check over HIP's names on the CUDA driver of this machine, once for each HIP version, and the copy kernels by
# NVRTC where there is one. Beside it lie lib/ and hip_over_cuda.c, as pack.sh puts them.
#
#   ./over_cuda.sh [VERSION ...]     HIP version numbers; 60443484 70051830 70125424 70226015 71526333 by default
#   JAVA=java CC=cc BATCHES=20000 NVRTC=libnvrtc.so ./over_cuda.sh
#   HOLDFAST=bundle/holdfast ./over_cuda.sh      the conformance kit as well, by the launcher of a portable bundle
#
# What passes here was not tested on AMD hardware. The exit code is the number of runs that failed.
set -u

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ $# -gt 0 ] || set -- 60443484 70051830 70125424 70226015 71526333
failed=0
for version in "$@"; do
  echo "==== HIP $version over the CUDA driver"
  library=$work/libamdhip64.$version.so
  "${CC:-cc}" -shared -fPIC -O2 -DHIP_VERSION="$version" "-DNVRTC_LIBRARY=\"${NVRTC:-libnvrtc.so}\"" -o "$library" \
    "$here/hip_over_cuda.c" -ldl -pthread || exit 100
  "${JAVA:-java}" --enable-native-access=ALL-UNNAMED -Dholdfast.hip.library="$library" -Dholdfast.hip.kernels=on -Dholdfast.cache="$work" \
    -Dholdfast.check.batches="${BATCHES:-20000}" -cp "$here/lib/*" io.holdfast.backend.hip.HipSelfCheck || failed=$((failed + 1))
  [ -z "${HOLDFAST:-}" ] ||
    HOLDFAST_JAVA_OPTS="-Dholdfast.hip.library=$library -Dholdfast.hip.kernels=on -Dholdfast.cache=$work" \
      "$HOLDFAST" conformance --backend hip --report "hip-$version-over-cuda" || failed=$((failed + 1))
done
echo "==== $# versions, $failed failed runs"
exit "$failed"
