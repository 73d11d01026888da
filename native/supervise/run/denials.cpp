#include "supervise/run/denials.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "supervise/os/file.h"
#include "supervise/os/file_threads.h"

namespace native_runner {
namespace {

// Above the amount that a launcher sends.
constexpr std::size_t kMostBytes = std::size_t{2} << 20U;

}  // namespace

void CollectedObservations::Take(std::span<const std::byte> records, std::uint64_t omitted) {
  omitted_ = std::max(omitted_, omitted);
  const bool fits = bytes_ + records.size() <= kMostBytes;
  for (Observation& each : ReadObservations(records)) {
    if (fits) {
      all_.push_back(std::move(each));
    } else {
      dropped_ += each.count;
    }
  }
  if (fits) bytes_ += records.size();
}

namespace {

// Examines host paths as the user of this process. Opens nothing, so that no FIFO, device or
// automounter is triggered. Looks at each path once, and at a bounded number of paths. Any thread,
// one at a time.
class HostLook {
 public:
  HostLookup At(const std::string& path);

 private:
  static constexpr std::size_t kMostLooks = 16'384;

  std::unordered_map<std::string, HostLookup> known_;
};

bool Stat(const std::string& path, int flags, struct statx* status) {
  constexpr int kQuiet = AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
  return statx(AT_FDCWD, path.c_str(), flags | kQuiet, STATX_TYPE, status) == 0;
}

bool May(const std::string& path, int mode) {
  return faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0;
}

HostLookup LookAt(const std::string& path) {
  NotePath(path);
  HostLookup at;
  struct statx status {};
  if (!Stat(path, AT_SYMLINK_NOFOLLOW, &status)) return at;
  std::array<char, PATH_MAX> text{};
  if ((status.stx_mode & S_IFMT) == S_IFLNK) {
    const ssize_t size = readlink(path.c_str(), text.data(), text.size());
    if (size > 0) at.link.assign(text.data(), static_cast<std::size_t>(size));
    if (!Stat(path, 0, &status)) return at;
  }
  const unsigned type = status.stx_mode & S_IFMT;
  at.type = type == S_IFREG   ? HostLookup::Type::kFile
            : type == S_IFDIR ? HostLookup::Type::kDirectory
                              : HostLookup::Type::kOther;
  if (realpath(path.c_str(), text.data()) != nullptr) at.real = text.data();
  at.readable = May(path, R_OK);
  at.writable = May(path, W_OK);
  at.executable = May(path, X_OK);
  return at;
}

HostLookup HostLook::At(const std::string& path) {
  if (const auto known = known_.find(path); known != known_.end()) return known->second;
  if (known_.size() >= kMostLooks) return {};
  return known_.emplace(path, LookAt(path)).first->second;
}

struct Work {
  DeniedRun run;
  ConnectionLog connections;  // a copy: the work may outlive the run
  DenialLog log;
};

}  // namespace

void ReportDenialsLater(FileThreads* threads, DeniedRun run, std::function<void(DenialLog)> done) {
  constexpr std::uint64_t kPatienceMs = 2'000;
  const auto work = std::make_shared<Work>();
  work->run = std::move(run);
  if (work->run.connections != nullptr) {
    work->connections = *work->run.connections;
    work->run.connections = &work->connections;
  }
  const auto look = [work] {
    HostLook host;
    work->log =
        ReportDenials(work->run, [&host](const std::string& path) { return host.At(path); });
  };
  const auto report = [work, done = std::move(done)](const std::optional<Error>& unanswered) {
    if (!unanswered) return done(std::move(work->log));
    done(ReportDenials(work->run, [](const std::string&) { return HostLookup(); }));
  };
  if (threads != nullptr) return threads->Do(work.get(), look, report, kPatienceMs);
  look();
  report(std::nullopt);
}

}  // namespace native_runner
