#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "probe.h"

// make|open NAME, without a slash: a POSIX message queue, by its system call (librt adds the slash).
int UseQueue(int argc, char** argv) {
  if (argc != 2) return 98;
  const int flags = strcmp(argv[0], "make") == 0 ? O_CREAT | O_RDWR : O_RDWR;
  return Say((int)syscall(SYS_mq_open, argv[1], flags, 0600, NULL));
}

// NAME of an abstract socket, or a TCP port of 127.0.0.1: answers "OK" to each client, for a minute.
int Listen(int argc, char** argv) {
  if (argc != 1) return 98;
  const int port = atoi(argv[0]);
  const int fd = socket(port > 0 ? AF_INET : AF_UNIX, SOCK_STREAM, 0);
  if (fd < 0) return Say(-1);
  int failed;
  if (port > 0) {
    const struct sockaddr_in in = {.sin_family = AF_INET,
                                   .sin_port = htons((unsigned short)port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    failed = bind(fd, (const struct sockaddr*)&in, sizeof in);
  } else {
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    const size_t length = strlen(argv[0]);
    if (length + 1 > sizeof un.sun_path) return 98;
    memcpy(un.sun_path + 1, argv[0], length);
    const size_t size = offsetof(struct sockaddr_un, sun_path) + 1 + length;
    failed = bind(fd, (const struct sockaddr*)&un, (socklen_t)size);
  }
  if (failed != 0 || listen(fd, 8) != 0) return Say(-1);
  alarm(60);
  for (;;) {
    const int client = accept(fd, NULL, NULL);
    if (client < 0) return Say(-1);
    char byte;
    if (recv(client, &byte, 1, 0) == 1) send(client, "OK", 2, MSG_NOSIGNAL);
    close(client);
  }
}
