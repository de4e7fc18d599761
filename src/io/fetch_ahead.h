// SPDX-License-Identifier: Apache-2.0
// Brings the state of readers into the processor's caches before it is needed.

#ifndef PONIENTE_IO_FETCH_AHEAD_H_
#define PONIENTE_IO_FETCH_AHEAD_H_

#include <span>

#include "poniente/byte_reader.h"

namespace poniente::internal {

// Prefetches the state of each reader that planning and copying a batch need.
// After a batch the caches hold the copied data, so with some hundred readers,
// about a dozen dependent cache lines of each would come from memory one after
// the other. This function requests the lines of all readers at once. It is
// effective if the requests of a reader follow one another. It does not check
// the requests.
void FetchAhead(std::span<const ReadRequest> requests);

}  // namespace poniente::internal

#endif  // PONIENTE_IO_FETCH_AHEAD_H_
