# What `make test` proves beside the test cases: form, layering, symbols, the install tree, sanitizers, coverage.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
find_program(CLANG_FORMAT NAMES clang-format-14 REQUIRED)
find_program(CLANG_TIDY NAMES clang-tidy-14 REQUIRED)
set(lint "${CMAKE_CURRENT_SOURCE_DIR}/lint")
set(planted "${CMAKE_CURRENT_SOURCE_DIR}/planted")

# --- form: each check also has to catch a planted fault
add_test(NAME lint.format COMMAND "${lint}/format.sh" "${CLANG_FORMAT}")
add_test(NAME lint.format_finds_planted
         COMMAND sh -c "printf 'int  f( ){}\\n' | '${CLANG_FORMAT}' --dry-run -Werror --assume-filename=a.cpp")
set_tests_properties(lint.format_finds_planted PROPERTIES PASS_REGULAR_EXPRESSION "clang-format-violations")
add_test(NAME lint.tidy COMMAND "${lint}/tidy.sh" "${CLANG_TIDY}" "${PROJECT_BINARY_DIR}")
set_tests_properties(lint.tidy PROPERTIES TIMEOUT 900 RUN_SERIAL ON)
add_test(NAME lint.tidy_finds_planted COMMAND "${CLANG_TIDY}" --quiet "${planted}/tidy.cpp" -- -std=c++20)
set_tests_properties(lint.tidy_finds_planted PROPERTIES PASS_REGULAR_EXPRESSION "bugprone-use-after-move")
add_test(NAME lint.layering COMMAND Python3::Interpreter "${lint}/layering.py" "${PROJECT_SOURCE_DIR}")
add_test(NAME lint.layering_finds_planted COMMAND Python3::Interpreter "${lint}/layering.py" --self-test)
add_test(NAME lint.symbols COMMAND Python3::Interpreter "${lint}/symbols.py" "$<TARGET_FILE:pacewise>"
                                   $<$<TARGET_EXISTS:pacewise_files>:$<TARGET_FILE:pacewise_files>>
         COMMAND_EXPAND_LISTS)
