# SPDX-License-Identifier: Apache-2.0
# Fails if a shared library shows other symbols than poniente_*:
#   cmake -DNM=nm -DLIBRARY=libponiente_c.so -P symbols_test.cmake
execute_process(COMMAND ${NM} -D --defined-only ${LIBRARY}
  OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" symbols "${symbols}")
list(FILTER symbols EXCLUDE REGEX " A ")  # the version's own name
list(LENGTH symbols count)
if(count LESS 30)
  message(FATAL_ERROR "only ${count} symbols: ${symbols}")
endif()
list(FILTER symbols EXCLUDE REGEX " T poniente_[a-z_]+(@@[A-Za-z0-9_]+)?$")
if(symbols)
  message(FATAL_ERROR "${LIBRARY} shows ${symbols}")
endif()
