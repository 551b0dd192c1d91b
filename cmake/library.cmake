# pacewise (pacewise::pacewise): the core, everything in src/.
# pacewise_files (pacewise::files): the file readers in io/, always static, with the format libraries they need.
# pacewise_report: tables, charts and pages of the program, in apps/report.

file(GLOB_RECURSE pacewise_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*.cpp")
file(GLOB pacewise_file_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/io/*.cpp")
file(GLOB pacewise_report_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/apps/report/*.cpp")

set(pacewise_generated "${PROJECT_BINARY_DIR}/include")
configure_file(cmake/version.hpp.in "${pacewise_generated}/pacewise/version.hpp" @ONLY)

add_library(pacewise ${pacewise_sources})
add_library(pacewise::pacewise ALIAS pacewise)
pacewise_compile_options(pacewise)
pacewise_compile_folders(pacewise)
# large products of Eigen go to the BLAS; loops may reorder what no one observes (traps), which lets them be vectors
target_compile_definitions(pacewise PRIVATE EIGEN_USE_BLAS)
target_compile_options(pacewise PRIVATE -fno-trapping-math -fno-math-errno)
set_target_properties(pacewise PROPERTIES VERSION ${PROJECT_VERSION}
                                          SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_include_directories(
  pacewise
  PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>"
         "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>" "$<BUILD_INTERFACE:${pacewise_generated}>"
         "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>"
  PRIVATE "${PACEWISE_CBLAS_INCLUDE}")
target_link_libraries(pacewise PRIVATE $<BUILD_INTERFACE:Eigen3::Eigen> $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>
                                       ZLIB::ZLIB BLAS::BLAS OpenMP::OpenMP_CXX Threads::Threads)
if(BUILD_SHARED_LIBS AND UNIX AND NOT APPLE)
  target_link_options(pacewise PRIVATE "LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/exports.map")
  set_target_properties(pacewise PROPERTIES LINK_DEPENDS "${PROJECT_SOURCE_DIR}/cmake/exports.map")
endif()

if(PACEWISE_BUILD_FILES AND pacewise_file_sources)
  include(cmake/file_formats.cmake)
  add_library(pacewise_files STATIC ${pacewise_file_sources})
  add_library(pacewise::files ALIAS pacewise_files)
  set_target_properties(pacewise_files PROPERTIES EXPORT_NAME files)
  pacewise_compile_options(pacewise_files)
  pacewise_compile_folders(pacewise_files)
  set(pacewise_formats PkgConfig::matio PkgConfig::hdf5 PkgConfig::libzip ZLIB::ZLIB PNG::PNG PkgConfig::turbojpeg
                       $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>)
  target_link_libraries(pacewise_files PUBLIC pacewise PRIVATE ${pacewise_formats} OpenMP::OpenMP_CXX)
endif()

if(PROJECT_IS_TOP_LEVEL)
  add_library(pacewise_report STATIC EXCLUDE_FROM_ALL ${pacewise_report_sources})
  pacewise_compile_options(pacewise_report)
  pacewise_compile_folders(pacewise_report)
  target_link_libraries(pacewise_report PUBLIC pacewise)
endif()
