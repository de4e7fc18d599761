# SPDX-License-Identifier: Apache-2.0
# cmake -DREADELF=... -DBINARY=... -P needed_libraries.cmake
# Fails if the binary needs shared libraries beyond those of the C library.
cmake_minimum_required(VERSION 3.22)
execute_process(COMMAND ${READELF} --wide --dynamic ${BINARY}
  OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\\(NEEDED\\)[^\n]*" lines "${dynamic}")
if(NOT lines)
  message(FATAL_ERROR "${BINARY}: no needed library at all:\n${dynamic}")
endif()
foreach(line IN LISTS lines)
  string(REGEX REPLACE ".*\\[(.*)\\].*" "\\1" library "${line}")
  if(NOT library MATCHES
     "^(lib(c|m|dl|rt|pthread)|ld-linux[a-z0-9_-]*)\\.so\\.[0-9]+$")
    message(FATAL_ERROR "${BINARY} needs ${library}")
  endif()
  message("${library}")
endforeach()
