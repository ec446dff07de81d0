#pragma once
// Trace of a run, event by event: a number that stands for all of it, so that two runs can be compared, and
// on request each event in words.
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string_view>

namespace hamlyn::simulation {

class Trace {
 public:
  using Reader = std::function<void(std::string_view line)>;

  // `reader` may be empty.
  explicit Trace(Reader reader) : reader_(std::move(reader)) {}

  // Each % in `text` stands for the next of `values`. `process` 0: nobody's in particular.
  void note(std::uint64_t time, std::uint64_t process, std::string_view text,
            std::initializer_list<std::uint64_t> values);

  std::uint64_t digest() const noexcept { return digest_; }

 private:
  void mix(std::uint64_t value) noexcept { digest_ = (digest_ ^ value) * 0x100000001B3u; }
  void tell(std::uint64_t time, std::uint64_t process, std::string_view text,
            std::initializer_list<std::uint64_t> values) const;

  Reader reader_;
  std::uint64_t digest_ = 0xCBF29CE484222325u;
};

}  // namespace hamlyn::simulation
