# make install: library, headers, CMake package, pkg-config file, program, man page, shell completions.
include(CMakePackageConfigHelpers)

set(pacewise_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/pacewise")

install(TARGETS pacewise EXPORT pacewise-core)
install(EXPORT pacewise-core NAMESPACE pacewise:: FILE pacewise-core.cmake DESTINATION "${pacewise_package_dir}")
if(TARGET pacewise_files)
  install(TARGETS pacewise_files EXPORT pacewise-files)
  install(EXPORT pacewise-files NAMESPACE pacewise:: FILE pacewise-files.cmake DESTINATION "${pacewise_package_dir}")
  install(FILES cmake/file_formats.cmake DESTINATION "${pacewise_package_dir}")
endif()
install(DIRECTORY include/pacewise "${pacewise_generated}/pacewise" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.hpp")

configure_package_config_file(cmake/pacewise-config.cmake.in pacewise-config.cmake
                              INSTALL_DESTINATION "${pacewise_package_dir}")
# below 1.0 a minor version may break what the one before it promised
write_basic_package_version_file(pacewise-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/pacewise-config.cmake" "${PROJECT_BINARY_DIR}/pacewise-config-version.cmake"
        DESTINATION "${pacewise_package_dir}")

# A static library leaves its own libraries to the linker of the user, so they belong in Libs, not in Libs.private.
string(REPLACE ";" " " pacewise_pc_needs "${BLAS_LIBRARIES} -lz ${OpenMP_CXX_FLAGS} -pthread")
if(BUILD_SHARED_LIBS)
  set(pacewise_pc_private "${pacewise_pc_needs}")
  set(pacewise_pc_public "")
else()
  set(pacewise_pc_private "")
  set(pacewise_pc_public " ${pacewise_pc_needs}")
endif()
# relative to the file itself, so that the tree can be moved
file(RELATIVE_PATH pacewise_pc_prefix "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
configure_file(cmake/pacewise.pc.in pacewise.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/pacewise.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

if(TARGET pacewise-cli)
  install(TARGETS pacewise-cli)
  install(FILES "${pacewise_pages}/pacewise.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
  install(FILES "${pacewise_pages}/pacewise.bash" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions"
          RENAME pacewise)
  install(FILES "${pacewise_pages}/_pacewise" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
  install(FILES "${pacewise_pages}/pacewise.fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
endif()
