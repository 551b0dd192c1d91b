# pacewise-cli: the program `pacewise`.
file(GLOB pacewise_program_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/apps/cli/*.cpp")
if(NOT pacewise_program_sources)
  return()
endif()
find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)

# pacewise_reproduce: the study behind `pacewise reproduce`, with its tables as they stand in reproduce/*.csv. A library,
# because its tests need it too; the pictures come with it.
file(GLOB pacewise_reproduce_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/reproduce/*.cpp")
set(pacewise_picture_sources "${PROJECT_SOURCE_DIR}/apps/cli/montage.cpp" "${PROJECT_SOURCE_DIR}/apps/cli/png.cpp")
list(REMOVE_ITEM pacewise_program_sources ${pacewise_picture_sources})
foreach(table paper settings)
  file(READ "${PROJECT_SOURCE_DIR}/reproduce/${table}.csv" pacewise_${table}_csv)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/reproduce/${table}.csv")
endforeach()
configure_file(reproduce/embedded.cpp.in "${PROJECT_BINARY_DIR}/reproduce/embedded.cpp" @ONLY)
add_library(pacewise_reproduce STATIC ${pacewise_reproduce_sources} ${pacewise_picture_sources}
                                      "${PROJECT_BINARY_DIR}/reproduce/embedded.cpp")
pacewise_compile_options(pacewise_reproduce)
target_link_libraries(pacewise_reproduce PUBLIC pacewise pacewise_files pacewise_report fmt::fmt nlohmann_json::nlohmann_json
                                         PRIVATE ZLIB::ZLIB Threads::Threads)

add_executable(pacewise-cli ${pacewise_program_sources})
foreach(target pacewise-cli pacewise_reproduce)
  # the work is in the library; half the time to build
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endforeach()
pacewise_compile_options(pacewise-cli)
set_target_properties(pacewise-cli PROPERTIES OUTPUT_NAME pacewise)
target_link_libraries(pacewise-cli PRIVATE pacewise_reproduce pacewise pacewise_files CLI11::CLI11 fmt::fmt nlohmann_json::nlohmann_json
                                           ZLIB::ZLIB Threads::Threads)

# The manual page and the completions, written by the program from its own definitions.
set(pacewise_pages "${PROJECT_BINARY_DIR}/pages")
file(MAKE_DIRECTORY "${pacewise_pages}")
add_custom_command(
  TARGET pacewise-cli POST_BUILD
  COMMAND pacewise-cli generate man > "${pacewise_pages}/pacewise.1"
  COMMAND pacewise-cli generate bash > "${pacewise_pages}/pacewise.bash"
  COMMAND pacewise-cli generate zsh > "${pacewise_pages}/_pacewise"
  COMMAND pacewise-cli generate fish > "${pacewise_pages}/pacewise.fish")
