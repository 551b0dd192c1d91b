# pacewise._core: the private extension module behind the Python package in python/pacewise.
# SKBUILD_SABI_COMPONENT is Development.SABIModule from Python 3.12 on: one wheel for all of them. Empty before.
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module ${SKBUILD_SABI_COMPONENT})
find_package(nanobind CONFIG REQUIRED)

file(GLOB pacewise_python_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/python/src/*.cpp")
nanobind_add_module(pacewise_python STABLE_ABI NB_STATIC NB_SUPPRESS_WARNINGS ${pacewise_python_sources})
set_target_properties(pacewise_python PROPERTIES OUTPUT_NAME _core)
pacewise_compile_options(pacewise_python)
target_link_libraries(pacewise_python PRIVATE pacewise Threads::Threads)
nanobind_add_stub(pacewise_stub MODULE _core OUTPUT _core.pyi PYTHON_PATH $<TARGET_FILE_DIR:pacewise_python>
                  DEPENDS pacewise_python)
install(TARGETS pacewise_python LIBRARY DESTINATION pacewise COMPONENT python)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/_core.pyi" DESTINATION pacewise COMPONENT python)
