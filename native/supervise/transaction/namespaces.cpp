#include "supervise/transaction/namespaces.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <utility>

#include "protocol/order.h"
#include "protocol/step.h"
#include "supervise/os/child.h"
#include "supervise/sandbox/control.h"

namespace native_runner {
namespace {

bool WaitFor(int descriptor) {
  pollfd entry{descriptor, POLLIN, 0};
  int result = 0;
  do {
    result = poll(&entry, 1, -1);
  } while (result < 0 && errno == EINTR);
  return result == 1;
}

// All that the launcher says, until nobody is left who could say more.
struct Answer {
  std::vector<Descriptor> made;
  std::size_t steps = 0;  // that have made something
  bool is_done = false;
  std::string refusal;
};

Answer Listen(Control* control) {
  Answer answer;
  while (WaitFor(control->descriptor())) {
    Report report;
    Descriptor carried;
    std::vector<Descriptor> more;
    const auto received = control->Receive(&report, &carried, &more);
    if (received == Control::Received::kClosed) break;
    if (received == Control::Received::kNothing) continue;
    if (report.kind == ReportKind::kMade && carried.valid()) {
      ++answer.steps;
      answer.made.push_back(std::move(carried));
      std::move(more.begin(), more.end(), std::back_inserter(answer.made));
    } else if (report.kind == ReportKind::kExited) {
      answer.is_done = true;
    } else if (report.kind == ReportKind::kRefused) {
      answer.refusal = report.text;
    }
  }
  return answer;
}

}  // namespace

Result<std::vector<Descriptor>> MakeNamespaces(const std::string& path,
                                               std::span<const std::string> steps,
                                               std::span<const int> given) {
  auto null_device = OpenPath("/dev/null", O_RDWR);
  if (!null_device) return null_device.error();
  Descriptor peer;
  auto control = Control::Open(&peer);
  if (!control) return control.error();
  const std::array<std::string, 1> argv = {kNamespacesRole};
  const auto order = EncodeOrder({.flags = kOrderNamespaces}, "", argv, {}, steps);
  if (control->SendOrder(order) != Control::Sent::kSent) return SystemError("sendmsg", errno);

  SpawnOptions spawn;
  spawn.path = path;
  spawn.argv = {"native-runner-launcher", kNamespacesRole};
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    spawn.inherited.push_back({null_device->get(), number});
  spawn.Give(std::move(peer), kControlDescriptor);
  int number = kFirstGiven;
  for (const int descriptor : given)
    spawn.inherited.push_back({descriptor, number++});
  auto child = Child::Spawn(std::move(spawn));
  if (!child) return child.error();
  Answer answer = Listen(&*control);
  while (!child->Reap())
    WaitFor(child->pidfd());

  const auto wanted = static_cast<std::size_t>(std::count_if(
      steps.begin(), steps.end(),
      [](const std::string& step) { return !step.empty() && MakesSomething(step.front()); }));
  if (answer.is_done && answer.steps == wanted) return std::move(answer.made);
  if (answer.refusal.empty()) answer.refusal = "its launcher ended without a word";
  return Error{ErrorCode::kUnavailable, std::move(answer.refusal), ""};
}

}  // namespace native_runner
