#include "supervise/host/program.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "policy/text/path.h"
#include "policy/text/text.h"
#include "supervise/host/host.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/file.h"
#include "supervise/os/file_threads.h"

namespace native_runner {
namespace {

constexpr std::uint64_t kProbeDeadlineMs = 5'000;
constexpr int kMostProbes = 3;  // limit when signals end the probes
constexpr std::uint64_t kHelpBytes = std::uint64_t{64} << 10U;
constexpr const char* kInstall =
    "install Bubblewrap (apt-get install bubblewrap, dnf install bubblewrap, pacman -S bubblewrap, "
    "apk add bubblewrap) or name its absolute path in bwrapPath";

// Returns 0, or why it can't be executed: an errno.
int ExecutableError(const std::string& path) {
  NotePath(path);
  struct statx status {};
  if (statx(AT_FDCWD, path.c_str(), 0, STATX_TYPE, &status) != 0) return errno;
  if ((status.stx_mode & S_IFMT) != S_IFREG) return EACCES;
  return faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

// The same; kSetup if the path does not answer.
Result<int> LookForExecutable(const std::string& path, BriefLooks* looks) {
  constexpr std::uint64_t kPatienceMs = 500;
  if (looks == nullptr) return ExecutableError(path);
  const auto error = std::make_shared<int>(0);
  NotePath(path);
  const auto look = [path, error] { *error = ExecutableError(path); };
  if (auto unanswered = looks->Do(path, look, kPatienceMs)) return *unanswered;
  return *error;
}

bool IsElf(const std::string& path) {
  const auto file = OpenPath(path.c_str(), O_RDONLY);
  char magic[4] = {};
  return file && read(file.value().get(), magic, sizeof magic) == sizeof magic &&
         std::string_view(magic, sizeof magic) ==
             "\x7f"
             "ELF";
}

std::string HowItEnded(const ExitStatus& status) {
  const std::string value = std::to_string(status.value);
  return status.signaled ? "was ended by signal " + value : "ended with status " + value;
}

// Returns the first non-blank line, quoted; empty if there is none.
std::string Saying(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t start = text.find_first_not_of(kBlank);
  if (start == std::string_view::npos) return "";
  const std::string_view line = text.substr(start, text.find('\n', start) - start);
  return ", saying " + QuotedShort(line.substr(0, line.find_last_not_of(kBlank) + 1));
}

}  // namespace

Error LacksOption(const std::string& path, const char* option) {
  return Error{ErrorCode::kUnavailable, path + " lacks " + option,
               std::string("install a bwrap whose --help lists ") + option};
}

std::string Program::exec_path() const {
  return image.valid() ? "/proc/self/fd/" + std::to_string(image.get()) : path;
}

Result<std::string> FindProgram(const std::string& name, const std::string& search_path,
                                BriefLooks* looks) {
  if (name.find('/') != std::string::npos) {
    TRY_ASSIGN(const int error, LookForExecutable(name, looks));
    if (error == 0) return name;
    return Error{ErrorCode::kUnavailable,
                 "program not found: " + name + ": " + std::strerror(error), kInstall};
  }
  std::optional<Error> unanswered;
  for (std::string_view rest = search_path; !rest.empty();) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string directory(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!directory.starts_with('/')) continue;  // "" and "." would be the host's working directory
    std::string path = directory + "/" + name;
    auto error = LookForExecutable(path, looks);
    if (error && *error == 0) return path;
    if (!error && !unanswered) unanswered = error.error();
  }
  if (unanswered) return *unanswered;
  return Error{ErrorCode::kUnavailable,
               name + " not found on the host's PATH (" + search_path + ")", kInstall};
}

void Programs::Get(const std::string& name, Callback callback) {
  if (const auto found = known_.find(name); found != known_.end()) {
    callback(found->second);
    return;
  }
  if (const auto probe = probes_.find(name); probe != probes_.end()) {
    probe->second->waiting.push_back(std::move(callback));
    return;
  }
  const auto search = searches_.try_emplace(name).first;
  search->second.push_back(std::move(callback));
  if (search->second.size() > 1) return;
  if (files_ == nullptr) return OnFound(name, Find(name, search_path_, nullptr));
  const auto found = std::make_shared<std::optional<Result<Found>>>();
  files_->Do(
      &search->second,
      [name, path = search_path_, looks = looks_, found] {
        found->emplace(Find(name, path, looks.get()));
      },
      [this, name, found](const std::optional<Error>& unanswered) {
        OnFound(name, unanswered ? Result<Found>(*unanswered) : std::move(**found));
      });
}

// Commands run with our uid: as root they could overwrite the file through /proc/1/exe. A script is
// not copied, since its interpreter reads it by name.
Result<Programs::Found> Programs::Find(const std::string& name, const std::string& search_path,
                                       BriefLooks* looks) {
  Found found;
  TRY_ASSIGN(found.path, FindProgram(name, search_path, looks));
  if (geteuid() == 0 && IsElf(found.path)) {
    TRY_ASSIGN(found.image, SealedCopy(found.path));
  }
  return found;
}

void Programs::OnFound(const std::string& name, Result<Found> found) {
  const auto search = searches_.find(name);
  auto waiting = std::exchange(search->second, {});
  // One that was left behind has its address as its key.
  if (files_ == nullptr || !files_->Has(&search->second)) searches_.erase(search);
  if (found) return Begin(name, std::move(*found), std::move(waiting), 1);
  for (const Callback& callback : waiting)
    callback(found.error());
}

std::optional<Error> Programs::Late() const {
  for (const auto& [name, waiting] : searches_) {
    if (files_ == nullptr || waiting.empty()) continue;
    if (auto late = files_->Late(&waiting)) return late;
  }
  return std::nullopt;
}

void Programs::Begin(const std::string& name, Found found, std::vector<Callback> waiting,
                     int number) {
  auto probe = StartProbe(std::move(found));
  if (!probe) {
    for (const Callback& callback : waiting)
      callback(probe.error());
    return;
  }
  Probe* started = probe->get();
  started->number = number;
  started->waiting = std::move(waiting);
  probes_[name] = std::move(*probe);
  started->exited.Start(loop_, started->child->pidfd(), UV_READABLE,
                        [this, name] { Answer(name); });
  started->deadline.Start(loop_, kProbeDeadlineMs, 0, [started] {
    started->late = true;
    started->child->Signal(SIGKILL);
  });
}

Result<std::unique_ptr<Programs::Probe>> Programs::StartProbe(Found found) {
  auto probe = std::make_unique<Probe>();
  probe->path = std::move(found.path);
  probe->image = std::move(found.image);
  const std::string& path = probe->path;
  auto output = MakePipe();
  if (!output) return output.error();
  SpawnOptions order;
  order.path = path;
  order.argv = {"bwrap", "--help"};
  // Its standard error goes into the error message if it does not answer.
  order.inherited = {{null_device_, STDIN_FILENO}, {output->write.get(), STDERR_FILENO}};
  order.Give(std::move(output->write), STDOUT_FILENO);
  auto child = Child::Spawn(std::move(order));
  if (!child) {
    Error error{ErrorCode::kUnavailable, path + " can't be started: " + child.error().message, ""};
    error.fix = BubblewrapFix(error.message, ReadSetupFacts(), path);
    if (error.fix.empty()) error.fix = kInstall;
    return error;
  }
  probe->child = std::make_unique<Child>(std::move(*child));
  probe->output = std::make_unique<Capture>(KeepRule{kHelpBytes, 0}, nullptr);
  if (!probe->output->Start(loop_, std::move(output->read), null_device_)) {
    return Error{ErrorCode::kSetup, "cannot watch the output of bwrap --help", ""};
  }
  return probe;
}

void Programs::Close() {
  const auto probes = std::exchange(probes_, {});
  for (const auto& [name, probe] : probes) {
    probe->child->Signal(SIGKILL);
    waitpid(probe->child->pid(), nullptr, 0);  // just killed, so this is brief
    for (const Callback& callback : probe->waiting)
      callback(Error{ErrorCode::kClosed, "the runner was closed", ""});
  }
}

void Programs::Answer(const std::string& name) {
  const auto found = probes_.find(name);
  if (found == probes_.end()) return;
  const auto status = found->second->child->Reap();
  if (!status) return;
  const std::unique_ptr<Probe> probe = std::move(found->second);
  probes_.erase(found);
  probe->exited.Stop();
  probe->deadline.Stop();
  probe->output->Finish();

  if (status->signaled && !probe->late && probe->number < kMostProbes)
    return Begin(name, {std::move(probe->path), std::move(probe->image)}, std::move(probe->waiting),
                 probe->number + 1);
  const Bytes help = probe->output->Take();
  const std::string_view said(reinterpret_cast<const char*>(help.data()), help.size());
  if (probe->late || status->signaled || status->value != 0) {
    const std::string how = probe->late ? "ran over five seconds" : HowItEnded(*status);
    const Error error{ErrorCode::kUnavailable,
                      probe->path + " does not answer --help: it " + how + Saying(said), kInstall};
    for (const Callback& callback : probe->waiting)
      callback(error);
    return;
  }
  auto program = std::make_shared<Program>();
  program->path = probe->path;
  program->image = std::move(probe->image);
  program->features = ParseBwrapHelp(said);
  known_[name] = program;
  for (const Callback& callback : probe->waiting)
    callback(std::shared_ptr<const Program>(program));
}

namespace {

constexpr std::size_t kMostSteps = 20;

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

// The absolute program of a "#!" line; else empty. Opens nothing but regular files, and waits for
// nothing.
std::string InterpreterAt(int directory, const char* path) {
  const Descriptor file(openat(directory, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  std::array<char, 256> bytes{};
  const ssize_t size = file.valid() ? read(file.get(), bytes.data(), bytes.size()) : -1;
  if (size < 2 || bytes[0] != '#' || bytes[1] != '!') return "";
  std::string_view line(bytes.data(), static_cast<std::size_t>(size));
  line = line.substr(2, line.find('\n') - 2);
  const std::size_t start = line.find_first_not_of(" \t");
  if (start == std::string_view::npos || line[start] != '/') return "";
  line.remove_prefix(start);
  return std::string(line.substr(0, line.find_first_of(" \t\r")));
}

bool IsFileAt(int directory, const char* path, int flags) {
  struct statx status {};
  return statx(directory, path, flags, STATX_TYPE, &status) == 0 && S_ISREG(status.stx_mode);
}

void PushFront(std::deque<std::string>* parts, std::string_view path) {
  std::vector<std::string> all;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    if (end > at) all.emplace_back(path.substr(at, end - at));
    at = end + 1;
  }
  parts->insert(parts->begin(), all.begin(), all.end());
}

// True if a look at an absolute path, its links followed as the kernel does, would ask one of these
// mount points. Asks none of them itself.
bool LeadsInto(const std::vector<std::string>& mounts, const std::string& path) {
  constexpr int kMostLinks = 40;
  if (mounts.empty()) return false;
  std::deque<std::string> parts;
  PushFront(&parts, path);
  std::string at = "/";
  for (int links = 0; !parts.empty();) {
    const std::string name = std::move(parts.front());
    parts.pop_front();
    if (name == ".") continue;
    if (name == "..") {
      at = ParentOf(at);
      continue;
    }
    std::string next = (at == "/" ? at : at + "/") + name;
    const bool is_silent = std::any_of(mounts.begin(), mounts.end(), [&next](const auto& mount) {
      return PathCovers(mount, next);
    });
    if (is_silent) return true;
    const auto text = ReadLink(AT_FDCWD, next);
    if (!text || links++ == kMostLinks) {
      at = std::move(next);
      continue;
    }
    PushFront(&parts, *text);
    if (text->starts_with('/')) at = "/";
  }
  return false;
}

// Knows which directories are those of Python environments.
class Environments {
 public:
  bool HasProgram(const std::string& path) {
    const std::string directory = ParentOf(path);
    const auto known = known_.find(directory);
    if (known != known_.end()) return known->second;
    const std::string mark = ParentOf(directory) + "/pyvenv.cfg";
    return known_[directory] = faccessat(AT_FDCWD, mark.c_str(), F_OK, 0) == 0;
  }

 private:
  std::map<std::string, bool> known_;
};

ToolLink FollowLink(const std::string& path, std::string text,
                    const std::vector<std::string>& silent, Environments& environments) {
  ToolLink link{.steps = {path}, .interpreter = ""};
  for (std::optional<std::string> next = std::move(text); next && link.steps.size() <= kMostSteps;
       next = ReadLink(AT_FDCWD, link.steps.back())) {
    link.steps.push_back(LinkTarget(link.steps.back(), *next));
    if (LeadsInto(silent, link.steps.back())) return link;
  }
  const std::string& end = link.steps.back();
  if (environments.HasProgram(end) && IsFileAt(AT_FDCWD, end.c_str(), 0))
    link.interpreter = InterpreterAt(AT_FDCWD, end.c_str());
  return link;
}

}  // namespace

ToolDirectory ReadToolDirectory(const std::string& path, bool reads_scripts,
                                const std::vector<std::string>& silent) {
  ToolDirectory found;
  NotePath(path);
  const std::unique_ptr<DIR, CloseDirectory> directory(opendir(path.c_str()));
  if (directory == nullptr) return found;
  const int at = dirfd(directory.get());
  Environments environments;
  std::set<std::string> interpreters;
  while (const dirent* entry = readdir(directory.get())) {
    const std::string name = entry->d_name;
    const bool is_unknown = entry->d_type == DT_UNKNOWN;
    if (entry->d_type == DT_LNK || is_unknown) {
      if (auto text = ReadLink(at, name)) {
        found.links.push_back(
            FollowLink(JoinPath(path, name), std::move(*text), silent, environments));
        continue;
      }
    }
    if (!reads_scripts || (entry->d_type != DT_REG && !is_unknown)) continue;
    if (is_unknown && !IsFileAt(at, name.c_str(), AT_SYMLINK_NOFOLLOW)) continue;
    if (auto interpreter = InterpreterAt(at, name.c_str()); !interpreter.empty())
      interpreters.insert(std::move(interpreter));
  }
  found.interpreters.assign(interpreters.begin(), interpreters.end());
  return found;
}

}  // namespace native_runner
