// SPDX-License-Identifier: Apache-2.0
// Calls that give a descriptor, and the limit of these.

#ifndef PONIENTE_IO_FILES_DESCRIPTORS_H_
#define PONIENTE_IO_FILES_DESCRIPTORS_H_

#include <cerrno>

namespace poniente::internal {

// Raises the soft limit of descriptors (RLIMIT_NOFILE) to the hard one, if
// another thread has not.
void RaiseDescriptorLimit();

// Moves a descriptor that was given where a standard one had been closed above
// these, so that what others print does not end up in it. That or -errno, with
// `fd` closed.
int AboveStandard(int fd);

// What `call` gives, made once more after -EINTR and, with the limit raised,
// after -EMFILE.
template <class Call>
int CallWithDescriptors(Call&& call) {
  const int result = call();
  if (result == -EMFILE) RaiseDescriptorLimit();
  return result == -EMFILE || result == -EINTR ? call() : result;
}

// The same of a call that gives a descriptor: one above the standard ones.
template <class Call>
int CallForDescriptor(Call&& call) {
  const int fd = CallWithDescriptors(call);
  return fd < 0 || fd > 2 ? fd : AboveStandard(fd);
}

}  // namespace poniente::internal

#endif  // PONIENTE_IO_FILES_DESCRIPTORS_H_
