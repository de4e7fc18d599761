# SPDX-License-Identifier: Apache-2.0
# cmake -DSOURCE=... -P one_definition_test.cmake
# Fails where two files define a type of one name, in one namespace or in
# poniente and in one within it: the linker would take either for both. By the
# text, which clang-format keeps uniform: g++ 12's -Wodr takes the frame of one
# coroutine in two object files for two types.
cmake_minimum_required(VERSION 3.24)

set(kinds "class|struct|union|enum class|enum")
set(errors "")
set(count 0)
file(GLOB_RECURSE files RELATIVE ${SOURCE} ${SOURCE}/src/*.h ${SOURCE}/src/*.cc
  ${SOURCE}/include/*.h)
list(SORT files)
foreach(file IN LISTS files)
  file(STRINGS ${SOURCE}/${file} lines REGEX
    "^(namespace|}  // namespace|(${kinds}) [A-Za-z_0-9]+( final)?( {| :|$))")
  set(depth 0)     # of namespaces
  set(unnamed "")  # the depth of the first without a name
  foreach(line IN LISTS lines)
    if(line MATCHES "^namespace ({|[a-z_:]+ {)")
      math(EXPR depth "${depth} + 1")
      if(line STREQUAL "namespace {" AND unnamed STREQUAL "")
        set(unnamed ${depth})
      endif()
    elseif(line MATCHES "^}  // namespace")
      if(depth EQUAL unnamed)
        set(unnamed "")
      endif()
      math(EXPR depth "${depth} - 1")
    elseif(unnamed STREQUAL "" AND
           line MATCHES "^(${kinds}) ([A-Za-z_0-9]+)")
      set(name ${CMAKE_MATCH_2})
      math(EXPR count "${count} + 1")
      if(DEFINED FILE_${name})
        list(APPEND errors "${name}: ${FILE_${name}} and ${file}")
      endif()
      set(FILE_${name} ${file})
    endif()
  endforeach()
endforeach()

if(count LESS 300)
  message(FATAL_ERROR "one definition: only ${count} types were found")
endif()
if(errors)
  list(JOIN errors "\n" text)
  message(FATAL_ERROR "one definition: types of one name:\n${text}")
endif()
message("one definition: ${count} types, each of a name of its own")
