#include "supervise/pool/sandbox_pool.h"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "supervise/preparation/backend.h"

namespace native_runner {

Result<std::unique_ptr<PrewarmedSandbox>> PrewarmedSandbox::Make(const Backend& runtime,
                                                                 SupervisorContext& shared,
                                                                 SpawnPlan plan,
                                                                 Listener listener) {
  Fingerprint fingerprint = plan.fingerprint;  // a copy: Acquire needs the plan's own
  Descriptor no_input;
  auto sandbox = SpawnSource(shared, runtime, {}, std::move(plan)).Acquire(&no_input, nullptr);
  if (!sandbox) return sandbox.error();
  std::unique_ptr<PrewarmedSandbox> made(
      new PrewarmedSandbox(std::move(*sandbox), std::move(fingerprint), std::move(listener)));
  made->is_ending_ = !made->sandbox_->Watch(shared.loop, made.get(), true);
  return made;
}

void PrewarmedSandbox::End() {
  is_ending_ = true;
  sandbox_->End();
}

Result<std::unique_ptr<Sandbox>> PrewarmedSandbox::Acquire(Descriptor* /*input*/,
                                                           OrderHeader* /*order*/) {
  return std::move(sandbox_);
}

void PrewarmedSandbox::OnReport(const Report& report) {
  if (is_ending_) return;
  is_ready_ = report.kind == ReportKind::kAwaitingOrder;
  is_ending_ = !is_ready_;
  if (is_ready_) listener_.on_ready();
}

void PrewarmedSandbox::OnGone() {
  is_ending_ = true;
  const auto on_gone = std::move(listener_.on_gone);
  on_gone();
}

namespace {

constexpr std::size_t kFewRuns = 3;
constexpr std::size_t kMostAdaptive = 4;
// Limits for all pools of one supervisor. Adaptive pools, which no caller requested, must leave
// room for the others.
constexpr std::size_t kMostPrewarmed = 64;
constexpr std::size_t kMostPrewarmedAdaptive = 16;

constexpr std::uint64_t kRefillAfterMs = 2;  // a short command has ended by then
constexpr std::uint64_t kPatienceMs = 100;   // delay while the processors are busy
constexpr std::uint64_t kNanosecondsPerMs = 1'000'000;

bool IsReady(const PrewarmedSandbox& sandbox) {
  return sandbox.is_ready() && !sandbox.is_ending();
}
bool IsGood(const PrewarmedSandbox& sandbox) {
  return !sandbox.is_ending();
}

Error CannotBePrewarmed() {
  return Error{
      ErrorCode::kSetup,
      "no sandbox can be made ahead of its command here: that takes a bwrap with --bind-fd "
      "and a readable /proc",
      "set prewarm to 0, or use a bwrap whose --help lists --bind-fd"};
}

}  // namespace

SandboxPool::SandboxPool(SupervisorContext& shared, PoolTraffic& traffic,
                         std::shared_ptr<const Backend> runtime, const PoolReference& reference)
    : shared_(shared),
      traffic_(traffic),
      runtime_(std::move(runtime)),
      number_(reference.number),
      rule_(reference.rule),
      counters_(reference.counters),
      keeper_(shared, traffic.templates, runtime_, [this] {
        const auto self = shared_from_this();
        CloseIfEmpty();
      }) {}

std::size_t SandboxPool::Target() const {
  if (rule_.size) return *rule_.size;
  return runs_ < kFewRuns ? 0 : std::clamp<std::size_t>(most_in_flight_, 1, kMostAdaptive);
}

std::size_t SandboxPool::Count(bool (*counts)(const PrewarmedSandbox&)) const {
  return static_cast<std::size_t>(std::count_if(
      sandboxes_.begin(), sandboxes_.end(), [counts](const auto& each) { return counts(*each); }));
}

std::vector<PrewarmedSandbox*> SandboxPool::Good() const {
  std::vector<PrewarmedSandbox*> good;
  for (const auto& each : sandboxes_) {
    if (IsGood(*each)) good.push_back(each.get());
  }
  return good;
}

bool SandboxPool::RunStarts() {
  ++runs_;
  most_in_flight_ = std::max(most_in_flight_, ++in_flight_);
  if (Target() == 0) return false;
  if (Count(IsGood) > 0) return true;
  ++counters_->missed;  // the run need not call Take
  RefillSoon();
  return false;
}

void SandboxPool::RunEnds() {
  if (in_flight_ > 0) --in_flight_;
  if (traffic_.in_flight < traffic_.processors) RefillSoon();
}

std::unique_ptr<SandboxSource> SandboxPool::Take(const Fingerprint& wanted) {
  if (is_closing_) return nullptr;
  used_ns_ = uv_hrtime();
  std::unique_ptr<SandboxSource> taken;
  std::vector<PrewarmedSandbox*> useless;
  for (PrewarmedSandbox* each : Good()) {  // a copy: IsAlive may change the list
    if (!each->fingerprint().IsLike(wanted) || !each->IsAlive()) {
      useless.push_back(each);
    } else if (each->fingerprint().tmp_bytes == wanted.tmp_bytes) {
      taken = Forget(each);
      break;
    }
  }
  ++(taken ? counters_->taken : counters_->missed);
  tmp_bytes_ = wanted.tmp_bytes;
  Discard(useless);
  if (!taken) MakeRoomFor(wanted);
  RefillSoon();
  return taken;
}

std::shared_ptr<SandboxTemplate> SandboxPool::FindTemplate(const Fingerprint& wanted,
                                                           std::string* why) {
  if (!rule_.clones) return nullptr;
  if (is_closing_) return keeper_.Find(wanted, why);  // the keeper returns the reason
  used_ns_ = uv_hrtime();
  WatchIdleness();
  return keeper_.Find(wanted, why);
}

// Ends one sandbox made for other limits than those of the last run.
void SandboxPool::MakeRoomFor(const Fingerprint& wanted) {
  if (Count(IsGood) < Target()) return;
  for (PrewarmedSandbox* each : Good()) {
    if (each->fingerprint().tmp_bytes != wanted.tmp_bytes) return Discard({each});
  }
}

void SandboxPool::Discard(const std::vector<PrewarmedSandbox*>& sandboxes) {
  for (PrewarmedSandbox* each : sandboxes) {
    if (!each->is_ready()) in_setup_ = nullptr;  // only the newest is not ready yet
    ++counters_->discarded;
    each->End();  // may destroy it
  }
  PublishCounts();
}

void SandboxPool::PublishCounts() {
  counters_->prewarmed = static_cast<std::uint32_t>(Count(IsReady));
}

void SandboxPool::Fill(Filled filled) {
  if (is_closing_) return filled(Error{ErrorCode::kClosed, "the runner was closed", ""});
  runs_ = std::max(runs_, kFewRuns);
  used_ns_ = uv_hrtime();
  filled_.push_back(std::move(filled));
  if (!rule_.clones || Target() > 0) Refill();
  if (!rule_.clones || is_closing_) return;
  WatchIdleness();
  keeper_.Warm([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self && !self->is_closing_ && self->Target() == 0) self->Refill();  // answers the Fill
  });
}

