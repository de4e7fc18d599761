// SPDX-License-Identifier: Apache-2.0
// The numbers of fields in the tables of Arrow's metadata.

#ifndef PONIENTE_FORMATS_ARROW_ARROW_TABLES_H_
#define PONIENTE_FORMATS_ARROW_ARROW_TABLES_H_

#include <cstdint>

namespace poniente::internal::arrow {

inline constexpr int16_t kVersion4 = 3;
inline constexpr int16_t kVersion5 = 4;

namespace message {
inline constexpr uint16_t kVersion = 0;
inline constexpr uint16_t kHeaderKind = 1;
inline constexpr uint16_t kHeader = 2;
inline constexpr uint16_t kBodyBytes = 3;
}  // namespace message

namespace schema {
inline constexpr uint16_t kEndianness = 0;
inline constexpr uint16_t kFields = 1;
}  // namespace schema

namespace field {
inline constexpr uint16_t kName = 0;
inline constexpr uint16_t kTypeKind = 2;
inline constexpr uint16_t kType = 3;
inline constexpr uint16_t kDictionary = 4;
inline constexpr uint16_t kChildren = 5;
}  // namespace field

namespace batch {
inline constexpr uint16_t kRows = 0;
inline constexpr uint16_t kNodes = 1;    // {i64 length, i64 nulls}
inline constexpr uint16_t kBuffers = 2;  // {i64 offset, i64 bytes}
inline constexpr uint16_t kCompression = 3;
inline constexpr uint16_t kViewBuffers = 4;  // i64
}  // namespace batch

namespace footer {
inline constexpr uint16_t kVersion = 0;
inline constexpr uint16_t kSchema = 1;
// {i64 offset, i32 bytes of metadata, 4 bytes, i64 bytes of the body}
inline constexpr uint16_t kBatches = 3;
inline constexpr uint64_t kBlockBytes = 24;
}  // namespace footer

}  // namespace poniente::internal::arrow

#endif  // PONIENTE_FORMATS_ARROW_ARROW_TABLES_H_
