// SPDX-License-Identifier: Apache-2.0
// How the messages of a chat become one text, and which parts of it have loss.

#ifndef PONIENTE_PACK_CHAT_TEMPLATE_H_
#define PONIENTE_PACK_CHAT_TEMPLATE_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pack/loss_spans.h"

namespace poniente::internal {

// One turn of a chat.
struct ChatMessage {
  std::string_view role;
  std::string_view content;
  bool may_have_loss = true;  // false: it has none, whatever its role
};

// Each turn becomes turn_begin, the content, and turn_end, without anything
// between turns. "{role}" stands for the role in both frames.
struct ChatTemplate {
  std::string turn_begin = "<|im_start|>{role}\n";
  std::string turn_end = "<|im_end|>\n";
  // Roles whose content and turn_end have loss; turn_begin never has.
  std::vector<std::string> loss_roles = {"assistant"};

  // Sets `text` to the text of a chat, and `spans` to the bytes of it that have
  // loss.
  void Render(std::span<const ChatMessage> messages, std::string* text,
              std::vector<LossSpan>* spans) const;
};

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_CHAT_TEMPLATE_H_
