#!/bin/sh
# clang-tidy over the library and the program, as many at a time as there are cores.   tidy.sh CLANG_TIDY BUILD_FOLDER
# The files of the program are looked at as one, and so are the file readers: the headers of the libraries they use, which
# cost nearly all of the time, are read once.
set -eu
cd "$(dirname "$0")/../.."
tidy=$1 build=$2
core=$(tools/sources cpp | grep -E '^src/')
readers=$(tools/sources cpp | grep -E '^io/')
program=$(tools/sources cpp | grep -E '^apps/')
[ -n "$core" ] && [ -n "$readers" ] && [ -n "$program" ] || { echo 'tidy: found no sources' >&2; exit 1; }
mkdir -p "$build/tidy"

as_one() { # NAME FILES FLAG...
  one=$build/tidy/$1.cpp
  printf '%s\n' "$2" | sed 's|.*|#include "&"|' >"$one"
  shift 2
  "$tidy" --quiet --config-file=.clang-tidy --checks=-bugprone-suspicious-include \
    --header-filter='(^|/)(include|src|io|apps)/[^/]*(/[^/]*)*\.[ch]pp$' "$one" -- -std=c++20 -I. -Iinclude -Isrc -I"$build/include" "$@"
}

as_one program "$program" &
status=0
as_one readers "$readers" $(pkg-config --cflags matio hdf5) || status=1
printf '%s\n' "$core" | xargs -P "$(nproc)" -n 1 "$tidy" -p "$build" --quiet \
  --extra-arg=-Wno-unknown-warning-option || status=1 # the compile commands are g++'s
wait $! || status=1
exit $status
