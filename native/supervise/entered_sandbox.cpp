#include "supervise/entered_sandbox.h"

#include <fcntl.h>

#include <array>
#include <csignal>
#include <utility>

#include "supervise/session.h"

namespace native_runner {
namespace {

constexpr std::uint64_t kInsistAfterMs = 200;
constexpr std::uint64_t kInsistEveryMs = 50;
constexpr int kPatience = 10;  // turns in which a launcher may end its tree by itself

}  // namespace

EnteredSandbox::EnteredSandbox(std::shared_ptr<Session> session, Control control, Ends given,
                               State state, int null_device)
    : Sandbox(std::move(control)),
      session_(std::move(session)),
      given_(std::move(given)),
      state_(std::move(state)),
      null_device_(null_device) {}

EnteredSandbox::~EnteredSandbox() {
  session_->Left(this);
}

bool EnteredSandbox::Watch(uv_loop_t* loop, User* user, bool /*until_ready*/) {
  loop_ = loop;
  user_ = user;
  return control_poll_.Start(loop, control_.descriptor(), UV_READABLE, [this] {
    Receive();
    Settle();
  }) == 0;
}

Control::Sent EnteredSandbox::SendInput(int descriptor) {
  input_ = Descriptor(fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  return input_.valid() ? Control::Sent::kSent : Control::Sent::kFailed;
}

Control::Sent EnteredSandbox::SendOrder(std::span<const std::byte> order) {
  Control::Sent sent = control_.SendOrder(order);
  if (sent != Control::Sent::kSent) return sent;
  const std::array descriptors = {given_.control.get(),
                                  input_.valid() ? input_.get() : null_device_, given_.out.get(),
                                  given_.err.get(), state_.file.get()};
  const std::span<const int> all(descriptors);
  sent = session_->Hand(state_.file.valid() ? all : all.first(kStateAt));
  is_handed_ = sent == Control::Sent::kSent;
  given_ = {};
  input_.Close();
  return sent;
}

// Where the command's launcher has not said that none is left, the session was ended.
bool EnteredSandbox::end_is_proof() const {
  return session_->end_is_proof();
}

void EnteredSandbox::NoteReport(const Report& report) {
  has_launcher_ = true;
  if (report.kind == ReportKind::kReady) may_run_ = true;
  if (!IsLast(report.kind)) return;
  has_ended_ = true;
  is_proved_ = report.kind != ReportKind::kExited || report.error == 0;
}

bool EnteredSandbox::IsAlive() {
  Receive();
  return !control_closed_ && !has_ended_ && !is_ending_;
}

void EnteredSandbox::End() {
  Receive();
  if (!is_ending_ && !has_ended_ && is_handed_) {
    control_.SendKill();
    insist_.Start(loop_, kInsistAfterMs, kInsistEveryMs, [this] { Insist(); });
  }
  is_ending_ = true;
  Settle();
}

// For when its launcher does not answer: the command may have stopped it, or killed it.
void EnteredSandbox::Insist() {
  Receive();
  if (++insisted_ > kPatience) return session_->Distrust();  // possibly our last moment
  if (launcher_.valid()) SignalPidfd(launcher_.get(), SIGCONT);
  Settle();
}

// Its last word is the proof: what it still does is to exit.
void EnteredSandbox::Settle() {
  if (is_proved_ || !is_handed_) {
    if (is_proved_ || is_ending_) BeGone();
  } else if (control_closed_) {
    if (!may_run_) return BeGone();
    session_->Distrust();
  }
}

void EnteredSandbox::OnSessionGone() {
  Receive();
  BeGone();
}

void EnteredSandbox::BeGone() {
  if (user_ == nullptr) return;
  insist_.Stop();
  control_poll_.Stop();
  if (is_proved_ && state_.file.valid()) session_->Adopt(state_.file.get(), state_.given);
  std::exchange(user_, nullptr)->OnGone();
}

}  // namespace native_runner
