#include "supervise/pool/template_keeper.h"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "supervise/preparation/backend.h"

namespace native_runner {
namespace {

// Limit for all runners of one supervisor. A template is two processes; runners with further
// policies in use within the same minute get cold runs.
constexpr std::size_t kMostTemplates = 16;
// Number of clones that justify the cost of a template.
constexpr std::uint64_t kWorthIt = 8;
constexpr std::uint64_t kLongestWait = 1024;
// The launcher's argv in place of a command's.
constexpr const char* kTemplateName = "template";
constexpr const char* kClosed = "the runner was closed";

}  // namespace

TemplateKeeper::TemplateKeeper(SupervisorContext& shared, TemplateTraffic& traffic,
                               std::shared_ptr<const Backend> runtime,
                               std::function<void()> on_gone)
    : shared_(shared),
      traffic_(traffic),
      runtime_(std::move(runtime)),
      on_gone_(std::move(on_gone)) {}

TemplateKeeper::~TemplateKeeper() {
  *is_there_ = false;
}

std::shared_ptr<SandboxTemplate> TemplateKeeper::Find(const Fingerprint& wanted, std::string* why) {
  if (is_closed_) {
    *why = kClosed;
    return nullptr;
  }
  ++asked_;
  if (template_ && template_->fingerprint().host != wanted.host)
    Retire("the host is not as it was when the last one was made");
  if (template_ && template_->is_ready()) return template_;
  if (template_ && template_->is_retired()) Retire(template_->reason());
  *why = template_ || is_making_ ? "its template is being made"
         : IsFull()              ? "as many templates as may be stand for other runners"
         : reason_.empty()       ? "no template was made yet"
                                 : "there is no template: " + reason_;
  if (!template_ && MayMake()) Make();
  return nullptr;
}

void TemplateKeeper::Warm(std::function<void()> done) {
  waiting_.push_back(std::move(done));
  if (!template_ && !is_making_ && !is_closed_ && !IsFull()) Make();
  ReportIfSettled();
}

void TemplateKeeper::ReportIfSettled() {
  if (is_making_ || (template_ && !template_->is_ready())) return;
  for (const auto& done : std::exchange(waiting_, {}))
    done();
}

bool TemplateKeeper::MayMake() const {
  return !is_making_ && asked_ >= next_at_ && !IsFull();
}

bool TemplateKeeper::IsFull() const {
  return traffic_.templates >= kMostTemplates;
}

void TemplateKeeper::WaitLonger(const std::string& reason) {
  reason_ = reason;
  next_at_ = asked_ + wait_;
  wait_ = std::min(wait_ * 2, kLongestWait);
}

void TemplateKeeper::Retire(const std::string& reason) {
  if (!template_) return;
  const auto retired = std::exchange(template_, nullptr);
  if (retired->served() >= kWorthIt) wait_ = 1;
  WaitLonger(reason);
  retired->Retire(reason);
  ReportIfSettled();
}

void TemplateKeeper::Close() {
  is_closed_ = true;
  Retire(kClosed);
}

void TemplateKeeper::Make() {
  is_making_ = true;
  const auto request = std::make_shared<ExecRequest>();  // only the sandbox's shape matters
  request->argv = {kTemplateName};
  request->kind = TemplateSandbox{};
  runtime_->Prepare(*request, shared_,
                    [this, there = is_there_, request](Result<Preparation> prepared) {
                      if (!*there) return;
                      is_making_ = false;
                      if (!is_closed_) Spawn(std::move(prepared));
                      ReportIfSettled();
                    });
}

void TemplateKeeper::Spawn(Result<Preparation> prepared) {
  if (!prepared) return WaitLonger(prepared.error().message);
  auto* const plan = std::get_if<SpawnPlan>(&prepared->plan);
  if (plan == nullptr) return WaitLonger("a session has none");
  Fingerprint fingerprint = plan->fingerprint;
  Descriptor no_input;
  auto made = SpawnSource(shared_, *runtime_, {}, std::move(*plan)).Acquire(&no_input, nullptr);
  if (!made) return WaitLonger(made.error().message);
  const std::array<std::string, 1> argv = {kTemplateName};
  const auto order = EncodeOrder(prepared->order, prepared->cwd, argv, {}, prepared->rules);
  // The listener needs the address of the template, which does not exist yet.
  auto place = std::make_shared<const SandboxTemplate*>(nullptr);
  SandboxTemplate::Listener listener;
  listener.on_ready = [this, there = is_there_] {
    if (*there) ReportIfSettled();
  };
  listener.on_gone = [this, there = is_there_, place, &traffic = traffic_] {
    --traffic.templates;
    if (*there) OnGone(*place);
  };
  template_ = std::make_shared<SandboxTemplate>(std::move(*made), std::move(fingerprint),
                                                std::move(listener));
  *place = template_.get();
  ++living_;
  ++traffic_.templates;
  if (!template_->Start(shared_.loop, shared_.null_device.get(), order))
    Retire("it can't be watched");
}

void TemplateKeeper::OnGone(const SandboxTemplate* gone) {
  --living_;
  if (template_.get() == gone) Retire(gone->reason());
  const auto on_gone = on_gone_;
  on_gone();
}

}  // namespace native_runner
