# SPDX-License-Identifier: Apache-2.0
# Fails if an object file compiled for more than the base instruction set
# defines code that the linker may take for the whole program:
#   cmake -DNM=nm -DOBJECTS=a.o,b.o,... -P shared_code_test.cmake
string(REPLACE "," ";" objects "${OBJECTS}")
list(FILTER objects INCLUDE REGEX "/permutation_avx[^/]*$")
foreach(object ${objects})
  execute_process(COMMAND ${NM} -C --defined-only ${object}
    OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  if(NOT symbols MATCHES "PermutationKernel")
    message(FATAL_ERROR "${object}: no kernel among\n${symbols}")
  endif()
  string(REGEX MATCH "[^\n]* [Wwu] [^\n]*" shared "${symbols}")
  if(shared)
    message(FATAL_ERROR "${object} shares with the whole program:\n${shared}")
  endif()
endforeach()
list(LENGTH objects count)
message(STATUS "${count} object files share no code")
