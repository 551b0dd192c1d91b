# How every target of the project is compiled. No -march=native: the BLAS picks its kernels at run time, so one binary
# serves every machine of an architecture.

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  find_program(CCACHE_PROGRAM ccache)
  mark_as_advanced(CCACHE_PROGRAM)
  if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # paths relative to the project: what the release tree has compiled serves the Python package too, from another folder
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND};-E;env;CCACHE_BASEDIR=${PROJECT_SOURCE_DIR};${CCACHE_PROGRAM}")
  endif()
endif()

# With PACEWISE_UNITY the files of a folder are compiled as one: the headers of Eigen, JSON and the formats, half of the
# compiler's time, are read once for all of them.
function(pacewise_compile_folders target)
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    get_filename_component(folder "${source}" DIRECTORY)
    get_filename_component(folder "${folder}" NAME)
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${folder}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${PACEWISE_UNITY} UNITY_BUILD_MODE GROUP)
  if(PACEWISE_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage) # g++ takes the included sources for headers
  endif()
endfunction()

function(pacewise_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON
                                             VISIBILITY_INLINES_HIDDEN ON)
  if(PACEWISE_DEVELOPER)
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12
       AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      target_compile_options(${target} PRIVATE -Wno-restrict # g++ 12 sees an overlap in "text" + std::string
        -Wno-maybe-uninitialized) # .. and at -O1 members of a std::variant that holds another
    endif()
  endif()
  if(PACEWISE_SANITIZE)
    set(flags -fsanitize=${PACEWISE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_compile_options(${target} PRIVATE ${flags})
    target_compile_definitions(${target} PRIVATE PACEWISE_SANITIZED)
    target_link_options(${target} PUBLIC ${flags})
  endif()
  if(PACEWISE_AVX2)
    target_compile_definitions(${target} PRIVATE PACEWISE_AVX2)
  endif()
  get_target_property(kind ${target} TYPE)
  if(PACEWISE_COVERAGE AND NOT kind STREQUAL "EXECUTABLE") # the lines counted are the libraries', not those of their tests
    # counts may get lost where threads share a line; whether it was reached does not, and atomic ones cost minutes
    target_compile_options(${target} PRIVATE --coverage)
    target_link_options(${target} PUBLIC --coverage)
  endif()
endfunction()
