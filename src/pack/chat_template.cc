// SPDX-License-Identifier: Apache-2.0
#include "pack/chat_template.h"

#include <algorithm>
#include <cstddef>

namespace poniente::internal {
namespace {

constexpr std::string_view kRole = "{role}";

void AppendFrame(std::string_view frame, std::string_view role,
                 std::string* text) {
  for (size_t at; (at = frame.find(kRole)) != std::string_view::npos;) {
    text->append(frame.substr(0, at));
    text->append(role);
    frame.remove_prefix(at + kRole.size());
  }
  text->append(frame);
}

}  // namespace

void ChatTemplate::Render(std::span<const ChatMessage> messages,
                          std::string* text,
                          std::vector<LossSpan>* spans) const {
  text->clear();
  spans->clear();
  for (const ChatMessage& message : messages) {
    AppendFrame(turn_begin, message.role, text);
    const size_t begin = text->size();
    text->append(message.content);
    AppendFrame(turn_end, message.role, text);
    if (message.may_have_loss && std::find(loss_roles.begin(), loss_roles.end(),
                                           message.role) != loss_roles.end()) {
      spans->push_back({begin, text->size()});
    }
  }
}

}  // namespace poniente::internal
