// SPDX-License-Identifier: Apache-2.0
// A batch between the loader and its consumer.

#ifndef PONIENTE_LOADER_OFFERED_BATCH_H_
#define PONIENTE_LOADER_OFFERED_BATCH_H_

#include "poniente/batch.h"

namespace poniente::internal {

// What the one Next() under way is to give. The loader has not gone a step on
// yet: if this goes without Accept(), for whatever reason (its consumer gave
// up, the context in which it was to be called has died), the batch comes with
// the next Next().
class OfferedBatch {
 public:
  virtual ~OfferedBatch() = default;

  // The loader's step has been delivered, and another Next() may begin. Once.
  virtual Batch Accept() = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_OFFERED_BATCH_H_