bool SandboxPool::IsWanting() const {
  return !is_closing_ && !is_preparing_ && in_setup_ == nullptr && Count(IsGood) < Target();
}

void SandboxPool::RefillSoon() {
  if (!IsWanting()) return;
  const bool is_busy = traffic_.in_flight >= traffic_.processors;
  const std::uint64_t delay_ms = is_busy ? kPatienceMs : kRefillAfterMs;
  const std::uint64_t due_ns = uv_hrtime() + delay_ms * kNanosecondsPerMs;
  if (refill_.active() && refill_due_ns_ <= due_ns) return;
  refill_due_ns_ = due_ns;
  refill_.Start(shared_.loop, delay_ms, 0, [this] { Refill(); });
}

void SandboxPool::Refill() {
  refill_.Stop();
  if (is_preparing_ || in_setup_ != nullptr) return;
  const std::size_t most = rule_.size ? kMostPrewarmed : kMostPrewarmedAdaptive;
  if (!IsWanting() || traffic_.sandboxes >= most) return Answer(Count(IsReady));
  is_preparing_ = true;
  const auto request = std::make_shared<ExecRequest>();  // only the sandbox's shape matters
  request->argv = {"/"};
  request->allow_prewarmed = true;
  request->clones_of = rule_.clones ? number_ : 0;
  if (tmp_bytes_ > 0) request->limits.memory_bytes = tmp_bytes_;
  runtime_->Prepare(*request, shared_,
                    [weak = weak_from_this(), request](Result<Preparation> prepared) {
                      const auto self = weak.lock();
                      if (self && !self->is_closing_) self->Make(std::move(prepared));
                    });
}

void SandboxPool::Make(Result<Preparation> prepared) {
  is_preparing_ = false;
  if (!prepared) return Answer(prepared.error());
  auto* plan = std::get_if<SpawnPlan>(&prepared->plan);
  if (plan == nullptr || !plan->allow_prewarmed) return Answer(CannotBePrewarmed());
  // The listener needs the address of the sandbox, which does not exist yet.
  auto place = std::make_shared<PrewarmedSandbox*>(nullptr);
  auto made = PrewarmedSandbox::Make(
      *runtime_, shared_, std::move(*plan),
      {[this, place] { OnReady(*place); }, [this, place] { OnGone(*place); }});
  if (!made) return Answer(made.error());
  PrewarmedSandbox* const fresh = made->get();
  *place = fresh;
  ++traffic_.sandboxes;
  used_ns_ = uv_hrtime();
  sandboxes_.push_back(std::move(*made));
  WatchIdleness();
  if (fresh->is_ending()) return Discard({fresh});  // can't be watched
  in_setup_ = fresh;
}

void SandboxPool::OnReady(const PrewarmedSandbox* ready) {
  if (in_setup_ == ready) in_setup_ = nullptr;
  PublishCounts();
  if (filled_.empty()) {
    RefillSoon();
  } else {
    Refill();
  }
}