add_test(NAME lint.symbols_finds_planted COMMAND Python3::Interpreter "${lint}/symbols.py" --self-test "${CMAKE_CXX_COMPILER}")
add_test(NAME lint.tree COMMAND sh -c "tools/sources | xargs '${Python3_EXECUTABLE}' '${lint}/tree.py'"
         WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
add_test(NAME lint.tree_finds_planted COMMAND Python3::Interpreter "${lint}/tree.py" --self-test)

# --- install: a user's project against the install tree
set(tree "${PROJECT_BINARY_DIR}/install-tree")
set(consumer "${CMAKE_CURRENT_SOURCE_DIR}/consumer/build.sh")
set(scratch "${PROJECT_BINARY_DIR}/consumer")
add_test(NAME install.tree COMMAND "${CMAKE_COMMAND}" --install "${PROJECT_BINARY_DIR}" --prefix "${tree}")
add_test(NAME install.cmake COMMAND "${consumer}" cmake "${scratch}/cmake" ${PROJECT_VERSION} "-DCMAKE_PREFIX_PATH=${tree}"
                                    -DWANTED_VERSION=${PROJECT_VERSION})
add_test(NAME install.wrong_version COMMAND "${consumer}" cmake "${scratch}/wrong" 99 "-DCMAKE_PREFIX_PATH=${tree}"
                                            -DWANTED_VERSION=99)
set_tests_properties(install.wrong_version PROPERTIES PASS_REGULAR_EXPRESSION
                     "compatible with requested version \"99\".*pacewise-config.cmake, version: ${PROJECT_VERSION}")
add_test(NAME install.pkgconfig COMMAND "${consumer}" pkgconfig "${scratch}/pkgconfig" ${PROJECT_VERSION} "${tree}"
                                        "${CMAKE_CXX_COMPILER}")
add_test(NAME install.readme COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/consumer/readme.sh" "${scratch}/readme" "${tree}"
                                     "${CMAKE_CXX_COMPILER}" "${PROJECT_SOURCE_DIR}/README.md")
set(needs_tree install.cmake install.wrong_version install.pkgconfig install.readme)
if(TARGET pacewise_files)
  add_test(NAME install.files COMMAND "${consumer}" cmake "${scratch}/files" ${PROJECT_VERSION}
                                      "-DCMAKE_PREFIX_PATH=${tree}" -DWANTED_COMPONENTS=files)
  list(APPEND needs_tree install.files)
endif()
set_tests_properties(install.tree PROPERTIES FIXTURES_SETUP install_tree)
set_tests_properties(${needs_tree} PROPERTIES FIXTURES_REQUIRED install_tree)
# the other two ways in at once: as a subproject, and as a shared library
add_test(NAME install.subproject_shared
         COMMAND "${consumer}" cmake "${scratch}/shared" ${PROJECT_VERSION} "-DPACEWISE_SOURCE=${PROJECT_SOURCE_DIR}"
                 -DBUILD_SHARED_LIBS=ON -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0)
set_tests_properties(install.subproject_shared PROPERTIES RUN_SERIAL ON TIMEOUT 600)

# --- the same test cases again, in builds of their own under build/
foreach(sanitizer asan tsan)
  add_test(NAME sanitizer.${sanitizer} COMMAND "${PROJECT_SOURCE_DIR}/tools/sanitize" ${sanitizer})
  set_tests_properties(sanitizer.${sanitizer} PROPERTIES RUN_SERIAL ON TIMEOUT 2400)
endforeach()

# --- the file readers against broken files, and each kind of fault against the fuzzer
add_test(NAME fuzz.build COMMAND "${PROJECT_SOURCE_DIR}/tools/fuzz" build)
set_tests_properties(fuzz.build PROPERTIES RUN_SERIAL ON TIMEOUT 600 FIXTURES_SETUP fuzz_program)
add_test(NAME fuzz.readers COMMAND "${PROJECT_SOURCE_DIR}/tools/fuzz" short)
foreach(fault overflow allocation hang)
  add_test(NAME fuzz.finds_${fault} COMMAND "${PROJECT_SOURCE_DIR}/tools/fuzz" planted ${fault})
endforeach()
set_tests_properties(fuzz.finds_overflow PROPERTIES PASS_REGULAR_EXPRESSION "AddressSanitizer: heap-buffer-overflow")
set_tests_properties(fuzz.finds_allocation PROPERTIES PASS_REGULAR_EXPRESSION "libFuzzer: out-of-memory \\(malloc")
set_tests_properties(fuzz.finds_hang PROPERTIES PASS_REGULAR_EXPRESSION "libFuzzer: timeout after")
set_tests_properties(fuzz.readers fuzz.finds_overflow fuzz.finds_allocation fuzz.finds_hang
                     PROPERTIES TIMEOUT 300 FIXTURES_REQUIRED fuzz_program)

add_test(NAME coverage COMMAND "${PROJECT_SOURCE_DIR}/tools/coverage")
set_tests_properties(coverage PROPERTIES RUN_SERIAL ON TIMEOUT 300 DEPENDS sanitizer.asan)

# --- the site: every link and name on it, and a link to nothing
if(TARGET pacewise-cli)
  add_test(NAME docs COMMAND "${PROJECT_SOURCE_DIR}/tools/docs" "$<TARGET_FILE:pacewise-cli>")
  add_test(NAME docs_finds_planted
           COMMAND sh -c "mkdir -p docs-planted && printf '# Page\\n\\n[nothing](nowhere.md)\\n' >docs-planted/index.md && \
                          '${PROJECT_SOURCE_DIR}/.venv/bin/python' -m sphinx -q -W -C -D extensions=myst_parser docs-planted docs-planted/out")
  set_tests_properties(docs PROPERTIES RUN_SERIAL ON TIMEOUT 300 DEPENDS python)
  set_tests_properties(docs_finds_planted PROPERTIES PASS_REGULAR_EXPRESSION "xref_missing" DEPENDS docs)
endif()
