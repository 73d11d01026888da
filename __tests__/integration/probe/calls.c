// System calls, mostly with arguments that an unfiltered kernel refuses with another errno than the
// filter: nothing happens anywhere, and yet it shows who answered.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe.h"

#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

int CallByName(int argc, char** argv) {
  static const struct {
    const char* name;
    long number;
  } kCalls[] = {
      {"add_key", SYS_add_key},
      {"bpf", SYS_bpf},
      {"chroot", SYS_chroot},
      {"clone", SYS_clone},
      {"clone3", SYS_clone3},
      {"delete_module", SYS_delete_module},
      {"fcntl", SYS_fcntl},
      {"fsopen", SYS_fsopen},
      {"init_module", SYS_init_module},
      {"io_setup", SYS_io_setup},
      {"io_uring_enter", SYS_io_uring_enter},
      {"io_uring_setup", SYS_io_uring_setup},
      {"kexec_load", SYS_kexec_load},
      {"keyctl", SYS_keyctl},
      {"mount", SYS_mount},
      {"mount_setattr", SYS_mount_setattr},
      {"move_mount", SYS_move_mount},
      {"open_tree", SYS_open_tree},
      {"perf_event_open", SYS_perf_event_open},
      {"pivot_root", SYS_pivot_root},
      {"request_key", SYS_request_key},
      {"sethostname", SYS_sethostname},
      {"setns", SYS_setns},
      {"swapon", SYS_swapon},
      {"umount2", SYS_umount2},
      {"unshare", SYS_unshare},
      {"userfaultfd", SYS_userfaultfd},
  };
  if (argc < 1) return 98;
  unsigned long values[6] = {0};
  for (int i = 0; i + 1 < argc && i < 6; ++i) {
    // A word that is no number is passed as a string.
    char* end = NULL;
    values[i] = strtoul(argv[i + 1], &end, 0);
    if (*end != '\0') values[i] = (unsigned long)argv[i + 1];
  }
  for (unsigned i = 0; i < sizeof kCalls / sizeof *kCalls; ++i) {
    if (strcmp(argv[0], kCalls[i].name) != 0) continue;
    errno = 0;
    const long result =
        syscall(kCalls[i].number, values[0], values[1], values[2], values[3], values[4], values[5]);
    return Say(result < 0 ? -1 : 0);
  }
  fprintf(stderr, "probe: no call is named %s\n", argv[0]);
  return 98;
}

// Types a byte into a terminal of our own that is also our controlling one.
int TypeIntoTerminal(int argc, char** argv) {
  (void)argc;
  (void)argv;
  const int primary = posix_openpt(O_RDWR | O_NOCTTY);
  // No terminal to be had: a filter refuses even where there is nothing to type into (ENOTTY).
  if (primary < 0) return Say(ioctl(STDIN_FILENO, TIOCSTI, "x"));
  if (grantpt(primary) != 0 || unlockpt(primary) != 0) Die("posix_openpt");
  const pid_t child = fork();  // setsid(2) wants one that leads no group
  if (child == 0) {
    setsid();
    const int terminal = open(ptsname(primary), O_RDWR);
    if (terminal < 0) Die("ptsname");
    ioctl(terminal, TIOCSCTTY, 0);
    _exit(ioctl(terminal, TIOCSTI, "x") == 0 ? 0 : errno);
  }
  int status = 0;
  waitpid(child, &status, 0);
  errno = WEXITSTATUS(status);
  return Say(errno == 0 ? 0 : -1);
}

// Types a byte into the terminal that is our stdin.
int TypeIntoStdin(int argc, char** argv) {
  (void)argc;
  (void)argv;
  return Say(ioctl(STDIN_FILENO, TIOCSTI, "x"));
}

// What /proc/self/status says of capabilities, no_new_privs and seccomp, without /proc.
int ShowRights(int argc, char** argv) {
  (void)argc;
  (void)argv;
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
  if (syscall(SYS_capget, &header, data) != 0) Die("capget");
  unsigned long long ambient = 0;
  for (unsigned long number = 0; number <= CAP_LAST_CAP; ++number) {
    const int is_set = prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, number, 0, 0);
    if (is_set == 1) ambient |= 1ULL << number;
  }
  printf("CapInh: %08x%08x\nCapPrm: %08x%08x\nCapEff: %08x%08x\nCapAmb: %016llx\n",
         data[1].inheritable, data[0].inheritable, data[1].permitted, data[0].permitted,
         data[1].effective, data[0].effective, ambient);
  printf("NoNewPrivs: %d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
  printf("Seccomp: %d\n", prctl(PR_GET_SECCOMP, 0, 0, 0, 0));
  return 0;
}

// The version of Landlock's interface that this kernel has.
int ShowLandlockAbi(int argc, char** argv) {
  (void)argc;
  (void)argv;
  const long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
  printf("%ld\n", abi < 0 ? 0 : abi);
  return 0;
}

// PID: asks whether it could be signalled, and does no more.
int Signal(int argc, char** argv) {
  return argc == 1 && atoi(argv[0]) > 1 ? Say(kill(atoi(argv[0]), 0)) : 98;
}

// getpid(2) by the i386 entry of the kernel, which a filter for one architecture must not overlook.
#ifdef __x86_64__
static void OnFault(int number) {
  (void)number;
  static const char kSaid[] = "SIGSEGV\n";
  _exit(write(STDOUT_FILENO, kSaid, sizeof kSaid - 1) < 0);
}
#endif

// SIGSEGV: this machine has no such way into the kernel, as where its hypervisor runs guests without
// the processor's help.
int CallAs32Bit(int argc, char** argv) {
  (void)argc;
  (void)argv;
#ifdef __x86_64__
  signal(SIGSEGV, OnFault);
  long result = 20;
  __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
  errno = result < 0 ? (int)-result : 0;
  return Say(result < 0 ? -1 : 0);
#else
  errno = ENOSYS;
  return Say(-1);
#endif
}
