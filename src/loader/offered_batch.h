// SPDX-License-Identifier: Apache-2.0
// A batch between the loader and its consumer.

#ifndef PONIENTE_LOADER_OFFERED_BATCH_H_
#define PONIENTE_LOADER_OFFERED_BATCH_H_

#include "poniente/batch.h"

namespace poniente::internal {

// The batch that the Next() in progress is about to return. The loader has not
// advanced yet. If this object is destroyed without Accept(), because the
// consumer gave up or its context was destroyed, the next Next() returns the
// batch.
class OfferedBatch {
 public:
  virtual ~OfferedBatch() = default;

  // Returns the batch and advances the loader; another Next() may then begin.
  // Call it once.
  virtual Batch Accept() = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_OFFERED_BATCH_H_
