// SPDX-License-Identifier: Apache-2.0
// Calls that return a descriptor, and the limit of descriptors.

#ifndef PONIENTE_IO_FILES_DESCRIPTORS_H_
#define PONIENTE_IO_FILES_DESCRIPTORS_H_

#include <cerrno>

namespace poniente::internal {

// Raises the soft limit of descriptors (RLIMIT_NOFILE) to the hard one, unless
// another thread has done so.
void RaiseDescriptorLimit();

// Moves a descriptor that took the number of a closed standard one above these,
// so that other output does not end up in its file. Returns the new one, or
// -errno with `fd` closed.
int AboveStandard(int fd);

// Returns the result of `call`, which is repeated after -EINTR and, with the
// limit raised, after -EMFILE.
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
