#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "probe.h"

// FAMILY (a number): a stream socket of it, else a datagram one, else a raw or sequenced one.
int MakeSocket(int argc, char** argv) {
  if (argc != 1) return 98;
  static const int kTypes[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET, SOCK_RAW};
  int made = -1;
  int error = 0;
  for (unsigned i = 0; i < sizeof kTypes / sizeof *kTypes && made < 0; ++i) {
    made = socket(atoi(argv[0]), kTypes[i], 0);
    // A type or protocol that the family lacks says nothing about the family.
    if (made < 0 && errno != ESOCKTNOSUPPORT && errno != EPROTONOSUPPORT) error = errno;
  }
  errno = error;
  return Say(made);
}

static int Ask(int fd, const struct sockaddr* address, socklen_t size) {
  const struct timeval patience = {3, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  char answer[64];
  if (connect(fd, address, size) != 0 || send(fd, "?", 1, MSG_NOSIGNAL) != 1) return Say(-1);
  const ssize_t got = recv(fd, answer, sizeof answer, 0);
  if (got < 0) return Say(-1);
  printf("%.*s\n", (int)got, answer);
  return 0;
}

static int AskLoopback(int type, const char* port) {
  const struct sockaddr_in address = {.sin_family = AF_INET,
                                      .sin_port = htons((unsigned short)atoi(port)),
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  const int fd = socket(AF_INET, type, 0);
  if (fd < 0) return Say(-1);
  return Ask(fd, (const struct sockaddr*)&address, sizeof address);
}

// PORT on 127.0.0.1: sends a byte, prints the answer.
int AskTcp(int argc, char** argv) {
  return argc == 1 ? AskLoopback(SOCK_STREAM, argv[0]) : 98;
}
int AskUdp(int argc, char** argv) {
  return argc == 1 ? AskLoopback(SOCK_DGRAM, argv[0]) : 98;
}

static int AskAddress(const struct sockaddr_un* address, size_t size) {
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (fd < 0) return Say(-1);
  return Ask(fd, (const struct sockaddr*)address, (socklen_t)size);
}

// Whether somebody listens at an abstract name of that length.
static int Listens(const struct sockaddr_un* address, size_t size) {
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  const int connected = fd >= 0 && connect(fd, (const struct sockaddr*)address, (socklen_t)size) == 0;
  if (fd >= 0) close(fd);
  return connected;
}

// NAME, as it is, else padded with NUL bytes: libuv bound names so before version 1.46, and to the
// kernel that is another name.
int AskAbstract(int argc, char** argv) {
  if (argc != 1) return 98;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  const size_t length = strlen(argv[0]) + 1;
  if (length + 1 > sizeof address.sun_path) return 98;
  memcpy(address.sun_path + 1, argv[0], length - 1);
  const size_t exact = offsetof(struct sockaddr_un, sun_path) + length;
  return AskAddress(&address, Listens(&address, exact) ? exact : sizeof address);
}

// PATH of a socket.
int AskUnix(int argc, char** argv) {
  if (argc != 1) return 98;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(argv[0]) + 1 > sizeof address.sun_path) return 98;
  memcpy(address.sun_path, argv[0], strlen(argv[0]));
  return AskAddress(&address, sizeof address);
}

// Prints the names of the network interfaces, a line each.
int ShowInterfaces(int argc, char** argv) {
  (void)argc;
  (void)argv;
  struct if_nameindex* const all = if_nameindex();
  if (all == NULL) return Say(-1);
  for (const struct if_nameindex* each = all; each->if_index != 0; ++each)
    puts(each->if_name);
  if_freenameindex(all);
  return 0;
}
