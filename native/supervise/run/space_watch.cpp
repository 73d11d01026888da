#include "supervise/run/space_watch.h"

#include <utility>

#include "supervise/os/file_threads.h"
#include "supervise/os/process.h"
#include "supervise/run/written_space.h"

namespace native_runner {

SpaceWatch::SpaceWatch(SupervisorContext& shared, WrittenPlaces places, const Limits& limits)
    : shared_(shared), space_(std::make_shared<WrittenSpace>(std::move(places), limits)) {}

SpaceWatch::~SpaceWatch() = default;

// A walk takes long, so that it is never the supervisor's own.
void SpaceWatch::Do(std::function<void()> look,
                    std::function<void(const std::optional<Error>&)> done) {
  if (shared_.files == nullptr) {
    look();
    return done(std::nullopt);
  }
  // The work keeps its key alive.
  const auto work = [space = space_, look = std::move(look)] { look(); };
  shared_.files->Do(space_.get(), work, std::move(done));
}

void SpaceWatch::Begin(std::function<void(const std::optional<Error>&)> done) {
  const auto failed = std::make_shared<std::optional<Error>>();
  Do([space = space_, failed] { *failed = space->Begin(); },
     [failed, done = std::move(done)](const std::optional<Error>& unanswered) {
       done(unanswered ? unanswered : *failed);
     });
}

std::optional<Error> SpaceWatch::Enter(const Sandbox& sandbox, bool is_ready) {
  const auto number = [](int pidfd) { return pidfd < 0 ? 0 : NumberOfPidfd(pidfd); };
  if (is_ready) space_->SetLauncher(number(sandbox.launcher_pidfd()));
  if (has_entered_) return std::nullopt;
  // One that has ended already is looked at when it is gone.
  const pid_t with_mounts = number(sandbox.mounts_pidfd());
  if (with_mounts == 0) return std::nullopt;
  has_entered_ = true;
  return space_->Enter(with_mounts, is_ready);
}

void SpaceWatch::Start(std::function<void(const char*)> over) {
  over_ = std::move(over);
  timer_.Start(shared_.loop, kEveryMs, kEveryMs, [this] { LookNow(); });
}

void SpaceWatch::LookNow() {
  if (is_looking_) return;
  is_looking_ = true;
  const auto found = std::make_shared<const char*>(nullptr);
  Do([space = space_, found] { *found = space->Look(); },
     [this, alive = std::weak_ptr(alive_), found](const std::optional<Error>& /*unanswered*/) {
       if (alive.expired()) return;
       is_looking_ = false;
       if (*found == nullptr || !timer_.active()) return;
       timer_.Stop();
       const auto over = std::move(over_);
       over(*found);
     });
}

void SpaceWatch::Finish(std::function<void(const char*)> done) {
  Stop();
  const auto found = std::make_shared<const char*>(nullptr);
  Do([space = space_, found] { *found = space->LookAtEnd(); },
     [found, done = std::move(done)](const std::optional<Error>& /*unanswered*/) { done(*found); });
}

}  // namespace native_runner
