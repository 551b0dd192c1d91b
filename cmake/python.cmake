# pacewise._core: the private extension module behind the Python package in python/pacewise.
if(NOT TARGET pacewise_files)
  message(FATAL_ERROR "The Python package needs the file readers: PACEWISE_BUILD_FILES=ON")
endif()
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
find_package(nanobind CONFIG REQUIRED)

file(GLOB pacewise_python_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/python/src/*.cpp")
# STABLE_ABI takes effect from Python 3.12 on; nanobind ignores it before
nanobind_add_module(pacewise_python STABLE_ABI NB_STATIC NB_SUPPRESS_WARNINGS ${pacewise_python_sources})
set_target_properties(pacewise_python PROPERTIES OUTPUT_NAME _core)
pacewise_compile_options(pacewise_python)
target_link_libraries(pacewise_python PRIVATE pacewise pacewise_files Threads::Threads)
install(TARGETS pacewise_python LIBRARY DESTINATION pacewise COMPONENT python)
