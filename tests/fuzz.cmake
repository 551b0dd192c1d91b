# One program for all fuzz targets (fuzz/readers_fuzz.cpp): the readers and the files of the core they need,
# compiled several at a time, so that it is built in half a minute.
list(FILTER pacewise_file_sources EXCLUDE REGEX "/write\\.cpp$")
file(GLOB fuzz_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/fuzz/*.cpp")
set(core "${PROJECT_SOURCE_DIR}/src")
add_executable(readers_fuzz ${fuzz_sources} ${pacewise_file_sources} "${core}/algebra/blas_kernels.cpp" "${core}/algebra/large.cpp"
                            "${core}/algebra/parallel.cpp" "${core}/algebra/sparse.cpp"
                            "${core}/algebra/thread_pool.cpp" "${core}/storage/file_error.cpp")
pacewise_compile_options(readers_fuzz)
set_target_properties(readers_fuzz PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10)
target_include_directories(readers_fuzz PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/include" "${core}"
                                                "${pacewise_generated}")
target_link_options(readers_fuzz PRIVATE -fsanitize=fuzzer)
target_link_libraries(readers_fuzz PRIVATE ${pacewise_formats} Eigen3::Eigen OpenMP::OpenMP_CXX Threads::Threads)
