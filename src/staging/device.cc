// SPDX-License-Identifier: Apache-2.0
#include "poniente/device.h"

#include "absl/strings/str_cat.h"
#include "staging/accelerator.h"

namespace poniente {

std::string DeviceName(const Device& device) {
  return device.type == DeviceType::kHost
             ? "host"
             : absl::StrCat("cuda:", device.ordinal);
}

absl::Status CheckDevice(const Device& device) {
  if (device.type == DeviceType::kHost) return absl::OkStatus();
  return internal::OpenCuda(device.ordinal).status();
}

}  // namespace poniente
