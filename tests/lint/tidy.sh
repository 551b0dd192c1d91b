#!/bin/sh
# clang-tidy over the library, as many at a time as there are cores.   tidy.sh CLANG_TIDY BUILD_FOLDER
set -eu
cd "$(dirname "$0")/../.."
sources=$(tools/sources cpp | grep -E "^pacewise/")
[ -n "$sources" ] || { echo 'tidy: found no sources' >&2; exit 1; }
printf '%s\n' "$sources" | xargs -P "$(nproc)" -n 1 "$1" -p "$2" --quiet \
  --extra-arg=-Wno-unknown-warning-option # the compile commands are g++'s
