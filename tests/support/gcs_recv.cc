// Preloaded where tests read gs:// over plain HTTP: recv() that returns at most 16 KiB.
//
// tensorflow-io-gcs-filesystem holds what libcurl hands over beyond the caller's buffer in one of
// 16 KiB and does not check. Over HTTPS, as with the real service, libcurl never has more at once:
// a TLS record holds 16 KiB. A local server without TLS gives it 128 KiB, and every answer of more
// than 144 KiB may then overwrite the heap (seen with AddressSanitizer in 0.37.1).

#include <dlfcn.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>

extern "C" ssize_t recv(int socket, void* buffer, size_t size, int flags) {
  using Recv = ssize_t (*)(int, void*, size_t, int);
  static const Recv next = reinterpret_cast<Recv>(dlsym(RTLD_NEXT, "recv"));
  return next(socket, buffer, std::min<size_t>(size, 16384), flags);
}
