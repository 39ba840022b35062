#!/bin/sh
# Packs what the self-check needs into a folder that can be carried to a machine with a GPU and run there without a JDK,
# with any Java 25 runtime of java.base, java.logging, java.management, jdk.management and jdk.unsupported:
#
#   ./mvnw -pl backend-cuda -am test-compile
#   backend-cuda/src/test/selfcheck/pack.sh FOLDER
#   java --enable-native-access=ALL-UNNAMED -Djava.library.path=FOLDER/natives -cp 'FOLDER/lib/*' io.holdfast.backend.cuda.SelfCheck
set -eu

[ $# -eq 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }
mkdir -p "$1/lib" "$1/natives"
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
pack backend-cuda classes holdfast-backend-cuda
pack backend-cuda test-classes holdfast-backend-cuda-tests
# JCuda's classes and natives, for -Dholdfast.cuda.binding=jcuda; without them the other binding is checked.
version=$(sed -n 's:.*<version.jcuda>\(.*\)</version.jcuda>.*:\1:p' "$root/pom.xml")
repository=${MAVEN_REPOSITORY:-$HOME/.m2/repository}
cp "$repository/org/jcuda/jcuda/$version/jcuda-$version.jar" "$folder/lib/" 2>/dev/null || echo "without JCuda"
cp "$root"/backend-cuda/target/jcuda-natives/lib/*.so "$folder/natives/" 2>/dev/null || echo "without JCuda's natives"
du -sk "$folder" | sed 's/\t.*/ KiB in /' | tr -d '\n'
echo "$folder"
