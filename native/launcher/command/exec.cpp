#include "launcher/command/exec.h"

#include <cerrno>
#include <climits>

#include "launcher/kernel/calls.h"
#include "launcher/text/fixed_text.h"

namespace native_runner {
namespace {

constexpr char kShell[] = "/bin/sh";
constexpr char kDefaultPath[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

const char* SearchPath(char** environment) {
  constexpr char kName[] = "PATH=";
  for (; *environment != nullptr; ++environment) {
    const char* at = *environment;
    const char* name = kName;
    while (*name != '\0' && *at == *name) {
      ++at;
      ++name;
    }
    if (*name == '\0') return at;
  }
  return kDefaultPath;
}

int ExecFile(const char* path, char** argv, char** environment) {
  const auto error = static_cast<int>(-kernel::Execute(path, argv, environment));
  if (error != ENOEXEC) return error;
  char* const name = argv[0];
  argv[-1] = const_cast<char*>(kShell);
  argv[0] = const_cast<char*>(path);
  kernel::Execute(kShell, argv - 1, environment);
  argv[0] = name;
  return ENOEXEC;
}

// The end of the text, or the first `byte` before it.
const char* Find(const char* text, char byte) {
  while (*text != '\0' && *text != byte)
    ++text;
  return text;
}

// What execvp(3) passes over on its way along PATH.
bool IsWorthSearchingOn(int error) {
  return error == EACCES || error == ENOENT || error == ENOTDIR || error == ESTALE ||
         error == ENODEV || error == ETIMEDOUT;
}

}  // namespace

ExecFailure Exec(char** argv, char** environment) {
  const char* const name = argv[0];
  if (*name == '\0' || *Find(name, '/') != '\0') {
    const int error = ExecFile(name, argv, environment);
    return {error, error == ENOENT && !kernel::Exists(name)};
  }

  ExecFailure failure{ENOENT, true};
  for (const char* directory = SearchPath(environment);;) {
    const char* const end = Find(directory, ':');
    FixedText<PATH_MAX> path;
    path.Add(directory, static_cast<std::size_t>(end - directory));
    if (path.size() != 0) path.Add("/");  // an empty entry is the working directory
    path.Add(name);
    // Asking first costs less than an execve(2) that fails, and tells a file that is not there from
    // a script whose interpreter is not.
    if (!path.cut() && kernel::Exists(path.c_str())) {
      const int error = ExecFile(path.c_str(), argv, environment);
      if (!IsWorthSearchingOn(error)) return {error, false};
      if (failure.error != EACCES) failure = {error, false};
    }
    if (*end == '\0') return failure;
    directory = end + 1;
  }
}

}  // namespace native_runner
