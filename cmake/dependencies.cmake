# The core needs OpenBLAS and OpenMP; Eigen is header-only and stays inside our .cpp files.

find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(Eigen3 3.3 REQUIRED NO_MODULE)

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

# Eigen under another name: our instantiations cannot clash with a user's Eigen that was built with other flags.
function(pacewise_use_eigen target)
  get_target_property(include Eigen3::Eigen INTERFACE_INCLUDE_DIRECTORIES)
  target_include_directories(${target} SYSTEM PRIVATE ${include})
  target_compile_definitions(${target} PRIVATE Eigen=pacewise_eigen)
endfunction()
