// SPDX-License-Identifier: Apache-2.0
// Brings what is known about files into the caches before it is needed.

#ifndef PONIENTE_IO_FETCH_AHEAD_H_
#define PONIENTE_IO_FETCH_AHEAD_H_

#include <span>

#include "poniente/byte_reader.h"

namespace poniente::internal {

// Prefetches what planning and copying the next batch read about each reader.
// After a batch the caches hold the copied data; with some hundred readers,
// about a dozen dependent cache lines of each would then come from memory one
// after the other. This requests those of all readers at once. It pays if the
// requests of a reader are next to each other. Errors in the requests are found
// later.
void FetchAhead(std::span<const ReadRequest> requests);

}  // namespace poniente::internal

#endif  // PONIENTE_IO_FETCH_AHEAD_H_
