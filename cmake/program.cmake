# pacewise-cli: the program `pacewise`.
file(GLOB pacewise_program_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/apps/cli/*.cpp")
if(NOT pacewise_program_sources)
  return()
endif()
find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)

add_executable(pacewise-cli ${pacewise_program_sources})
target_compile_options(pacewise-cli PRIVATE $<$<CONFIG:Release>:-O1>) # the work is in the library; half the time to build
pacewise_compile_options(pacewise-cli)
pacewise_compile_folders(pacewise-cli)
set_target_properties(pacewise-cli PROPERTIES OUTPUT_NAME pacewise)
target_link_libraries(pacewise-cli PRIVATE pacewise pacewise_files pacewise_report CLI11::CLI11 fmt::fmt nlohmann_json::nlohmann_json
                                           PNG::PNG Threads::Threads)

# The manual page and the completions, written by the program from its own definitions.
set(pacewise_pages "${PROJECT_BINARY_DIR}/pages")
file(MAKE_DIRECTORY "${pacewise_pages}")
add_custom_command(
  TARGET pacewise-cli POST_BUILD
  COMMAND pacewise-cli generate man > "${pacewise_pages}/pacewise.1"
  COMMAND pacewise-cli generate bash > "${pacewise_pages}/pacewise.bash"
  COMMAND pacewise-cli generate zsh > "${pacewise_pages}/_pacewise"
  COMMAND pacewise-cli generate fish > "${pacewise_pages}/pacewise.fish")
