#!/bin/sh
# Builds and runs the consumer project.
#   build.sh cmake FOLDER VERSION CMAKE_OPTION...   with CMake in FOLDER; the library must say it is VERSION
#   build.sh pkgconfig FOLDER VERSION PREFIX CXX    with pkg-config and one compiler call
set -eu
here=$(cd "$(dirname "$0")" && pwd)
way=$1 folder=$2 version=$3
shift 3
rm -rf "$folder"
mkdir -p "$folder"
case $way in
  cmake)
    cmake -S "$here" -B "$folder" -G Ninja "$@"
    cmake --build "$folder"
    ;;
  pkgconfig)
    PKG_CONFIG_PATH=$(dirname "$(find "$1" -name pacewise.pc)")
    export PKG_CONFIG_PATH
    [ "$(pkg-config --modversion pacewise)" = "$version" ]
    # the flags are words: splitting is meant
    "$2" -std=c++20 "$here/main.cpp" $(pkg-config --cflags --libs pacewise) -o "$folder/consumer"
    ;;
esac
"$folder/consumer" "$version"
