// SPDX-License-Identifier: Apache-2.0
// Calls that give a descriptor, and the limit of these.

#ifndef PONIENTE_IO_DESCRIPTORS_H_
#define PONIENTE_IO_DESCRIPTORS_H_

#include <cerrno>

namespace poniente::internal {

// Raises the soft limit of descriptors (RLIMIT_NOFILE) to the hard one, if
// another thread has not.
void RaiseDescriptorLimit();

// What `call` gives, a descriptor or -errno, made once more after EINTR and,
// with the limit raised, after EMFILE.
template <class Call>
int CallForDescriptor(Call&& call) {
  const int result = call();
  if (result == -EMFILE) RaiseDescriptorLimit();
  return result == -EMFILE || result == -EINTR ? call() : result;
}

}  // namespace poniente::internal

#endif  // PONIENTE_IO_DESCRIPTORS_H_
