#include "launcher/namespaces/steps.h"

#include <sys/mount.h>

#include <cerrno>

#include "launcher/kernel/calls.h"
#include "launcher/namespaces/listeners.h"
#include "launcher/namespaces/named_directory.h"
#include "launcher/namespaces/network.h"
#include "launcher/namespaces/overlay.h"
#include "launcher/namespaces/user.h"
#include "protocol/decimal.h"
#include "protocol/step.h"

namespace native_runner {
namespace {

// The number that a step begins with, and where its text goes on; -1: there is none.
int NumberOf(const char** text) {
  constexpr std::uint64_t kMost = 1023;
  std::uint64_t number = 0;
  return TakeDecimal(text, &number) && number <= kMost ? static_cast<int>(number) : -1;
}

class Steps {
 public:
  Steps(const Control& control, const MappedOrder& order) : control_(control), order_(order) {}

  // False: the refusal says why.
  bool Take(const char* step, Refusal* refusal) {
    const char* const text = step + 1;
    switch (*step) {
      case kStepUserNamespace:
        return MakeUserNamespace(refusal);
      case kStepMountNamespace:
        return MakeMountNamespace(refusal);
      case kStepLower:
        return overlay_.AddLower(text, refusal);
      case kStepUpper:
        return overlay_.SetUpper(text, refusal);
      case kStepWork:
        return overlay_.SetWork(text, refusal);
      case kStepOverlay:
        return HandOver(overlay_.MountOn(text, refusal), refusal);
      case kStepJoin:
        return Join(text, refusal);
      case kStepShown:
        return CheckShown(text, refusal);
      case kStepLookAgain:
        return LookAgain(text, refusal);
      case kStepNetworkNamespace:
        return MakeNetworkNamespace(text, refusal);
      case kStepLocalBlock:
        return MakeBlockLocal(text, refusal);
      case kStepListen:
        return Listen(text, refusal);
      case kStepExecute:
        return Execute(text, refusal);
      default:
        return refusal->Because("the order has a step that can't be taken", -EINVAL);
    }
  }

 private:
  // Closes it here. Of what is not open, the refusal says why already.
  bool HandOver(int descriptor, Refusal* refusal) {
    if (descriptor < 0) return false;
    const bool is_sent = control_.SendMade(&descriptor, 1);
    kernel::Close(descriptor);
    return is_sent || refusal->Because("what was made can't be handed over", -EPIPE);
  }

  bool HandOverNamespace(const char* path, Refusal* refusal) {
    const int descriptor = kernel::Open(path, O_RDONLY);
    return descriptor < 0 ? refusal->Because(path, descriptor) : HandOver(descriptor, refusal);
  }

  bool MakeUserNamespace(Refusal* refusal) {
    return EnterUserNamespace(0, Layer::kUserNamespace, refusal) &&
           HandOverNamespace("/proc/self/ns/user", refusal);
  }

  bool Listen(const char* text, Refusal* refusal) {
    BoundSockets bound;
    return BindPorts(text, &bound, refusal) &&
           (control_.SendMade(bound.at, bound.count) ||
            refusal->Because("what was made can't be handed over", -EPIPE));
  }

  bool MakeMountNamespace(Refusal* refusal) {
    long result = kernel::Unshare(CLONE_NEWNS);
    if (result == 0) result = kernel::Mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE);
    if (result != 0) return refusal->Because(Layer::kMountNamespace, result);
    return HandOverNamespace("/proc/self/ns/mnt", refusal);
  }

  static bool Join(const char* text, Refusal* refusal) {
    const int number = NumberOf(&text);
    const long result = number < 0 || *text != '\0' ? -EINVAL : kernel::EnterNamespace(number);
    if (result != 0) return refusal->Because("cannot enter a namespace", result);
    kernel::Close(number);
    return true;
  }

  static bool CheckShown(const char* text, Refusal* refusal) {
    const int number = NumberOf(&text);
    if (number < 0 || text[0] != ':' || text[1] != '/') {
      return refusal->Because("the order has a step without a path", -EINVAL);
    }
    struct stat kept {};
    struct stat shown {};
    long result = kernel::Stat(number, &kept);
    if (result == 0) result = kernel::Stat(text + 1, &shown);
    if (result == 0 && (kept.st_dev != shown.st_dev || kept.st_ino != shown.st_ino)) {
      result = -ESTALE;
    }
    if (result == 0) return true;
    refusal->text.Add(text + 1);
    return refusal->Because(" is not what the namespace was made for", result);
  }

  static bool LookAgain(const char* text, Refusal* refusal) {
    const int number = NumberOf(&text);
    const long result = number < 0 || *text != '\0' ? -EINVAL : Overlay::LookAgain(number);
    if (result != 0) return refusal->Because(Layer::kTransactionOverlay, "fsconfig", result);
    kernel::Close(number);
    return true;
  }

  bool Execute(const char* text, Refusal* refusal) {
    const int number = NumberOf(&text);
    const long result = number < 0 || *text != '\0'
                            ? -EINVAL
                            : kernel::Execute(number, order_.argv, order_.environment);
    return refusal->Because("cannot be executed", result);
  }

  const Control& control_;
  const MappedOrder& order_;
  Overlay overlay_;
};

}  // namespace

void TakeSteps(const Control& control, const MappedOrder& order) {
  Refusal refusal;
  Steps steps(control, order);
  for (char** step = order.rules; *step != nullptr; ++step) {
    if (!steps.Take(*step, &refusal)) return control.SendRefused(refusal);
  }
  Report report;
  report.kind = ReportKind::kExited;
  report.at_ns = kernel::Now();
  control.SendLast(report);
}

}  // namespace native_runner
