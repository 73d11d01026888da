#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"

// strerrorname_np(3) is glibc's alone.
static const char* ErrnoName(int error) {
#define NAME(name) \
  case name:       \
    return #name
  switch (error) {
    NAME(E2BIG);
    NAME(EACCES);
    NAME(EAFNOSUPPORT);
    NAME(EAGAIN);
    NAME(EBADF);
    NAME(EBUSY);
    NAME(ECONNREFUSED);
    NAME(EEXIST);
    NAME(EFAULT);
    NAME(EINVAL);
    NAME(EIO);
    NAME(EISDIR);
    NAME(EMFILE);
    NAME(ENETUNREACH);
    NAME(ENODEV);
    NAME(ENOENT);
    NAME(ENOKEY);
    NAME(ENOSYS);
    NAME(ENOTDIR);
    NAME(ENXIO);
    NAME(ENOTEMPTY);
    NAME(EOPNOTSUPP);
    NAME(EPERM);
    NAME(EROFS);
    NAME(ESRCH);
    NAME(ETXTBSY);
    NAME(ENOSPC);
    NAME(EDQUOT);
    NAME(ETOOMANYREFS);
    NAME(EXDEV);
    default:
      return strerror(error);
  }
#undef NAME
}

int Say(int result) {
  puts(result >= 0 ? "OK" : ErrnoName(errno));
  return 0;
}

void Die(const char* what) {
  perror(what);
  exit(99);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    Try* run;
  } kTries[] = {
      {"call", CallByName},
      {"open-read", OpenForReading},
      {"open-write", OpenForWriting},
      {"writable", TellWritable},
      {"create", CreateFile},
      {"link", MakeLink},
      {"mknod", MakeNode},
      {"remount", Remount},
      {"by-handle", OpenByHandle},
      {"truncate", Truncate},
      {"chmod", ChangeMode},
      {"touch", ChangeTimes},
      {"rename", Rename},
      {"swap", Swap},
      {"set-attribute", SetAttribute},
      {"note", ShowNote},
      {"watch", WatchNames},
      {"fill", FillMemory},
      {"write-how", WriteHow},
      {"socket", MakeSocket},
      {"tcp", AskTcp},
      {"udp", AskUdp},
      {"abstract", AskAbstract},
      {"unix", AskUnix},
      {"interfaces", ShowInterfaces},
      {"serve", Serve},
      {"rights", ShowRights},
      {"landlock-abi", ShowLandlockAbi},
      {"signal", Signal},
      {"tiocsti", TypeIntoTerminal},
      {"type", TypeIntoStdin},
      {"int80", CallAs32Bit},
      {"reap", Reap},
      {"with-fd", WithDescriptor},
      {"linger", Linger},
      {"meddle", Meddle},
      {"queue", UseQueue},
      {"listen", Listen},
      {"pass-descriptor", PassDescriptor},
      {"use-descriptor", UseDescriptor},
      {"write-mapped", WriteMapped},
      {"alter", Alter},
      {"exhaust", Exhaust},
  };
  if (argc < 2) return 98;
  for (unsigned i = 0; i < sizeof kTries / sizeof *kTries; ++i) {
    if (strcmp(argv[1], kTries[i].name) == 0) return kTries[i].run(argc - 2, argv + 2);
  }
  fprintf(stderr, "probe: no try is named %s\n", argv[1]);
  return 98;
}
