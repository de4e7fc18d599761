// SPDX-License-Identifier: Apache-2.0
// The 128-bit integers that hold the intermediates of the index mathematics.

#ifndef PONIENTE_INDEX_INT128_H_
#define PONIENTE_INDEX_INT128_H_

namespace poniente::internal {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 Uint128;

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_INT128_H_
