# SPDX-License-Identifier: Apache-2.0
# cmake -DBUILD=... -DSOURCE=... -DWORK=... -DCC=... -DCXX=... -P run.cmake
# Installs the build into a folder of its own, then builds and runs a consumer
# against that folder alone.
function(run)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${WORK} RESULT_VARIABLE code OUTPUT_VARIABLE out
    ERROR_VARIABLE out)
  if(NOT code EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${out}")
  endif()
  message("${out}")
endfunction()

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} -S ${SOURCE}/tests/install -B ${WORK}/build -G Ninja
  -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_BUILD_TYPE=${BUILD_TYPE}
  "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}")
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${CMAKE_COMMAND} -E env PKG_CONFIG_LIBDIR=${WORK}/none ${CMAKE_COMMAND}
  -S ${SOURCE}/tests/install -B ${WORK}/build-missing -G Ninja
  -DEXPECT_MISSING=ON -DCMAKE_PREFIX_PATH=${WORK}/prefix)
foreach(consumer consumer consumer_shared consumer_lto consumer_sanitized)
  run(${WORK}/build/${consumer} ${WORK}/store-${consumer})
endforeach()
run(${WORK}/build/c_consumer ${WORK}/store-consumer)

# The first error is the line that a user needs.
set(reasons "AsyncDataset<T>: T must be default constructible and movable"
  "ItemLoader<T>: T must be default constructible and movable"
  "InMemoryDataset<T>: T must be copyable" "T must be copyable, because the cache"
  "Map<Out>(): the function must take an item of the dataset"
  "MapBatches<Out>(): the function must take a std::vector of items"
  "Map<Out>(): the function must be copyable")
foreach(number 0 1 2 3 4 5 6)
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK}/build
    --target not_an_item_${number} RESULT_VARIABLE code OUTPUT_VARIABLE out
    ERROR_VARIABLE out)
  list(GET reasons ${number} reason)
  string(FIND "${out}" "error: " first)
  string(SUBSTRING "${out}" ${first} 200 said)
  string(FIND "${said}" "${reason}" at)
  if(code EQUAL 0 OR at EQUAL -1)
    message(FATAL_ERROR
      "not_an_item.cc ${number} does not fail as it should:\n${out}")
  endif()
endforeach()

run(${CMAKE_COMMAND} -S ${SOURCE}/tests/install/embedded -B ${WORK}/embedded
  -G Ninja -DPONIENTE=${SOURCE})
if(EXISTS ${WORK}/embedded/poniente/poniente.pc)
  message(FATAL_ERROR "a project that embeds Poniente would install it")
endif()

# The same programs without CMake: against either library, and in C.
file(GLOB_RECURSE pc ${WORK}/prefix/poniente.pc)
get_filename_component(pc "${pc}" DIRECTORY)
run(${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${pc} CC=${CC} CXX=${CXX}
  sh ${SOURCE}/tests/install/pkg_config.sh ${SOURCE}/tests/install ${WORK})
foreach(page bin/poniente share/man/man1/poniente.1
    share/bash-completion/completions/poniente)
  file(SIZE ${WORK}/prefix/${page} size)  # fails if there is no such file
  if(size EQUAL 0)
    message(FATAL_ERROR "${page} is installed empty")
  endif()
endforeach()
# Documents and examples lie where the README's links find them.
file(GLOB_RECURSE documents RELATIVE ${SOURCE}
  ${SOURCE}/docs/*.md ${SOURCE}/examples/*)
list(APPEND documents README.md CHANGELOG.md)
list(LENGTH documents count)
if(count LESS 60)
  message(FATAL_ERROR "only ${count} documents and examples: ${documents}")
endif()
foreach(document IN LISTS documents)
  file(SHA256 ${SOURCE}/${document} expected)
  file(SHA256 ${WORK}/prefix/share/doc/poniente/${document} installed)
  if(NOT installed STREQUAL expected)
    message(FATAL_ERROR "${document} is not installed as it is")
  endif()
endforeach()
file(READ ${WORK}/prefix/share/doc/poniente/README.md readme)
string(REPLACE "](" "<" readme "${readme}")  # no brackets in a list
string(REGEX MATCHALL "<[a-zA-Z_/]+[.](md|txt)" links "${readme}")
list(LENGTH links count)
if(count LESS 30)
  message(FATAL_ERROR "only ${count} links in the README: ${links}")
endif()
foreach(link IN LISTS links)
  string(SUBSTRING "${link}" 1 -1 link)
  if(NOT EXISTS ${WORK}/prefix/share/doc/poniente/${link})
    message(FATAL_ERROR "the README's link to ${link} leads nowhere")
  endif()
endforeach()
# The examples are a project of their own there.
run(${CMAKE_COMMAND} -S ${WORK}/prefix/share/doc/poniente/examples
  -B ${WORK}/examples -G Ninja -DCMAKE_PREFIX_PATH=${WORK}/prefix
  -DCMAKE_BUILD_TYPE=Debug)
run(${CMAKE_COMMAND} --build ${WORK}/examples --target nested_mixture embed)
file(STRINGS ${WORK}/prefix/include/poniente/version.h version
  REGEX "kOrderVersion")
if(NOT version)
  message(FATAL_ERROR "the headers are not installed")
endif()
