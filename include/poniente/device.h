// SPDX-License-Identifier: Apache-2.0
// The memory that batches are delivered in: the host's, or a GPU's.

#ifndef PONIENTE_DEVICE_H_
#define PONIENTE_DEVICE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace poniente {

// The kinds of memory that batches can be delivered in.
enum class DeviceType { kHost, kCuda };

// One place to deliver batches to.
struct Device {
  DeviceType type = DeviceType::kHost;
  // Number of the GPU, as the CUDA runtime counts the visible ones; 0 for the
  // host.
  int32_t ordinal = 0;

  friend bool operator==(const Device&, const Device&) = default;
};

// Returns "host", "cuda:0", ...
std::string DeviceName(const Device& device);

// Returns OK if batches can be staged to the device in this process.
// FailedPrecondition if the library was built without CUDA or there is no
// driver; NotFound if there is no such GPU; the message says which. May be
// called on any thread. The first call for a GPU starts the driver, which takes
// a while.
absl::Status CheckDevice(const Device& device);

}  // namespace poniente

#endif  // PONIENTE_DEVICE_H_
