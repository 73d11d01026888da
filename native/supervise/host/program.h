#pragma once

#include <uv.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "policy/bubblewrap/bubblewrap_plan.h"
#include "policy/result.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/handle.h"
#include "supervise/os/process.h"
#include "supervise/streams/output.h"

namespace native_runner {

// A bwrap that was found and asked what it can do. Immutable.
struct Program {
  std::string path;  // absolute
  Descriptor image;  // a sealed copy, when the file could be overwritten by a command of ours
  BwrapFeatures features;
  std::string exec_path() const;  // what to hand to posix_spawn(3)
};

// Finds a program on `search_path` (a PATH; relative entries are skipped), or checks an absolute
// one. kUnavailable, naming where it was looked for and the package that has it.
Result<std::string> FindProgram(const std::string& name, const std::string& search_path);

// A bwrap that can't be used for want of an option. It is named, and no version: distributions
// back-port options.
Error LacksOption(const std::string& path, const char* option);

// Knows each bwrap by the name it was asked for; a bwrap is found and probed once, but one that was
// missing is looked for again. Supervisor thread only.
class Programs {
 public:
  using Callback = std::function<void(Result<std::shared_ptr<const Program>>)>;

  Programs(uv_loop_t* loop, int null_device, std::string search_path)
      : loop_(loop), null_device_(null_device), search_path_(std::move(search_path)) {}
  ~Programs() { Close(); }
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;

  // Calls back at once when the answer is known, else when `bwrap --help` has answered (at most
  // five seconds). One that a signal has ended is asked again, twice: somebody else may have sent
  // it.
  void Get(const std::string& name, Callback callback);

  const std::string& search_path() const { return search_path_; }

  // Probes under way are ended, and who waits for them is called back with kClosed: a session that
  // waits is there until it hears of it.
  void Close();

 private:
  struct Probe {
    std::unique_ptr<Child> child;
    std::unique_ptr<Capture> output;
    Poll exited;
    Timer deadline;
    bool late = false;
    int number = 1;  // of those that were begun for who waits
    std::string path;
    Descriptor image;
    std::vector<Callback> waiting;
  };

  void Begin(const std::string& name, const std::string& path, std::vector<Callback> waiting,
             int number);
  Result<std::unique_ptr<Probe>> StartProbe(const std::string& path);
  void Answer(const std::string& name);

  uv_loop_t* loop_;
  int null_device_;
  std::string search_path_;
  std::map<std::string, std::shared_ptr<const Program>> known_;
  std::map<std::string, std::unique_ptr<Probe>> probes_;
};

}  // namespace native_runner