// Called when a sandbox ended by itself or was ended by the pool.
void SandboxPool::OnGone(const PrewarmedSandbox* gone) {
  const auto self = shared_from_this();
  const bool has_failed = in_setup_ == gone;
  Forget(gone).reset();
  if (has_failed) Answer(Count(IsReady));
  CloseIfEmpty();
}

std::unique_ptr<PrewarmedSandbox> SandboxPool::Forget(const PrewarmedSandbox* sandbox) {
  if (in_setup_ == sandbox) in_setup_ = nullptr;
  --traffic_.sandboxes;
  const auto found = std::find_if(sandboxes_.begin(), sandboxes_.end(),
                                  [sandbox](const auto& each) { return each.get() == sandbox; });
  std::unique_ptr<PrewarmedSandbox> forgotten = std::move(*found);
  sandboxes_.erase(found);
  PublishCounts();
  return forgotten;
}

void SandboxPool::Answer(const Result<std::size_t>& answer) {
  if (!filled_.empty()) used_ns_ = uv_hrtime();
  for (const Filled& filled : std::exchange(filled_, {}))
    filled(answer);
}

void SandboxPool::WatchIdleness() {
  if (idle_.active()) return;
  idle_.Start(shared_.loop, rule_.idle_ms, 0, [this] { OnIdle(); });
}

void SandboxPool::OnIdle() {
  idle_.Stop();
  const std::uint64_t idle_ms = (uv_hrtime() - used_ns_) / kNanosecondsPerMs;
  if (idle_ms < rule_.idle_ms || !filled_.empty()) {
    const std::uint64_t rest_ms = rule_.idle_ms - std::min(idle_ms, rule_.idle_ms - 1);
    return idle_.Start(shared_.loop, rest_ms, 0, [this] { OnIdle(); });
  }
  refill_.Stop();
  runs_ = 0;
  most_in_flight_ = in_flight_;
  keeper_.Retire("it was idle");
  Discard(Good());
}

void SandboxPool::Close(std::function<void()> closed) {
  const auto self = shared_from_this();
  closed_.push_back(std::move(closed));
  if (is_closing_) return;
  is_closing_ = true;
  refill_.Stop();
  idle_.Stop();
  Answer(Error{ErrorCode::kClosed, "the runner was closed", ""});
  keeper_.Close();
  Discard(Good());
  CloseIfEmpty();
}

void SandboxPool::CloseIfEmpty() {
  if (!is_closing_ || !sandboxes_.empty() || !keeper_.empty()) return;
  for (const auto& closed : std::exchange(closed_, {}))
    closed();
}

SandboxPools::SandboxPools(SupervisorContext& shared, std::function<void()> emptied)
    : shared_(shared), emptied_(std::move(emptied)) {
  traffic_.processors = uv_available_parallelism();
}

SandboxPool& SandboxPools::Get(const PoolReference& reference,
                               const std::shared_ptr<const Backend>& runtime) {
  auto& pool = pools_[reference.number];
  if (!pool) {
    pool = std::make_shared<SandboxPool>(shared_, traffic_, runtime, reference);
  }
  return *pool;
}

SandboxPools::Offer SandboxPools::RunStarts(const PoolReference& reference,
                                            const std::shared_ptr<const Backend>& runtime,
                                            bool is_live) {
  ++traffic_.in_flight;
  if (reference.number == 0 || reference.counters->closed) return {};
  SandboxPool& pool = Get(reference, runtime);
  return {!is_live && pool.RunStarts(), pool.makes_clones()};
}

std::shared_ptr<SandboxTemplate> SandboxPools::Find(std::uint64_t number, const Fingerprint& wanted,
                                                    std::string* why) {
  const auto found = pools_.find(number);
  if (found != pools_.end()) return found->second->FindTemplate(wanted, why);
  *why = "its runner has no templates";
  return nullptr;
}

void SandboxPools::RunEnds(std::uint64_t number) {
  --traffic_.in_flight;
  if (const auto found = pools_.find(number); found != pools_.end()) found->second->RunEnds();
}

std::unique_ptr<SandboxSource> SandboxPools::Take(std::uint64_t number, const Fingerprint& wanted) {
  const auto found = pools_.find(number);
  return found == pools_.end() ? nullptr : found->second->Take(wanted);
}

void SandboxPools::Fill(const PoolReference& reference,
                        const std::shared_ptr<const Backend>& runtime, SandboxPool::Filled filled) {
  if (reference.counters->closed)
    return filled(Error{ErrorCode::kClosed, "the runner was closed", ""});
  Get(reference, runtime).Fill(std::move(filled));
}

void SandboxPools::Close(std::uint64_t number, std::function<void()> closed) {
  const auto found = pools_.find(number);
  if (found == pools_.end()) return closed();
  const std::shared_ptr<SandboxPool> pool = found->second;
  pool->Close([this, number, closed = std::move(closed)] {
    pools_.erase(number);
    closed();
  });
}

void SandboxPools::CloseAll() {
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, pool] : pools_)
    numbers.push_back(number);
  for (const std::uint64_t number : numbers)
    Close(number, emptied_);
}

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
