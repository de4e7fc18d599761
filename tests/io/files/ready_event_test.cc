// SPDX-License-Identifier: Apache-2.0
#include "io/files/ready_event.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include <cstdlib>
#include <string>

#include "tests/support/status_matchers.h"

namespace poniente::internal {
namespace {

bool IsReadableNow(int fd) {
  pollfd watched = {.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&watched, 1, 0) == 1;
}

TEST(ReadyEventTest, IsReadableAsItWasLastSet) {
  ASSERT_OK_AND_ASSIGN(const auto event, ReadyEvent::Create());
  EXPECT_FALSE(IsReadableNow(event->fd()));
  for (const bool is_ready : {false, true, true, true, false, false, true}) {
    event->Set(is_ready);
    EXPECT_EQ(IsReadableNow(event->fd()), is_ready);
  }
}

// It is set again and again, but written to once.
TEST(ReadyEventTest, WritesOnlyChanges) {
  ASSERT_OK_AND_ASSIGN(const auto event, ReadyEvent::Create());
  for (int i = 0; i < 3; ++i) event->Set(true);
  eventfd_t count = 0;
  ASSERT_EQ(::eventfd_read(event->fd(), &count), 0);
  EXPECT_EQ(count, 1u);
  // Somebody has read it, against the rules: no call blocks.
  event->Set(false);
  event->Set(true);
  EXPECT_TRUE(IsReadableNow(event->fd()));
}

TEST(ReadyEventTest, ClosesItsDescriptor) {
  ASSERT_OK_AND_ASSIGN(auto event, ReadyEvent::Create());
  const int fd = event->fd();
  EXPECT_EQ(::fcntl(fd, F_GETFD), FD_CLOEXEC);
  event.reset();
  EXPECT_EQ(::fcntl(fd, F_GETFD), -1);
}

// In a process of its own, which ends with 0 if a descriptor was created, and
// with 1 if the error says what to do.
[[noreturn]] void CreateAndExit(rlim_t hard) {
  const rlimit limit = {0, hard};
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) std::_Exit(2);
  const auto event = ReadyEvent::Create();
  if (event.ok()) std::_Exit((*event)->fd() > 2 ? 0 : 3);
  const bool names_remedy =
      absl::IsResourceExhausted(event.status()) &&
      event.status().message().find("ulimit -n") != std::string::npos;
  std::_Exit(names_remedy ? 1 : 4);
}

TEST(ReadyEventTest, RaisesTheSoftLimitOfDescriptors) {
  rlimit limit = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EXIT(CreateAndExit(limit.rlim_max), ::testing::ExitedWithCode(0), "");
}

TEST(ReadyEventTest, WithoutDescriptorsTheErrorNamesTheRemedy) {
  EXPECT_EXIT(CreateAndExit(0), ::testing::ExitedWithCode(1), "");
}

}  // namespace
}  // namespace poniente::internal
