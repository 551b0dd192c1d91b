# The core needs OpenBLAS, OpenMP and zlib (checksums), and to build Eigen and nlohmann-json (the header of a model file).

find_package(Threads REQUIRED)
find_package(Eigen3 3.3 REQUIRED NO_MODULE)
find_package(nlohmann_json REQUIRED)
find_package(ZLIB REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)

# OpenBLAS by name: dense.cpp uses <cblas.h> and the LAPACK symbols of the same library.
if(NOT BLA_VENDOR)
  set(BLA_VENDOR OpenBLAS)
  set(pacewise_chose_blas ON)
endif()
find_package(BLAS REQUIRED)
if(pacewise_chose_blas)
  unset(BLA_VENDOR)
endif()
find_path(PACEWISE_CBLAS_INCLUDE cblas.h PATH_SUFFIXES openblas REQUIRED)
mark_as_advanced(PACEWISE_CBLAS_INCLUDE)
