// SPDX-License-Identifier: Apache-2.0
// Brings what is known of files into the caches before it is needed.

#ifndef PONIENTE_IO_FETCH_AHEAD_H_
#define PONIENTE_IO_FETCH_AHEAD_H_

#include <span>

#include "poniente/byte_reader.h"

namespace poniente::internal {

// After a batch the caches hold what was copied. What planning and copying the
// next one read of each of some hundred readers, a dozen lines that lead from
// one to the other, would come from memory one after the other; this asks for
// those of all readers at once. Worth it where the requests of a reader are
// neighbours. Whatever is wrong with them is left to be found later.
void FetchAhead(std::span<const ReadRequest> requests);

}  // namespace poniente::internal

#endif  // PONIENTE_IO_FETCH_AHEAD_H_
