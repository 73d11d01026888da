#include "supervise/sandbox/spawned_sandbox.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <utility>

#include "supervise/host/fingerprint.h"
#include "supervise/network/sandbox_network.h"
#include "supervise/os/mounts.h"
#include "supervise/sandbox/launcher_channel.h"

namespace native_runner {
namespace {

constexpr int kMostTriesAmidMounts = 8;  // each takes some milliseconds
constexpr int kPatience = 10;  // checks of a bwrap in set-up of which /proc shows no process
// Without a pid namespace only the launcher can end its tree, and killing it meanwhile would leave
// the rest behind. So this counts only checks in which it was seen to do nothing.
constexpr int kMostSilentTurns = 100;

}  // namespace

SpawnedSandbox::SpawnedSandbox(Child child, LauncherChannel control, Options options)
    : Sandbox(std::move(control)),
      child_(std::move(child)),
      cgroup_(std::move(options.cgroup)),
      gate_(std::move(options.gate)),
      holds_(std::move(options.holds)),
      network_(std::move(options.network)),
      mounted_(std::move(options.mounted)),
      host_mounts_(options.host_mounts) {
  own_init_ = options.own_init;
}

SpawnedSandbox::~SpawnedSandbox() {
  if (network_) network_->Close();
}

Result<std::unique_ptr<Sandbox>> SpawnedSandbox::Spawn(Options options) {
  auto channels = Channels::Open();
  if (!channels) return channels.error();
  // Sent before all messages for the launcher inside: the child reads this one and leaves the rest.
  if (!options.entry.empty() &&
      channels->control.SendOrder(options.entry) != LauncherChannel::Sent::kSent) {
    return SystemError("sendmsg", errno);
  }
  SpawnOptions& spawn = options.spawn;
  spawn.Give(std::move(channels->out.write), STDOUT_FILENO);
  spawn.Give(std::move(channels->err.write), STDERR_FILENO);
  spawn.Give(std::move(channels->peer), kControlDescriptor);
  const bool makes_mounts = spawn.makes_mounts;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  std::optional<std::uint64_t> mount_changes;
  if (makes_mounts && options.host_mounts != nullptr)
    mount_changes = options.host_mounts->Changes();
  auto child = Child::Spawn(std::move(spawn));
  if (!child) return child.error();
  std::unique_ptr<SpawnedSandbox> made(
      new SpawnedSandbox(std::move(*child), std::move(channels->control), std::move(options)));
  made->keeps_messages_ = makes_mounts;
  made->spawned_at_ = now;
  made->mount_changes_ = mount_changes;
  made->out_ = std::move(channels->out.read);
  made->err_ = std::move(channels->err.read);
  return Result<std::unique_ptr<Sandbox>>(std::move(made));
}

bool SpawnedSandbox::Watch(uv_loop_t* loop, User* user, bool until_ready) {
  loop_ = loop;
  user_ = user;
  until_ready_ = until_ready;
  const bool needs_control = !own_init_ || until_ready || keeps_messages_ || AwaitsMade();
  return (!needs_control || channel_poll_.active() || WatchChannel()) &&
         (child_poll_.active() || WatchChild());
}

// Closes the gate in any case: a child that is still held back then reads end of file.
bool SpawnedSandbox::OpenGate() {
  if (cgroup_ && !cgroup_->Add(child_.pid())) return false;
  const Gate gate = std::move(gate_);
  return !gate.descriptor.valid() ||
         write(gate.descriptor.get(), gate.bytes.data(), gate.bytes.size()) ==
             static_cast<ssize_t>(gate.bytes.size());
}

// The launcher waits for its order, so nothing has run yet if the gate can't be opened.
LauncherChannel::Sent SpawnedSandbox::SendOrder(std::span<const std::byte> order) {
  if (!OpenGate()) return LauncherChannel::Sent::kFailed;
  has_order_ = true;
  if (!keeps_messages_) return Sandbox::SendOrder(order);
  order_.assign(order.begin(), order.end());
  return LauncherChannel::Sent::kSent;
}

void SpawnedSandbox::SendLease(std::uint64_t until_ns) {
  if (order_.empty()) return Sandbox::SendLease(until_ns);
  lease_until_ns_ = until_ns;  // to be sent after the order, which is held back
}

LauncherChannel::Sent SpawnedSandbox::SendInput(int descriptor) {
  if (!keeps_messages_) return Sandbox::SendInput(descriptor);
  input_ = Descriptor(fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  return input_.valid() ? LauncherChannel::Sent::kSent : LauncherChannel::Sent::kFailed;
}

// Called when the launcher waits and no command has been started: its mounts are complete.
std::optional<Error> SpawnedSandbox::CutOffMounts() {
  keeps_messages_ = false;
  if (!launcher_.valid()) {
    return Error{ErrorCode::kSetup,
                 "its launcher could not send its pidfd: too many descriptors of this user are in "
                 "messages (ETOOMANYREFS)",
                 ""};
  }
  if (auto error = MakeMountsPrivate(launcher_.get())) return error;
  // Mounts that the host made meanwhile may show inside. A prewarmed sandbox is compared with the
  // host when it is taken.
  mounts_changed_ = !order_.empty() && host_mounts_ != nullptr &&
                    (!mount_changes_ || host_mounts_->Changes() != mount_changes_);
  if (mounts_changed_)
    return Error{ErrorCode::kSetup, "the host's mounts changed while it was made", ""};
  const Descriptor input = std::move(input_);
  const std::vector<std::byte> order = std::move(order_);
  const bool is_sent =
      (!input.valid() || Sandbox::SendInput(input.get()) != LauncherChannel::Sent::kFailed) &&
      (order.empty() || Sandbox::SendOrder(order) != LauncherChannel::Sent::kFailed);
  if (!is_sent) return SystemError("sendmsg to the launcher", errno);
  if (lease_until_ns_) Sandbox::SendLease(*lease_until_ns_);
  return std::nullopt;
}

void SpawnedSandbox::NoteMade(std::vector<Descriptor> made) {
  if (ending_ || !network_) return;
  if (const char* const why = TakeListeners(std::move(made), network_.get(), loop_))
    return Refuse(Layer::kNetworkByDomain, why);
  if (own_init_ && !until_ready_ && !keeps_messages_) channel_poll_.Stop();
}

// Reports the refusal as the launcher itself would have done.
void SpawnedSandbox::Refuse(Layer layer, const std::string& reason) {
  Report report;
  report.kind = ReportKind::kRefused;
  const std::string text = std::string(LayerName(layer)) + ": " + reason;
  text.copy(report.text, sizeof report.text - 1);
  ending_ = true;
  control_.SendKill();
  InsistAfter(kInsistAfterMs);
  if (user_ != nullptr) user_->OnReport(report);
}

bool SpawnedSandbox::WatchChild() {
  return child_poll_.Start(loop_, child_.pidfd(), UV_READABLE, [this] {
    OnChildExit();
    Settle();
  }) == 0;
}

bool SpawnedSandbox::WatchChannel() {
  return channel_poll_.Start(loop_, control_.descriptor(), UV_READABLE, [this] {
    Receive();
    Settle();
  }) == 0;
}

void SpawnedSandbox::NoteReport(const Report& report) {
  switch (report.kind) {
    case ReportKind::kTerminal:
      break;
    case ReportKind::kReady:
      own_init_ |= report.enforced.Has(Layer::kPidNamespace);
      has_launcher_ = true;
      if (own_init_) channel_poll_.Stop();
      break;
    case ReportKind::kAwaitingOrder:
      has_launcher_ = true;
      if (keeps_messages_ && !ending_) {
        if (const auto error = CutOffMounts())
          return Refuse(Layer::kMountNamespace, error->message);
      }
      if (own_init_ && (!has_order_ || !until_ready_)) channel_poll_.Stop();
      break;
    default:
      if (report.shared_mounts != 0 && host_mounts_ != nullptr) {
        mounts_changed_ = true;
        host_mounts_->TakeForShared();
      }
      has_ended_ = true;
      channel_poll_.Stop();  // only the end of the child is still to come; the socket is read again
                             // then
      if (!insist_.active()) InsistAfter(kInsistAfterMs);
  }
}

bool SpawnedSandbox::IsAlive() {
  Receive();
  return !channel_closed_ && !has_ended_ && !ending_ && !ProcessHasEnded(child_.pidfd()) &&
         (!launcher_.valid() || !LauncherIsGone());
}

int SpawnedSandbox::most_tries() const {
  if (mounts_changed_) return kMostTriesAmidMounts;
  const bool has_failed =
      !has_launcher_ && child_status_ && !child_status_->signaled && child_status_->value != 0;
  return has_failed && mounted_ && AnyReplacedSince(*mounted_, spawned_at_) ? 2 : 1;
}

void SpawnedSandbox::OnChildExit() {
  child_status_ = child_.Reap();
  if (!child_status_) return;
  child_poll_.Stop();
  Receive();
  // bwrap has ended without its launcher, or without the half of itself that sets up: end those.
  if (!channel_closed_ && !has_ended_ && !ending_) {
    ending_ = true;
    control_.SendKill();
    InsistAfter(kInsistEveryMs);
  }
}

void SpawnedSandbox::End() {
  Receive();
  gate_ = {};
  if (!ending_ && !has_ended_) {
    ending_ = true;
    control_.SendKill();
    InsistAfter(kInsistAfterMs);
  }
  Settle();
}

void SpawnedSandbox::InsistAfter(std::uint64_t delay_ms) {
  insist_.Start(loop_, delay_ms, kInsistEveryMs, [this] { Insist(); });
}

// Its launcher ends its tree by itself on request. This handles a launcher that does not answer.
void SpawnedSandbox::Insist() {
  ++insisted_;
  Receive();
  const bool is_init = own_init_ && launcher_.valid();
  if ((channel_closed_ || is_init) && LauncherIsGone()) {
    child_.Signal(SIGKILL);  // its children are gone, but it may have been stopped
  } else if (!has_launcher_) {
    // If /proc shows none, killing the child at least ends all processes that die with their
    // parent.
    if (!KillHolders() && insisted_ > kPatience) child_.Signal(SIGKILL);
  } else if (!launcher_.valid()) {
    child_.Signal(SIGKILL);  // no pidfd available: bwrap's death kills the launcher (PDEATHSIG)
  } else if (IsPatient()) {
    SignalPidfd(launcher_.get(), SIGCONT);  // the command may have stopped it
  } else {
    SignalPidfd(launcher_.get(), SIGKILL);
  }
  if (!child_status_) OnChildExit();
  Settle();
}

// Killing a pid namespace's first process kills all others in it; but while those are dying, it
// only waits to report their usage.
bool SpawnedSandbox::IsPatient() {
  const EndWatch::Seen seen = end_watch_.Look(launcher_.get());
  if (own_init_) return seen == EndWatch::Seen::kDying;
  if (seen == EndWatch::Seen::kSilent) ++silent_turns_;
  return silent_turns_ <= kMostSilentTurns;
}

void SpawnedSandbox::Settle() {
  if (!child_status_) return;
  Receive();
  if (!channel_closed_) {
    if (!channel_poll_.active()) WatchChannel();
    return;
  }
  if (AllAreGone()) {
    insist_.Stop();
    rest_poll_.Stop();
    cgroup_.reset();
    holds_.reset();
    return std::exchange(user_, nullptr)->OnGone();
  }
  WatchRest([this] { Settle(); });
}

}  // namespace native_runner
