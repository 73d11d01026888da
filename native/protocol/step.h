#pragma once

#include <cstddef>

namespace native_runner {

// What an order with kOrderNamespaces has in place of rules: the steps by which a launcher makes
// namespaces, furnishes them, and enters them. They are taken in their order, and the first that
// fails is the end (kRefused). The first character is the step's kind; FILE is DEVICE:INODE:PATH
// (file_identity.h), a directory that is looked up in the namespaces as they are by then and must
// be the one that the host has looked at; NUMBER is a descriptor that the launcher was started
// with.
//
// A launcher takes such an order when it is started with an argument, kNamespacesRole. Without one
// it is the launcher of a command, closes what it was started with, and takes no such order.

// Makes a user namespace in which the user stays who he is, with all capabilities. For who may make
// no other namespace without.
inline constexpr char kStepUserNamespace = 'u';

// Makes a mount namespace. What is mounted in it is its own; what the host mounts or unmounts later
// is seen in it too.
inline constexpr char kStepMountNamespace = 'm';

// FILE: of the overlay to come, the next layer that it only reads, from the uppermost on; where it
// puts changes; and what it needs for that besides, on the same mount. See overlay(5) in
// Documentation/filesystems of Linux.
inline constexpr char kStepLower = 'l';
inline constexpr char kStepUpper = 'c';
inline constexpr char kStepWork = 'w';

// FILE: mounts the overlay of these on it.
inline constexpr char kStepOverlay = 'o';

// NUMBER: enters the namespace that it is, and closes it.
inline constexpr char kStepJoin = 'j';

// NUMBER:PATH: refuses unless the path leads to what the descriptor is.
inline constexpr char kStepShown = 's';

// NUMBER: has the overlay whose root it is forget what nobody uses of what it knows of its layers,
// so that it looks at them again; closes it.
inline constexpr char kStepLookAgain = 'a';

// Makes a network namespace whose loopback is up. "u" behind it: with a user namespace, as above,
// for who may make no other without. Nobody is handed either: what is bound in it keeps it.
inline constexpr char kStepNetworkNamespace = 'n';

// LENGTH:DIGITS: has every address of this block of IPv6 (its base, in 32 hexadecimal digits) lead
// to the loopback, where the kernel has IPv6; else nothing is done.
inline constexpr char kStepLocalBlock = 'b';

// A list of ports, with a comma between: binds a socket to each, and hands all of them over. A
// plain number is TCP that listens on every address, of IPv6 too where the kernel has it; behind
// kUdpPort it is UDP on 127.0.0.1. Close-on-exec, non-blocking.
inline constexpr char kStepListen = 'p';
inline constexpr char kUdpPort = 'u';
inline constexpr std::size_t kMostMade = 96;  // of one step; Linux takes 253 in a message

// NUMBER: executes it, with the order's argv and environment, and all that it was started with. The
// last step. Who has none of this kind ends with kExited.
inline constexpr char kStepExecute = 'x';

// The steps of a template (kOrderTemplate), which each of its clones takes once it has a user, pid,
// mount, IPC, UTS and cgroup namespace of its own. Of those above they may have
// kStepNetworkNamespace (without "u"; else the clone stays in the template's), kStepLocalBlock and
// kStepListen. PATH is where a file system of the clone's own is mounted.

// PATH: proc(5), not in the state of the template's; "r" ahead of the path: read-only.
inline constexpr char kStepProc = 'P';
// PATH: a tmpfs of the size that the clone's request says, mode 0755.
inline constexpr char kStepTmpfs = 't';
// PATH: devpts, another instance than any other (Documentation/filesystems/devpts.rst).
inline constexpr char kStepTerminals = 'd';

// UID:GID: who commands are. The clone enters a further user namespace, in which nobody has these
// mounts in his power, and leaves all capabilities. "-" behind it: nobody in it can make another
// one (user_namespaces(7), /proc/sys/user). The last step, and no template's order is without.
inline constexpr char kStepLeave = 'i';

// Whether a step makes something: the launcher then hands it over with a report of its own, kMade.
constexpr bool MakesSomething(char kind) {
  return kind == kStepUserNamespace || kind == kStepMountNamespace || kind == kStepOverlay ||
         kind == kStepListen;
}

inline constexpr char kNamespacesRole[] = "namespaces";

}  // namespace native_runner
