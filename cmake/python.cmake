# pacewise._core and pacewise._files: the private extension modules behind the Python package in python/pacewise.
# The readers are a module of their own, loaded by the first datasets.load: HDF5 brings dozens of libraries along.
if(NOT TARGET pacewise_files)
  message(FATAL_ERROR "The Python package needs the file readers: PACEWISE_BUILD_FILES=ON")
endif()
# SKBUILD_SABI_COMPONENT is Development.SABIModule from Python 3.12 on: one wheel for all of them. Empty before.
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module ${SKBUILD_SABI_COMPONENT})
find_package(nanobind CONFIG REQUIRED)

set(python_src "${PROJECT_SOURCE_DIR}/python/src")
file(GLOB pacewise_python_sources CONFIGURE_DEPENDS "${python_src}/*.cpp")
set(pacewise_python_files_sources "${python_src}/arrays.cpp" "${python_src}/running.cpp" "${python_src}/files.cpp")
list(REMOVE_ITEM pacewise_python_sources "${python_src}/files.cpp")
foreach(module core files)
  string(REPLACE "_core" "" target "pacewise_python_${module}")
  nanobind_add_module(${target} STABLE_ABI NB_STATIC NB_SUPPRESS_WARNINGS ${${target}_sources})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME _${module})
  pacewise_compile_options(${target})
  target_link_libraries(${target} PRIVATE pacewise Threads::Threads)
  install(TARGETS ${target} LIBRARY DESTINATION pacewise COMPONENT python)
endforeach()
target_link_libraries(pacewise_python_files PRIVATE pacewise_files)
