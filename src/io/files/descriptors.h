// SPDX-License-Identifier: Apache-2.0
// Calls that need descriptors, and the limit on descriptors.

#ifndef PONIENTE_IO_FILES_DESCRIPTORS_H_
#define PONIENTE_IO_FILES_DESCRIPTORS_H_

#include <cerrno>

namespace poniente::internal {

// Raises the soft limit on descriptors (RLIMIT_NOFILE) to the hard limit,
// unless another thread has done so.
void RaiseDescriptorLimit();

// Moves a descriptor out of the range of the standard ones (0 to 2), which it
// may have if one of these is closed; otherwise standard output could be
// written into its file. Returns the new descriptor, or -errno with `fd`
// closed.
int AboveStandard(int fd);

// Returns the result of `call`. Calls it once more after -EINTR, and after
// -EMFILE, in which case it raises the limit first.
template <class Call>
int CallWithDescriptors(Call&& call) {
  const int result = call();
  if (result == -EMFILE) RaiseDescriptorLimit();
  return result == -EMFILE || result == -EINTR ? call() : result;
}

// Does the same for a call that returns a descriptor, and moves it above the
// standard ones.
template <class Call>
int CallForDescriptor(Call&& call) {
  const int fd = CallWithDescriptors(call);
  return fd < 0 || fd > 2 ? fd : AboveStandard(fd);
}

}  // namespace poniente::internal

#endif  // PONIENTE_IO_FILES_DESCRIPTORS_H_
