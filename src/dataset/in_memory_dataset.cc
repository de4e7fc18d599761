// SPDX-License-Identifier: Apache-2.0
#include "poniente/in_memory_dataset.h"

#include "async/notifier.h"
#include "index/keyed_hash.h"

namespace poniente::internal {

class GrowthSignal::Impl : public Notifier {};

GrowthSignal::GrowthSignal() : impl_(std::make_unique<Impl>()) {}
GrowthSignal::~GrowthSignal() = default;
uint64_t GrowthSignal::version() const { return impl_->version(); }
void GrowthSignal::NotifyAll() { impl_->NotifyAll(); }
Task<> GrowthSignal::WaitPast(uint64_t seen) { return impl_->WaitPast(seen); }

uint64_t InMemoryFingerprint(const InMemoryOptions& options, uint64_t length) {
  return Derive(length, Tag("memory"), std::string_view(options.name));
}

}  // namespace poniente::internal
