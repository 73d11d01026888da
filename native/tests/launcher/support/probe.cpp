// Runs inside the sandbox under test and tries what a shell can't. Usage: probe WHAT [ARGUMENT].
// System call probes print the errno they got, 0 for success, and exit with 0.

#include <dirent.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "tests/launcher/support/probe_others.h"
#include "tests/launcher/support/probe_refused.h"

namespace {

constexpr int kLifeSeconds = 20;  // should the launcher fail, nothing of a test stays for long

int PrintErrno(long result) {
  std::printf("%d\n", result < 0 ? errno : 0);
  return 0;
}

int ListDescriptors() {
  DIR* directory = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(directory)) {
    const int fd = std::atoi(entry->d_name);
    if (entry->d_name[0] != '.' && fd != dirfd(directory)) std::printf("%d ", fd);
  }
  closedir(directory);
  return 0;
}

int ListSignals() {
  sigset_t mask;
  sigprocmask(SIG_SETMASK, nullptr, &mask);
  for (int number = 1; number < 32; ++number) {
    struct sigaction action {};
    sigaction(number, nullptr, &action);
    if (action.sa_handler == SIG_IGN) std::printf("ignored %d ", number);
    if (sigismember(&mask, number) == 1) std::printf("blocked %d ", number);
  }
  return 0;
}

int CloneWithFlags(unsigned long flags) {
  const long pid = syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (pid == 0) _exit(0);
  const int error = errno;
  if (pid > 0) waitpid(static_cast<pid_t>(pid), nullptr, 0);
  errno = error;
  return PrintErrno(pid);
}

// Pushes a byte into our own terminal's input, as an escape would into the host's.
int PushInput(unsigned long request) {
  setsid();
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) return 1;
  const int terminal = open(ptsname(master), O_RDWR);
  if (terminal < 0) return 1;
  char byte = 'x';
  return PrintErrno(syscall(SYS_ioctl, terminal, request, &byte));
}

// Into the terminal that is our stdin, and our own.
int TypeIntoStdin() {
  char byte = 'x';
  return PrintErrno(syscall(SYS_ioctl, STDIN_FILENO, TIOCSTI, &byte));
}

// The same call by i386's numbers: 20 is getpid there.
int CallAsI386() {
#ifdef __x86_64__
  long result = 20;
  __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
  std::printf("%ld\n", result < 0 ? -result : 0);
#endif
  return 0;
}

[[noreturn]] void Linger(const char* kind) {
  alarm(kLifeSeconds);
  std::printf("%s %d\n", kind, getpid());
  std::fflush(stdout);
  if (std::strcmp(kind, "stopped") == 0) raise(SIGSTOP);
  for (;;)
    pause();
}

// Leaves behind one process of every stubborn kind; prints "KIND PID" for each.
int LeaveTree() {
  if (fork() == 0) Linger("child");
  if (fork() == 0) {
    for (int number = 1; number < 32; ++number) {
      if (number != SIGALRM) signal(number, SIG_IGN);
    }
    Linger("deaf");
  }
  if (fork() == 0) Linger("stopped");
  const pid_t middle = fork();
  if (middle == 0) {
    setsid();
    if (fork() == 0) Linger("daemon");
    _exit(0);
  }
  waitpid(middle, nullptr, 0);
  if (fork() == 0) {
    setpgid(0, 0);
    if (fork() == 0) Linger("grandchild");
    Linger("parent");
  }
  return 0;
}

// Processes that each live only until they have forked the next: hard to catch by pid. Twenty at a
// time, and they give up by themselves after a while. Who reaps them may be slower than they are: a
// comet whose ancestor of so many generations ago is still a zombie waits, so that the machine
// keeps numbers for other processes.
int LetCometsFly() {
  constexpr std::size_t kUnreaped = 100;
  const std::time_t end = std::time(nullptr) + kLifeSeconds / 2;
  for (int i = 0; i < 20; ++i) {
    if (fork() != 0) continue;
    std::array<pid_t, kUnreaped> ancestors{};
    for (std::size_t generation = 0; std::time(nullptr) < end;) {
      pid_t& ancestor = ancestors[generation % kUnreaped];
      if (ancestor != 0 && kill(ancestor, 0) == 0) {
        sched_yield();
        continue;
      }
      const pid_t parent = getpid();
      const pid_t next = fork();
      if (next > 0) _exit(0);
      if (next < 0) {
        usleep(1000);
        continue;
      }
      ancestor = parent;
      ++generation;
    }
    _exit(0);
  }
  std::puts("flying");
  return 0;
}

