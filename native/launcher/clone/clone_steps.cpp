#include "launcher/clone/clone_steps.h"

#include <sys/mount.h>
#include <sys/prctl.h>

#include <cerrno>
#include <climits>

#include "launcher/kernel/calls.h"
#include "launcher/layers/capabilities.h"
#include "launcher/namespaces/listeners.h"
#include "launcher/namespaces/network.h"
#include "launcher/text/fixed_text.h"
#include "protocol/decimal.h"
#include "protocol/step.h"

namespace native_runner {
namespace {

constexpr unsigned long kProcFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC;

bool RefuseStep(Refusal* refusal) {
  return refusal->Because("the order has a step that no clone can take", -EINVAL);
}

// UID:GID, "-" behind it.
bool ReadLeave(const char* text, CloneSteps* read) {
  std::uint64_t uid = 0;
  std::uint64_t gid = 0;
  if (!TakeDecimal(&text, &uid) || *text++ != ':' || !TakeDecimal(&text, &gid)) return false;
  read->is_last_namespace = *text == '-';
  if (read->is_last_namespace) ++text;
  read->user = {static_cast<long>(uid), static_cast<long>(gid), 0, 0};
  return *text == '\0' && uid < UINT_MAX && gid < UINT_MAX;
}

// The files of a process that is not dumpable may be root's (proc(5)), so for this it is; no
// command runs yet that could make use of it.
bool MapWhileDumpable(const UserMap& map, int proc) {
  kernel::Prctl(PR_SET_DUMPABLE, 1);
  const bool is_mapped = MapUser(map, proc);
  kernel::Prctl(PR_SET_DUMPABLE, 0);
  return is_mapped;
}

class Taker {
 public:
  Taker(const CloneSteps& steps, const CloneRequest& request, int proc, const Control& control,
        Refusal* refusal)
      : steps_(steps), request_(request), proc_(proc), control_(control), refusal_(refusal) {}

  bool MakeNamespaces() const {
    // Root inside: devpts' files are to be somebody's who means something.
    if (!MapWhileDumpable({0, 0, steps_.outer_uid, steps_.outer_gid}, proc_)) {
      return refusal_->Because(Layer::kUserNamespace, "its ids can't be set");
    }
    unsigned long kinds = CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
    if (steps_.has_network) kinds |= CLONE_NEWNET;
    const long result = kernel::Unshare(kinds);
    return result == 0 || refusal_->Because(Layer::kMountNamespace, result);
  }

  bool Take(const char* step) const {
    const char* const text = step + 1;
    switch (*step) {
      case kStepProc:
        return Mount("proc", steps_.proc,
                     steps_.is_proc_read_only ? kProcFlags | MS_RDONLY : kProcFlags, nullptr);
      case kStepTmpfs:
        return MountTmpfs(text);
      case kStepTerminals:
        return Mount("devpts", text, MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620");
      case kStepNetworkNamespace:
        return BringUpLoopback(refusal_);
      case kStepLocalBlock:
        return MakeBlockLocal(text, refusal_);
      case kStepListen:
        return Listen(text);
      case kStepLeave:
        return Leave();
      default:
        return RefuseStep(refusal_);
    }
  }

 private:
  bool Mount(const char* type, const char* path, unsigned long flags, const char* options) const {
    const long result = kernel::Mount(type, path, type, flags, options);
    if (result == 0) return true;
    refusal_->text.Add("mount of ").Add(type).Add(" on ");
    return refusal_->Because(path, result);
  }

  bool MountTmpfs(const char* path) const {
    FixedText<48> options;
    options.Add("mode=0755");
    if (request_.tmp_bytes != 0)
      options.Add(",size=").AddNumber(static_cast<long>(request_.tmp_bytes));
    return Mount("tmpfs", path, MS_NOSUID | MS_NODEV, options.c_str());
  }

  bool Listen(const char* ports) const {
    BoundSockets bound;
    return BindPorts(ports, &bound, refusal_) &&
           (control_.SendMade(bound.at, bound.count) ||
            refusal_->Because("what was made can't be handed over", -EPIPE));
  }

  // From here on nobody in the clone owns its mounts, its network or its pid namespace.
  bool Leave() const {
    const long result = kernel::Unshare(CLONE_NEWUSER);
    if (result != 0) return refusal_->Because(Layer::kUserNamespace, result);
    if (!MapWhileDumpable(steps_.user, proc_)) {
      return refusal_->Because(Layer::kUserNamespace, "the user's ids can't be set");
    }
    if (steps_.is_last_namespace && !ForbidUserNamespaces()) return false;
    DropCapabilities();
    kernel::NewSession();
    return true;
  }

  bool ForbidUserNamespaces() const {
    const int most = kernel::OpenIn(proc_, "sys/user/max_user_namespaces", O_WRONLY);
    const long result = most < 0 ? most : kernel::Write(most, "0", 1);
    if (most >= 0) kernel::Close(most);
    return result == 1 || refusal_->Because(Layer::kUsernsDisabled, result);
  }

  const CloneSteps& steps_;
  const CloneRequest& request_;
  int proc_;
  const Control& control_;
  Refusal* refusal_;
};

}  // namespace

bool ReadCloneSteps(char** steps, CloneSteps* read, Refusal* refusal) {
  read->steps = steps;
  read->outer_uid = kernel::Call(SYS_geteuid);
  read->outer_gid = kernel::Call(SYS_getegid);
  bool leaves = false;
  for (; *steps != nullptr; ++steps) {
    const char* const text = *steps + 1;
    if (leaves) return RefuseStep(refusal);  // it is the last
    switch (**steps) {
      case kStepProc:
        read->is_proc_read_only = *text == 'r';
        read->proc = text + (read->is_proc_read_only ? 1 : 0);
        if (*read->proc != '/') return RefuseStep(refusal);
        break;
      case kStepTmpfs:
      case kStepTerminals:
        if (*text != '/') return RefuseStep(refusal);
        break;
      case kStepNetworkNamespace:
        if (*text != '\0') return RefuseStep(refusal);
        read->has_network = true;
        break;
      case kStepLocalBlock:
      case kStepListen:
        if (!read->has_network) return RefuseStep(refusal);
        break;
      case kStepLeave:
        leaves = ReadLeave(text, read);
        if (!leaves) return RefuseStep(refusal);
        break;
      default:
        return RefuseStep(refusal);
    }
  }
  if (leaves && read->proc != nullptr) return true;
  return refusal->Because("a template's order lacks the step that every clone needs", -EINVAL);
}

bool TakeCloneSteps(const CloneSteps& steps, const CloneRequest& request, int proc,
                    const Control& control, Refusal* refusal) {
  const Taker taker(steps, request, proc, control, refusal);
  if (!taker.MakeNamespaces()) return false;
  for (char** step = steps.steps; *step != nullptr; ++step) {
    if (!taker.Take(*step)) return false;
  }
  return true;
}

}  // namespace native_runner
