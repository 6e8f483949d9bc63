// Replaces recv() by one that returns at most 16 KiB. Tests that read gs:// over plain HTTP preload
// it.
//
// If libcurl hands over more than fits the caller's buffer, tensorflow-io-gcs-filesystem copies the
// rest to a buffer of 16 KiB without checking its size. Over HTTPS, as with the real service, the
// rest always fits, because a TLS record holds at most 16 KiB. A local server without TLS may give
// 128 KiB at once, so every answer of more than 144 KiB may overwrite the heap, as AddressSanitizer
// shows for 0.37.1.

#include <dlfcn.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>

extern "C" ssize_t recv(int socket, void* buffer, size_t size, int flags) {
  using Recv = ssize_t (*)(int, void*, size_t, int);
  static const Recv next = reinterpret_cast<Recv>(dlsym(RTLD_NEXT, "recv"));
  return next(socket, buffer, std::min<size_t>(size, 16384), flags);
}
