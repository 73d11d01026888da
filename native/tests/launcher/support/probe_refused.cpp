#include "tests/launcher/support/probe_refused.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <netinet/in.h>
#include <sched.h>
#include <spawn.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#ifndef STATX_TYPE
#include <linux/stat.h>  // musl before 1.2.5
#endif

namespace {

constexpr int kMany = 10'000;
constexpr int kThreads = 8;
constexpr int kFlood = 50'000;

std::string Missing(const char* name) {
  return std::string("/no-such-directory/") + name;
}

void LookByPath() {
  char text[16];
  struct stat status {};
  struct statx long_status {};
  const auto is = [](const char* name) { return Missing(name); };
#ifdef SYS_stat
  syscall(SYS_stat, is("stat").c_str(), &status);
  syscall(SYS_lstat, is("lstat").c_str(), &status);
  syscall(SYS_access, is("access").c_str(), R_OK);
  syscall(SYS_readlink, is("readlink").c_str(), text, sizeof text);
#endif
  syscall(SYS_newfstatat, AT_FDCWD, is("newfstatat").c_str(), &status, 0);
  syscall(SYS_statx, AT_FDCWD, is("statx").c_str(), 0, STATX_TYPE, &long_status);
  syscall(SYS_faccessat, AT_FDCWD, is("faccessat").c_str(), R_OK);
  syscall(439, AT_FDCWD, is("faccessat2").c_str(), R_OK, 0);
  syscall(SYS_readlinkat, AT_FDCWD, is("readlinkat").c_str(), text, sizeof text);
}

void CallByPath() {
  timespec times[2] = {};
  const auto is = [](const char* name) { return Missing(name); };
#ifdef SYS_open
  syscall(SYS_open, is("open").c_str(), O_RDONLY);
  syscall(SYS_creat, is("creat").c_str(), 0644);
  syscall(SYS_mkdir, is("mkdir").c_str(), 0755);
  syscall(SYS_rmdir, is("rmdir").c_str());
  syscall(SYS_unlink, is("unlink").c_str());
  syscall(SYS_rename, is("rename").c_str(), "/second");
  syscall(SYS_link, is("link").c_str(), "/second");
  syscall(SYS_symlink, "target", is("symlink").c_str());
  syscall(SYS_chmod, is("chmod").c_str(), 0644);
  syscall(SYS_chown, is("chown").c_str(), 0, 0);
  syscall(SYS_lchown, is("lchown").c_str(), 0, 0);
  syscall(SYS_mknod, is("mknod").c_str(), S_IFIFO, 0);
#endif
  open_how how{};
  how.flags = O_RDWR;
  syscall(SYS_openat, AT_FDCWD, is("openat").c_str(), O_RDONLY);
  syscall(437, AT_FDCWD, is("openat2").c_str(), &how, sizeof how);
  syscall(SYS_mkdirat, AT_FDCWD, is("mkdirat").c_str(), 0755);
  syscall(SYS_unlinkat, AT_FDCWD, is("unlinkat").c_str(), 0);
  syscall(SYS_renameat2, AT_FDCWD, is("renameat2").c_str(), AT_FDCWD, "/second", 0);
  syscall(SYS_linkat, AT_FDCWD, is("linkat").c_str(), AT_FDCWD, "/second", 0);
  syscall(SYS_symlinkat, "target", AT_FDCWD, is("symlinkat").c_str());
  syscall(SYS_fchmodat, AT_FDCWD, is("fchmodat").c_str(), 0644);
  syscall(SYS_fchownat, AT_FDCWD, is("fchownat").c_str(), 0, 0, 0);
  syscall(SYS_mknodat, AT_FDCWD, is("mknodat").c_str(), S_IFIFO, 0);
  syscall(SYS_utimensat, AT_FDCWD, is("utimensat").c_str(), times, 0);
  syscall(SYS_truncate, is("truncate").c_str(), 0);
  syscall(SYS_setxattr, is("setxattr").c_str(), "user.a", "b", 1, 0);
  syscall(SYS_removexattr, is("removexattr").c_str(), "user.a");
  syscall(SYS_chdir, is("chdir").c_str());
  syscall(SYS_execve, is("execve").c_str(), nullptr, nullptr);
  syscall(SYS_execveat, AT_FDCWD, is("execveat").c_str(), nullptr, nullptr, 0);
}

void CallRelative() {
  if (chdir("/usr") != 0) return;
  const int directory = open("/etc", O_PATH | O_DIRECTORY);
  close(openat(AT_FDCWD, "no-such-file", O_RDONLY));
  close(openat(directory, "no-such-file", O_RDONLY));
  close(openat(directory, "/no-such-file", O_RDONLY));
}

void CallByAddress() {
  sockaddr_un place{AF_UNIX, "/no-such-directory/socket"};
  const int local = socket(AF_UNIX, SOCK_STREAM, 0);
  connect(local, reinterpret_cast<sockaddr*>(&place), sizeof place);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(81);
  inet_pton(AF_INET, "192.0.2.1", &address.sin_addr);  // of no host's
  const int inet = socket(AF_INET, SOCK_STREAM, 0);
  bind(inet, reinterpret_cast<sockaddr*>(&address), sizeof address);
}

void CallInThreads() {
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int number = 0; number < kThreads; ++number) {
    threads.emplace_back([number] {
      for (int round = 0; round < 20; ++round)
        close(open(Missing(("thread-" + std::to_string(number)).c_str()).c_str(), O_RDONLY));
    });
  }
  for (std::thread& thread : threads)
    thread.join();
}

void CallInChildren() {
  const std::string vforked = Missing("vforked");
  const pid_t child = vfork();
  if (child == 0) {
    execl(vforked.c_str(), "x", nullptr);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  const std::string spawned = Missing("spawned");
  char* const argv[] = {const_cast<char*>("x"), nullptr};
  pid_t pid = -1;
  if (posix_spawn(&pid, spawned.c_str(), nullptr, nullptr, argv, nullptr) == 0)
    waitpid(pid, nullptr, 0);
}

// Another thread than the first becomes the program: its number becomes the first's.
void ExecuteInThread(const char* program) {
  std::thread([program] {
    execl(program, program, "-c", "cat /no-such-directory/after", nullptr);
  }).join();
}

}  // namespace

int AskRefused(const char* what) {
  const auto is = [what](const char* other) { return std::strcmp(what, other) == 0; };
  if (is("paths")) CallByPath();
  if (is("look-ups")) LookByPath();
  if (is("relative")) CallRelative();
  if (is("addresses")) CallByAddress();
  if (is("threads")) CallInThreads();
  if (is("children")) CallInChildren();
  if (is("thread-executes")) ExecuteInThread("/bin/sh");
  if (is("ptrace")) std::printf("%ld\n", ptrace(PTRACE_TRACEME, 0, 0, 0));
  if (is("many")) {
    for (int number = 0; number < kMany; ++number)
      close(open(Missing(std::to_string(number).c_str()).c_str(), O_RDONLY));
    ptrace(PTRACE_TRACEME, 0, 0, 0);
  }
  if (is("flood")) {
    int refused = 0;
    for (int number = 0; number < kFlood; ++number)
      refused += syscall(SYS_unshare, CLONE_NEWUSER | number) == -1 && errno == EPERM ? 1 : 0;
    std::printf("%d\n", refused);
  }
  return 0;
}
