#!/bin/sh
# Builds src/main/resources/io/holdfast/backend/cuda/copy_rows.ptx from copy_rows.cu. Run it after a change of the source.
#
# The text is for sm_75, which every later device can take, and states PTX 8.0, the version of CUDA 12.0: nvcc writes its own
# version, which older drivers refuse although nothing in the text needs it. ptxas checks that claim here, and a test checks
# it again wherever ptxas is.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
target=$here/../resources/io/holdfast/backend/cuda/copy_rows.ptx
nvcc=${NVCC:-nvcc}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p "$(dirname -- "$target")"
cd "$here"
"$nvcc" -ptx -O3 -arch=compute_75 -o "$work/new.ptx" copy_rows.cu
sed -e 's/^\.version .*/.version 8.0/' "$work/new.ptx" >"$work/lowered.ptx"
for arch in 75 80 90; do
  "${PTXAS:-ptxas}" -arch="sm_$arch" -o /dev/null "$work/lowered.ptx"
done
cp "$work/lowered.ptx" "$target"
echo "$target: $(wc -c <"$target") bytes"
