# SPDX-License-Identifier: Apache-2.0
# poniente_layer(NAME [NOT_INSTALLED] SOURCES ... HEADERS ... DEPENDS ... PRIVATE
# ...) declares one layer as a static library. HEADERS are public ones, by their
# name under include/poniente; DEPENDS are the layers and packages it may use.
# What is NOT_INSTALLED is the tool's, no part of libponiente.
function(poniente_compile_options target)
  # g++ 12 takes the frames of Asio's coroutines for mismatched allocations.
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
    -Wno-mismatched-new-delete $<$<BOOL:${PONIENTE_WERROR}>:-Werror>)
  # Whatever shared library this code ends up in, nobody replaces its functions:
  # they are inlined and called as in a program.
  target_compile_options(${target} PRIVATE -fno-semantic-interposition)
  # It takes sources that are compiled together for headers.
  if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
  if(PONIENTE_SANITIZE STREQUAL "asan")
    set(macro __SANITIZE_ADDRESS__)
    target_compile_options(${target} PRIVATE
      -fsanitize=address -fno-omit-frame-pointer)
    if(NOT poniente_is_test_code)  # set by tests/CMakeLists.txt
      # Without null: it makes the code half as large again, and what it finds
      # ends the process anyway. Without object-size: a third of the time to
      # compile, for what ASan finds. Without vptr: it opens a pipe, and takes none
      # to be had for a wrong type, so that tests with few descriptors would fail.
      target_compile_options(${target} PRIVATE -fsanitize=undefined
        -fno-sanitize=null,object-size,vptr -fno-sanitize-recover=undefined)
    endif()
    target_link_options(${target} PUBLIC -fsanitize=address,undefined)
  elseif(PONIENTE_SANITIZE STREQUAL "tsan")
    set(macro __SANITIZE_THREAD__)
    # GCC warns that TSan does not model fences; Asio uses one.
    target_compile_options(${target} PRIVATE
      -fsanitize=thread -fno-omit-frame-pointer
      $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
    target_link_options(${target} PUBLIC -fsanitize=thread)
  elseif(PONIENTE_SANITIZE)
    message(FATAL_ERROR
      "PONIENTE_SANITIZE must be empty, asan or tsan, got '${PONIENTE_SANITIZE}'")
  endif()
  if(PONIENTE_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    poniente_clang_sanitizer(${target} ${macro})
  endif()
endfunction()

# What GCC does by itself: the sanitizer's macro, and its runtime as a shared
# library, whose `operator new` a test may replace.
function(poniente_clang_sanitizer target macro)
  set(runtime libclang_rt.${PONIENTE_SANITIZE}-${CMAKE_SYSTEM_PROCESSOR}.so)
  if(NOT poniente_sanitizer_runtime)
    execute_process(
      COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${runtime}
      OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT EXISTS "${path}")
      message(FATAL_ERROR "${CMAKE_CXX_COMPILER} has no ${runtime}; Debian's "
        "package is libclang-rt-dev, of the compiler's version")
    endif()
    set(poniente_sanitizer_runtime "${path}" CACHE INTERNAL "")
  endif()
  cmake_path(GET poniente_sanitizer_runtime PARENT_PATH folder)
  target_link_options(${target} PUBLIC
    -shared-libsan LINKER:-rpath,${folder})
  target_compile_definitions(${target} PRIVATE ${macro})
endfunction()

# poniente_source_options(FLAGS SOURCES...) compiles these with flags of their
# own, which no precompiled header would fit (g++ 12 dies of it).
function(poniente_source_options flags)
  set_source_files_properties(${ARGN} PROPERTIES
    COMPILE_OPTIONS "${flags}" SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# What a program compiles like the layers, so that it can share their
# precompiled header, which is of position-independent code.
function(poniente_program_options target)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE -fPIC)
  target_precompile_headers(${target} REUSE_FROM poniente_precompiled)
  poniente_compile_options(${target})
endfunction()

function(poniente_layer name)
  cmake_parse_arguments(arg "NOT_INSTALLED" ""
    "SOURCES;HEADERS;DEPENDS;PRIVATE" ${ARGN})
  set(target poniente_${name})
  list(TRANSFORM arg_HEADERS PREPEND ${PROJECT_SOURCE_DIR}/include/poniente/)
  add_library(${target} STATIC ${arg_SOURCES})
  target_sources(${target} PUBLIC FILE_SET HEADERS
    BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${arg_HEADERS})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PUBLIC ${arg_DEPENDS} PRIVATE ${arg_PRIVATE})
  target_precompile_headers(${target} REUSE_FROM poniente_precompiled)
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${name}
    VERIFY_INTERFACE_HEADER_SETS ON)
  poniente_compile_options(${target})
  if(arg_NOT_INSTALLED)
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY PONIENTE_LAYERS ${target})
  set_property(GLOBAL APPEND PROPERTY PONIENTE_HEADERS ${arg_HEADERS})
endfunction()
