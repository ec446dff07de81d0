#pragma once
// A process of a test, forked before any Interface exists, that plays one part and is told over a socket what
// to do next. It ends with the test. Nothing here waits without an end.
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <type_traits>

#include "base/file_descriptor.h"
#include "test/support/command.h"

namespace hamlyn::test {

// One end of the socket: values of fixed size, one per message.
class Line {
 public:
  explicit Line(base::FileDescriptor socket) : socket_(std::move(socket)) {}

  template <class T>
  bool put(const T& value) const {
    static_assert(std::is_trivially_copyable_v<T>);
    return put_bytes(std::as_bytes(std::span(&value, 1)));
  }
  // Nothing: the other end has gone, or nothing came in time.
  template <class T>
  std::optional<T> take(std::chrono::milliseconds patience = kPatience) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (!take_bytes(std::as_writable_bytes(std::span(&value, 1)), patience)) return std::nullopt;
    return value;
  }
  bool gone() const;  // the other end
  int descriptor() const noexcept { return socket_.get(); }

 private:
  bool put_bytes(std::span<const std::byte> bytes) const;
  bool take_bytes(std::span<std::byte> bytes, std::chrono::milliseconds patience) const;

  base::FileDescriptor socket_;
};

class Actor {
 public:
  using Part = std::function<int(Line&)>;

  // `user`: its uid and gid, or -1 for our own. An Error, or any other exception, ends it with 99.
  explicit Actor(const Part& part, int user = -1);
  ~Actor();
  Actor(Actor&&) noexcept;
  Actor& operator=(Actor&&) = delete;

  pid_t pid() const noexcept { return pid_; }
  Line& line() noexcept { return line_; }
  void signal(int number) const;
  bool stopped();  // by a signal; to be asked for once per stop
  bool running();
  // Waits for its end: its exit status, or 128 and the signal. -1 if it does not end; it is then killed.
  int wait();

 private:
  Actor(std::pair<base::FileDescriptor, base::FileDescriptor> ends, const Part& part, int user);
  void look();

  Line line_;
  pid_t pid_ = -1;
  bool stopped_ = false;
  std::optional<int> status_;
};

}  // namespace hamlyn::test
