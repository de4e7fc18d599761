# SPDX-License-Identifier: Apache-2.0
set(poniente_FOUND TRUE)
include(${CMAKE_CURRENT_LIST_DIR}/dependencies.cmake)
if(NOT poniente_FOUND)  # it says what is missing
  return()
endif()
include(${CMAKE_CURRENT_LIST_DIR}/poniente-targets.cmake)
