#include "supervise/denials/tell_later.h"

#include <memory>
#include <utility>

#include "supervise/denials/host_look.h"

namespace native_runner {
namespace {

struct Work {
  uv_work_t request{};
  DeniedRun run;
  std::function<void(DenialLog)> done;
  DenialLog log;
};

void Look(uv_work_t* request) {
  auto* work = static_cast<Work*>(request->data);
  HostLook host;
  work->log = TellDenials(work->run, [&host](const std::string& path) { return host.At(path); });
}

void Finish(uv_work_t* request, int /*status*/) {
  const std::unique_ptr<Work> work(static_cast<Work*>(request->data));
  work->done(std::move(work->log));
}

}  // namespace

void TellDenialsLater(uv_loop_t* loop, DeniedRun run, std::function<void(DenialLog)> done) {
  auto work = std::make_unique<Work>();
  work->request.data = work.get();
  work->run = std::move(run);
  work->done = std::move(done);
  if (uv_queue_work(loop, &work->request, Look, Finish) == 0) {
    static_cast<void>(work.release());  // Finish has it
    return;
  }
  work->done(TellDenials(work->run, [](const std::string&) { return HostLookup(); }));
}

}  // namespace native_runner
