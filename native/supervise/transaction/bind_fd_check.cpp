#include "supervise/transaction/bind_fd_check.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <utility>

#include "policy/bubblewrap/bwrap_features.h"
#include "supervise/host/program.h"
#include "supervise/os/child.h"

namespace native_runner {
namespace {

constexpr int kDeadlineMs = 5'000;  // as for Programs
constexpr std::size_t kMostBytes = std::size_t{64} << 10U;

std::int64_t NowMs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000 + now.tv_nsec / 1'000'000;
}

// Whether there is something to read before the time is over.
bool WaitUntil(int descriptor, std::int64_t deadline_ms) {
  pollfd entry{descriptor, POLLIN, 0};
  for (;;) {
    const std::int64_t left = deadline_ms - NowMs();
    if (left <= 0) return false;
    const int result = poll(&entry, 1, static_cast<int>(left));
    if (result > 0) return true;
    if (result == 0 || errno != EINTR) return false;
  }
}

std::string ReadUntil(int pipe, std::int64_t deadline_ms) {
  std::string text;
  std::array<char, 4'096> block{};
  while (text.size() < kMostBytes && WaitUntil(pipe, deadline_ms)) {
    const ssize_t got = read(pipe, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

std::optional<Error> CheckBindFd(const std::string& path) {
  auto null_device = OpenPath("/dev/null", O_RDWR);
  auto output = MakePipe();
  if (!null_device || !output) return std::nullopt;
  SpawnOptions spawn;
  spawn.path = path;
  spawn.argv = {"bwrap", "--help"};
  spawn.inherited = {{null_device->get(), STDIN_FILENO}, {null_device->get(), STDERR_FILENO}};
  spawn.Give(std::move(output->write), STDOUT_FILENO);
  auto child = Child::Spawn(std::move(spawn));
  if (!child) return std::nullopt;
  const std::int64_t deadline = NowMs() + kDeadlineMs;
  const std::string help = ReadUntil(output->read.get(), deadline);
  if (!WaitUntil(child->pidfd(), deadline)) child->Signal(SIGKILL);
  auto status = child->Reap();
  while (!status) {
    WaitUntil(child->pidfd(), NowMs() + kDeadlineMs);
    status = child->Reap();
  }
  const bool has_answered = !status->signaled && status->value == 0;
  if (!has_answered || ParseBwrapHelp(help).bind_fd) return std::nullopt;
  return LacksOption(path, "--bind-fd");
}

}  // namespace native_runner
