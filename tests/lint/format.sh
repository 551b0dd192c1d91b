#!/bin/sh
# Every source is as clang-format leaves it.   format.sh CLANG_FORMAT
set -eu
cd "$(dirname "$0")/../.."
sources=$(tools/sources cpp hpp)
[ -n "$sources" ] || { echo 'format: found no sources' >&2; exit 1; }
printf '%s\n' "$sources" | xargs "$1" --dry-run -Werror
