#!/bin/sh
# clang-tidy over the library and the program, as many at a time as there are cores.   tidy.sh CLANG_TIDY BUILD_FOLDER
# The files of a folder are looked at as one: the headers of the libraries they use, which cost most of the time, are read
# once for all of them.
set -eu
cd "$(dirname "$0")/../.."
tidy=$1 build=$2
sources=$(tools/sources cpp | grep -E '^(src|io|apps)/')
[ "$(printf '%s\n' "$sources" | grep -cE '^(src|io|apps)/')" -gt 50 ] || { echo 'tidy: found too few sources' >&2; exit 1; }
rm -rf "$build/tidy"
mkdir -p "$build/tidy"
printf '%s\n' "$sources" | while read -r file; do
  folder=$(dirname "$file" | tr / _)
  echo "#include \"$file\"" >>"$build/tidy/$folder.cpp"
done
system=$(pkg-config --cflags matio hdf5 eigen3 | sed 's/-I/-isystem /g')
# the longest first
ls -S "$build/tidy"/*.cpp | xargs -P "$(nproc)" -I FILE "$tidy" --quiet --config-file=.clang-tidy --checks=-bugprone-suspicious-include \
  --header-filter='(^|/)(include|src|io|apps)/[^/]*(/[^/]*)*\.[ch]pp$' FILE \
  -- -std=c++20 -DEIGEN_USE_BLAS -I. -Iinclude -Isrc -I"$build/include" $system
