# What the file readers need. The installed package runs the same lines when its component `files` is asked for.
find_package(PkgConfig REQUIRED)
pkg_check_modules(matio REQUIRED IMPORTED_TARGET matio)
pkg_check_modules(hdf5 REQUIRED IMPORTED_TARGET hdf5)
pkg_check_modules(libzip REQUIRED IMPORTED_TARGET libzip)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)
pkg_check_modules(turbojpeg REQUIRED IMPORTED_TARGET libturbojpeg)
