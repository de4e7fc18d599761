# SPDX-License-Identifier: Apache-2.0
# Finds libtorch for examples/libtorch_train: the target torch, and
# poniente_libtorch_FOUND. False for a libtorch of the old libstdc++ ABI, which
# does not link with the library (docs/libtorch.md), and in builds with a
# sanitizer, where the example would only cost time.
function(poniente_find_libtorch)  # keeps Torch's many variables to itself
  set(poniente_libtorch_FOUND FALSE PARENT_SCOPE)
  if(PONIENTE_SANITIZE)
    return()
  endif()
  set(CMAKE_MESSAGE_LOG_LEVEL WARNING)
  find_package(Torch QUIET)
  if(Torch_FOUND AND NOT TORCH_CXX_FLAGS MATCHES "_GLIBCXX_USE_CXX11_ABI=0")
    set(poniente_libtorch_FOUND TRUE PARENT_SCOPE)
  endif()
endfunction()
poniente_find_libtorch()
