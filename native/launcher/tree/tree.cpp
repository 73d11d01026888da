#include "launcher/tree/tree.h"

#include <csignal>
#include <ctime>

#include "launcher/kernel/calls.h"
#include "launcher/tree/descendants.h"

namespace native_runner {
namespace {

constexpr int kMaxStopRounds = 256;
constexpr int kMaxIdleRounds = 5;
constexpr long kRoundNanoseconds = 10'000'000;

// Stops all before the first is killed: what is stopped can't fork, so a fork bomb runs dry as soon
// as a walk meets no one new. Reaping in between keeps the dead out of the next walk.
void StopAll(Descendants* tree, Children* children) {
  for (int round = 0; round < kMaxStopRounds && tree->Walk(SIGSTOP) != 0; ++round) {
    children->Reap();
  }
}

void WaitForChild(const Children& children) {
  const timespec round{0, kRoundNanoseconds};
  pollfd child{children.signal_descriptor(), POLLIN, 0};
  kernel::Poll(&child, 1, &round);
}

bool KillDescendants(Children* children) {
  const auto source = Descendants::BestSource();
  for (int idle = 0; idle < kMaxIdleRounds;) {
    Descendants tree(source);
    StopAll(&tree, children);
    idle = tree.SignalAll(SIGKILL) == 0 ? idle + 1 : 0;
    WaitForChild(*children);
    if (!children->Reap()) return true;
  }
  return false;
}

}  // namespace

bool KillTree(bool is_init, Children* children) {
  if (!children->Reap()) return true;
  children->ExpectKills();
  if (!is_init) return KillDescendants(children);
  kernel::Kill(-1, SIGKILL);  // one call under the kernel's lock: no fork gets past it
  children->ReapAll();
  return true;
}

}  // namespace native_runner
