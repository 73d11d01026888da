// Ways to fill a disk that not every count of bytes sees.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe.h"

static const size_t kMebibyte = 1 << 20;

static void WriteOne(int file) {
  static char bytes[1 << 20];
  memset(bytes, 'x', sizeof bytes);
  if (write(file, bytes, sizeof bytes) != (ssize_t)sizeof bytes) Die("write");
}

static int Opened(const char* name) {
  const int file = open(name, O_RDWR | O_CREAT, 0600);
  if (file < 0) Die("open");
  return file;
}

static void Map(const char* name, size_t size, int is_deleted) {
  const int file = Opened(name);
  if (ftruncate(file, 1 << 30) != 0) Die("ftruncate");
  char* const map = mmap(NULL, 1 << 30, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (map == MAP_FAILED) Die("mmap");
  if (is_deleted && unlink(name) != 0) Die("unlink");
  close(file);
  for (size_t at = 0; at < size; at += 4096) map[at] = 1;
}

// A deleted file that no process has, but a message that nobody has read.
static void Send(const char* name, size_t size) {
  int ends[2];
  const int file = Opened(name);
  unlink(name);
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) Die("socketpair");
  char byte = 'x';
  struct iovec part = {&byte, 1};
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE(sizeof(int))];
  } passed = {0};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = passed.space,
                           .msg_controllen = sizeof passed.space};
  passed.header.cmsg_level = SOL_SOCKET;
  passed.header.cmsg_type = SCM_RIGHTS;
  passed.header.cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(&passed.header), &file, sizeof file);
  if (sendmsg(ends[0], &message, 0) != 1) Die("sendmsg");
  for (size_t at = 0; at < size; at += kMebibyte) WriteOne(file);
  close(file);
}

// Children that are gone before anybody looks at them, and that nobody waits for.
static void Fork(const char* name, size_t size) {
  signal(SIGCHLD, SIG_IGN);
  for (size_t at = 0; at < size; at += kMebibyte) {
    if (fork() != 0) continue;
    char own[256];
    snprintf(own, sizeof own, "%s-%zu", name, at);
    WriteOne(Opened(own));
    _exit(0);
  }
}

// write-how HOW NAME MEBIBYTES SECONDS: says OK when it has written them, and stays so long.
int WriteHow(int argc, char** argv) {
  if (argc < 4) return 98;
  const char* const how = argv[0];
  const char* const name = argv[1];
  const size_t size = strtoul(argv[2], NULL, 10) * kMebibyte;
  if (strcmp(how, "mapped") == 0) {
    Map(name, size, 0);
  } else if (strcmp(how, "mapped-deleted") == 0) {
    Map(name, size, 1);
  } else if (strcmp(how, "sent") == 0) {
    Send(name, size);
  } else if (strcmp(how, "by-children") == 0) {
    Fork(name, size);
  } else if (strcmp(how, "reserved") == 0) {
    if (fallocate(Opened(name), 0, 0, (off_t)size) != 0) Die("fallocate");
  } else {
    return 98;
  }
  static const char kDone[] = "OK\n";
  if (write(STDOUT_FILENO, kDone, sizeof kDone - 1) < 0) return 97;
  for (unsigned left = (unsigned)strtoul(argv[3], NULL, 10); left > 0;) left = sleep(left);
  return 0;
}
