#!/bin/sh
# Compiles and runs the C++ program of the README against the install tree.   readme.sh FOLDER PREFIX CXX README
set -eu
folder=$1 prefix=$2 compiler=$3 readme=$4
rm -rf "$folder"
mkdir -p "$folder"
sed -n '/^```cpp$/,/^```$/p' "$readme" | sed '/^```/d' >"$folder/readme.cpp"
[ -s "$folder/readme.cpp" ] || { echo 'readme: no C++ block found' >&2; exit 1; }
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name pacewise.pc)")
export PKG_CONFIG_PATH
# the flags are words: splitting is meant
"$compiler" -std=c++20 "$folder/readme.cpp" $(pkg-config --cflags --libs pacewise) -o "$folder/readme"
cd "$folder" && ./readme