int PrintLimit(const char* name) {
  const int resource = std::strcmp(name, "data") == 0     ? RLIMIT_DATA
                       : std::strcmp(name, "cpu") == 0    ? RLIMIT_CPU
                       : std::strcmp(name, "nproc") == 0  ? RLIMIT_NPROC
                       : std::strcmp(name, "nofile") == 0 ? RLIMIT_NOFILE
                                                          : RLIMIT_FSIZE;
  rlimit limit{};
  getrlimit(static_cast<__rlimit_resource>(resource), &limit);
  std::printf("%llu %llu ", static_cast<unsigned long long>(limit.rlim_cur),
              static_cast<unsigned long long>(limit.rlim_max));
  return 0;
}

int Burn(int milliseconds) {
  const std::clock_t end = std::clock() + milliseconds * (CLOCKS_PER_SEC / 1000);
  while (std::clock() < end) {
  }
  return 0;
}

int Touch(std::size_t mebibytes) {
  const std::size_t size = mebibytes << 20;
  char* memory = static_cast<char*>(std::malloc(size));
  if (memory == nullptr) return PrintErrno(-1);
  std::memset(memory, 1, size);
  std::printf("%d\n", memory[size / 2] - 1);
  std::free(memory);
  return 0;
}

int Call(const char* name) {
  const auto is = [name](const char* other) { return std::strcmp(name, other) == 0; };
  if (is("unshare")) return PrintErrno(unshare(CLONE_NEWUSER));
  if (is("unshare-files")) return PrintErrno(unshare(CLONE_FILES));
  if (is("clone-user")) return CloneWithFlags(CLONE_NEWUSER);
  if (is("clone-plain")) return CloneWithFlags(0);
  if (is("clone3")) return PrintErrno(syscall(435, nullptr, 0));
  if (is("keyctl")) return PrintErrno(syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, -3, 1));
  if (is("vsock")) return PrintErrno(socket(AF_VSOCK, SOCK_STREAM, 0));
  if (is("packet")) return PrintErrno(socket(AF_PACKET, SOCK_RAW, 0));
  if (is("unix")) return PrintErrno(socket(AF_UNIX, SOCK_STREAM, 0));
  if (is("inet6")) return PrintErrno(socket(AF_INET6, SOCK_STREAM, 0));
  if (is("netlink")) return PrintErrno(socket(AF_NETLINK, SOCK_RAW, 0));
  if (is("type")) return TypeIntoStdin();
  if (is("tiocsti")) return PushInput(TIOCSTI);
  if (is("tiocsti-high")) return PushInput(TIOCSTI | (1ul << 32));
  if (is("io_uring")) return PrintErrno(syscall(425, 1, nullptr));
  if (is("io_setup")) return PrintErrno(syscall(SYS_io_setup, 0, nullptr));
  if (is("mknod-null")) return PrintErrno(mknod("/dev/shm/probe", S_IFCHR | 0600, 0x103));
  if (is("i386")) return CallAsI386();
  std::fprintf(stderr, "probe: unknown call %s\n", name);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  const auto is = [what](const char* other) { return std::strcmp(what, other) == 0; };
  if (is("fds")) return ListDescriptors();
  if (is("signals")) return ListSignals();
  if (is("tree")) return LeaveTree();
  if (is("tree-stay")) {
    LeaveTree();
    Linger("main");
  }
  if (is("comets")) return LetCometsFly();
  if (is("comets-stay")) {
    LetCometsFly();
    Linger("main");
  }
  if (is("call") && argc > 2) return Call(argv[2]);
  if (is("refused") && argc > 2) return AskRefused(argv[2]);
  if (is("pairs")) return ListPairs();
  if (is("send") && argc > 3) return SendElsewhere(std::atoi(argv[2]), argv[3]);
  if (is("set") && argc > 3) return SetOf(argv[2], argv[3]);
  if (is("limit") && argc > 2) return PrintLimit(argv[2]);
  if (is("truncate") && argc > 2) return PrintErrno(truncate(argv[2], 0));
  if (is("burn") && argc > 2) return Burn(std::atoi(argv[2]));
  if (is("touch") && argc > 2) return Touch(static_cast<std::size_t>(std::atoi(argv[2])));
  std::fputs(
      "usage: probe fds|signals|tree|comets|call|refused|pairs|send|set|limit|truncate|burn|touch "
      "...\n",
      stderr);
  return 2;
}
