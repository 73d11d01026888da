#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "probe.h"

static int Socket(const char* path, struct sockaddr_un* address) {
  address->sun_family = AF_UNIX;
  snprintf(address->sun_path, sizeof address->sun_path, "%s", path);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (fd < 0) Die("socket");
  return fd;
}

typedef union {
  struct cmsghdr header;
  char room[CMSG_SPACE(sizeof(int))];
} Passed;

// SOCKET PATH MODE (rw, ro, path, dir): passes on a descriptor of a file or directory.
int PassDescriptor(int argc, char** argv) {
  if (argc != 3) return 98;
  const int flags = strcmp(argv[2], "rw") == 0     ? O_RDWR
                    : strcmp(argv[2], "path") == 0 ? O_PATH
                                                   : O_RDONLY;
  const int file = open(argv[1], flags);
  if (file < 0) return Say(-1);
  struct sockaddr_un address;
  const int fd = Socket(argv[0], &address);
  if (connect(fd, (struct sockaddr*)&address, sizeof address) != 0) return Say(-1);
  Passed passed = {0};
  passed.header.cmsg_len = CMSG_LEN(sizeof file);
  passed.header.cmsg_level = SOL_SOCKET;
  passed.header.cmsg_type = SCM_RIGHTS;
  memcpy(CMSG_DATA(&passed.header), &file, sizeof file);
  struct iovec byte = {"?", 1};
  const struct msghdr message = {
      .msg_iov = &byte, .msg_iovlen = 1, .msg_control = &passed, .msg_controllen = sizeof passed};
  return Say(sendmsg(fd, &message, 0) == 1 ? 0 : -1);
}

static void WaitFor(const char* path) {
  while (access(path, F_OK) != 0)
    usleep(10 * 1000);
}

// SOCKET GOT GO NAME: takes a descriptor, makes the file GOT, waits for the file GO, and appends to
// the file that the descriptor leads to, or to NAME in it where it is a directory.
int UseDescriptor(int argc, char** argv) {
  if (argc != 4) return 98;
  struct sockaddr_un address;
  const int server = Socket(argv[0], &address);
  // Appears under its name when it listens: who waits for the name connects at once.
  snprintf(address.sun_path, sizeof address.sun_path, "%s.new", argv[0]);
  if (bind(server, (struct sockaddr*)&address, sizeof address) != 0) Die("bind");
  if (listen(server, 1) != 0) Die("listen");
  if (rename(address.sun_path, argv[0]) != 0) Die("rename");
  const int fd = accept(server, NULL, NULL);
  Passed passed = {0};
  char got = 0;
  struct iovec byte = {&got, 1};
  struct msghdr message = {
      .msg_iov = &byte, .msg_iovlen = 1, .msg_control = &passed, .msg_controllen = sizeof passed};
  if (recvmsg(fd, &message, 0) != 1) Die("recvmsg");
  int file = -1;
  memcpy(&file, CMSG_DATA(&passed.header), sizeof file);
  if (open(argv[1], O_WRONLY | O_CREAT, 0600) < 0) Die(argv[1]);
  WaitFor(argv[2]);
  char own[64];
  snprintf(own, sizeof own, "/proc/self/fd/%d", file);
  int opened = openat(file, argv[3], O_WRONLY | O_APPEND);
  if (opened < 0) opened = open(own, O_WRONLY | O_APPEND);
  if (opened < 0) opened = file;  // where there is no /proc
  return Say(write(opened, "EVIL\n", 5) == 5 ? 0 : -1);
}
