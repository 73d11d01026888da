#pragma once

#include <uv.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/bubblewrap/bubblewrap_plan.h"
#include "policy/result.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/file_threads.h"
#include "supervise/os/handle.h"
#include "supervise/os/process.h"
#include "supervise/streams/output.h"

namespace native_runner {

// A bwrap that was found and probed for its options. Immutable.
struct Program {
  std::string path;  // absolute
  Descriptor image;  // a sealed copy, if one of our commands could overwrite the file
  BwrapFeatures features;
  std::string exec_path() const;  // path for posix_spawn(3)
};

// Finds a program on `search_path` (a PATH; relative entries are skipped), or checks an absolute
// one. kUnavailable, naming the searched places and the package that has it. With `looks`, an entry
// of the PATH that does not answer within half a second is passed over; kSetup, naming it, if the
// program is in no other one.
Result<std::string> FindProgram(const std::string& name, const std::string& search_path,
                                BriefLooks* looks = nullptr);

// Returns the error for a bwrap that lacks an option. It names the option, not a version:
// distributions back-port options.
Error LacksOption(const std::string& path, const char* option);

// Caches each bwrap by its requested name; a bwrap is found and probed once, but a missing one is
// searched for again. Supervisor thread only.
class Programs {
 public:
  using Callback = std::function<void(Result<std::shared_ptr<const Program>>)>;

  // `files`: looks for programs; outlives this, and must be closed before it. nullptr: this thread
  // looks.
  Programs(uv_loop_t* loop, int null_device, std::string search_path, FileThreads* files = nullptr)
      : loop_(loop),
        null_device_(null_device),
        search_path_(std::move(search_path)),
        files_(files) {}
  ~Programs() { Close(); }
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;

  // Calls back at once if the answer is cached, else when `bwrap --help` has answered (at most five
  // seconds). A probe that ended by a signal is repeated, twice: another process may have sent it.
  void Get(const std::string& name, Callback callback);

  // Returns the error of a search that has been at one path for some time; else nullopt.
  std::optional<Error> Late() const;

  const std::string& search_path() const { return search_path_; }
  BriefLooks& looks() const { return *looks_; }

  // Ends running probes and calls their waiting callbacks with kClosed: a waiting session exists
  // until its callback runs. Those of a search are called when the FileThreads are closed.
  void Close();

 private:
  struct Probe {
    std::unique_ptr<Child> child;
    std::unique_ptr<Capture> output;
    Poll exited;
    Timer deadline;
    bool late = false;
    int number = 1;  // number of this attempt
    std::string path;
    Descriptor image;
    std::vector<Callback> waiting;
  };

  // A program that was found on the host.
  struct Found {
    std::string path;
    Descriptor image;
  };

  static Result<Found> Find(const std::string& name, const std::string& search_path,
                            BriefLooks* looks);
  void OnFound(const std::string& name, Result<Found> found);
  void Begin(const std::string& name, Found found, std::vector<Callback> waiting, int number);
  Result<std::unique_ptr<Probe>> StartProbe(Found found);
  void Answer(const std::string& name);

  uv_loop_t* loop_;
  int null_device_;
  std::string search_path_;
  std::shared_ptr<BriefLooks> looks_ = std::make_shared<BriefLooks>();
  std::map<std::string, std::shared_ptr<const Program>> known_;
  FileThreads* files_;
  std::map<std::string, std::vector<Callback>> searches_;  // those that wait for each
  std::map<std::string, std::unique_ptr<Probe>> probes_;
};

// A link in a directory of programs, and what it needs.
struct ToolLink {
  // The link's own path and those that it leads to, step by step, lexically; the last is no link,
  // or there is nothing.
  std::vector<std::string> steps;
  // The interpreter that the last one names, if it is a script of a Python environment; or empty.
  std::string interpreter;
};

// The programs in a directory of PATH, as far as they need other paths.
struct ToolDirectory {
  std::vector<ToolLink> links;
  // The absolute interpreters of its scripts, each once.
  std::vector<std::string> interpreters;
};

// Reads a directory, and its scripts' first lines if `reads_scripts`. Nothing if it can't be read.
// Follows no link into `silent`, mount points that do not answer. Any thread.
ToolDirectory ReadToolDirectory(const std::string& path, bool reads_scripts,
                                const std::vector<std::string>& silent);

}  // namespace native_runner
