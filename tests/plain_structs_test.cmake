# SPDX-License-Identifier: Apache-2.0
# cmake -DSOURCE=... -P plain_structs_test.cmake
# Fails where tests/install/options.cc lacks a plain struct of the public
# headers. By the text, which clang-format keeps uniform.
cmake_minimum_required(VERSION 3.24)

file(READ ${SOURCE}/tests/install/options.cc options)
# Have a constructor, or no members.
set(others DlpackDeleter Node Score ScoreThreshold)
set(missing "")
set(count 0)
file(GLOB headers ${SOURCE}/include/poniente/*.h
  ${SOURCE}/include/poniente/extend/*.h)
foreach(header IN LISTS headers)
  file(STRINGS ${header} lines
    REGEX "^(namespace |}  // namespace|struct [A-Za-z]+ {)")
  set(is_own FALSE)
  foreach(line IN LISTS lines)
    if(line MATCHES "^namespace .*internal {")
      set(is_own TRUE)
    elseif(line MATCHES "^}  // namespace .*internal")
      set(is_own FALSE)
    elseif(NOT is_own AND line MATCHES "^struct ([A-Za-z]+) {")
      set(name ${CMAKE_MATCH_1})
      math(EXPR count "${count} + 1")
      if(NOT name IN_LIST others AND NOT options MATCHES "poniente::${name}[ <;]")
        list(APPEND missing ${name})
      endif()
    endif()
  endforeach()
endforeach()
if(count LESS 120)
  message(FATAL_ERROR "found only ${count} structs")
endif()
if(missing)
  message(FATAL_ERROR "tests/install/options.cc lacks: ${missing}")
endif()
message(STATUS "${count} structs")
