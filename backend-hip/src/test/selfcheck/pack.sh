#!/bin/sh
# Packs what the self-check needs into a folder that can be carried to a machine with a GPU and run there without a JDK,
# with any Java 25 runtime of java.base, java.logging, java.management, jdk.management and jdk.unsupported:
#
#   ./mvnw -pl backend-hip -am test-compile
#   backend-hip/src/test/selfcheck/pack.sh FOLDER
#
# On a host with an AMD device, against its own runtime:
#
#   java --enable-native-access=ALL-UNNAMED -cp 'FOLDER/lib/*' io.holdfast.backend.hip.HipSelfCheck
#
# On a host with an NVIDIA device, HIP's names over the CUDA driver, which shows that the binding's calls are right:
#
#   FOLDER/over_cuda.sh [VERSION ...]
set -eu

[ $# -eq 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }
mkdir -p "$1/lib"
folder=$(CDPATH='' cd -- "$1" && pwd -P)
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../../../.." && pwd -P)
jar=${JAVA_HOME:+$JAVA_HOME/bin/}jar

pack() {
  [ -d "$root/$1/target/$2" ] || { echo "$0: build first, $1/target/$2 is missing" >&2; exit 1; }
  # A class folder with a descriptor of Java 25 cannot be read by an older jar tool, and nothing needs the descriptor here.
  "$jar" --create --no-compress --file "$folder/lib/$3.jar" \
    $(cd "$root/$1/target/$2" && for entry in *; do [ "$entry" = module-info.class ] || printf -- '-C %s %s ' "$root/$1/target/$2" "$entry"; done)
}

pack api classes holdfast-api
pack backend-hip classes holdfast-backend-hip
pack backend-hip test-classes holdfast-backend-hip-tests
cp "$root/backend-hip/src/test/c/hip_over_cuda.c" "$root/backend-hip/src/test/selfcheck/over_cuda.sh" "$folder/"
du -sk "$folder" | sed 's/\t.*/ KiB in /' | tr -d '\n'
echo "$folder"
