// SPDX-License-Identifier: Apache-2.0
// Values of a line of JSON that simdjson has parsed. All functions return false
// for anything that is not right; json_details.h then says what is wrong.

#ifndef PONIENTE_PACK_JSON_VALUES_FAST_H_
#define PONIENTE_PACK_JSON_VALUES_FAST_H_

#include <simdjson.h>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "pack/chat_template.h"
#include "pack/loss_spans.h"

namespace poniente::internal {

// Returns whether a string, at any depth, is not text: its escapes name half of
// a pair of surrogates.
bool HasHalfPairs(simdjson::dom::element value);

// Returns whether it is null, "", [] or {}.
bool IsEmpty(simdjson::dom::element value);

bool GetIds(simdjson::dom::element value, uint64_t vocabulary_size,
            std::vector<uint32_t>* ids);

// Contents of several parts are joined in `joined`; all others stay in the
// line. If a name occurs twice in a message, the last value counts. Weights are
// not looked at unless `reads_loss`.
bool GetMessages(simdjson::dom::element value, bool reads_loss,
                 std::deque<std::string>* joined,
                 std::vector<ChatMessage>* messages);

// `size`: bytes of the text, or number of ids.
bool GetSpans(simdjson::dom::element value, uint64_t size,
              std::vector<LossSpan>* spans);
bool GetMask(simdjson::dom::element value, uint64_t size,
             std::vector<LossSpan>* spans);

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_JSON_VALUES_FAST_H_
