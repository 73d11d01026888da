# The libuv that the supervisor runs on, from third_party/: the addon carries it and needs none of its
# host. Built as it comes, without our warnings and without sanitizers. Its functions are marked to be
# exported from wherever they are: addon/exports.map hides them, or Node's own libuv would be called in
# their place.
set(LIBUV_ROOT "${CMAKE_SOURCE_DIR}/third_party/libuv")

set(LIBUV_SOURCES
  fs-poll idna inet random strscpy strtok thread-common threadpool timer uv-common
  uv-data-getter-setters version
  unix/async unix/core unix/dl unix/fs unix/getaddrinfo unix/getnameinfo unix/linux unix/loop
  unix/loop-watcher unix/pipe unix/poll unix/process unix/procfs-exepath unix/proctitle
  unix/random-devurandom unix/random-getrandom unix/random-sysctl-linux unix/signal unix/stream
  unix/tcp unix/thread unix/tty unix/udp)
list(TRANSFORM LIBUV_SOURCES PREPEND "${LIBUV_ROOT}/src/")
list(TRANSFORM LIBUV_SOURCES APPEND ".c")

add_library(own_libuv STATIC ${LIBUV_SOURCES})
target_include_directories(own_libuv SYSTEM PUBLIC "${LIBUV_ROOT}/include")
target_include_directories(own_libuv PRIVATE "${LIBUV_ROOT}/src")
target_compile_definitions(own_libuv PRIVATE
  _FILE_OFFSET_BITS=64 _LARGEFILE_SOURCE _GNU_SOURCE _POSIX_C_SOURCE=200112)
# Most of it is never called: --gc-sections leaves that out of the addon.
target_compile_options(own_libuv PRIVATE
  -w -fvisibility=hidden -fno-strict-aliasing -ffunction-sections -fdata-sections)
if(NOT NATIVE_RUNNER_SANITIZE)  # which has functions of its own before glibc's, of no version
  target_compile_options(own_libuv PRIVATE "SHELL:-include '${CMAKE_SOURCE_DIR}/third_party/first_glibc.h'")
endif()
set_target_properties(own_libuv PROPERTIES EXPORT_COMPILE_COMMANDS OFF)
find_package(Threads REQUIRED)
target_link_libraries(own_libuv PUBLIC Threads::Threads ${CMAKE_DL_LIBS})
