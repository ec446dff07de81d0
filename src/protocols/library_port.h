#pragma once
// The streams' way to the library's interface (port.h). Everything here is called under the manager's lock.
#include <cstring>
#include <memory>

#include "base/namespaces.h"
#include "hamlyn/core/message_area.h"
#include "protocols/dispatcher.h"
#include "protocols/port.h"

namespace hamlyn::internal_::protocols {

class LibraryPort {
 public:
  // Makes `owner` the receiver of all that arrives at this port's landings.
  LibraryPort(Dispatcher& dispatcher, Receiver& owner)
      : dispatcher_(dispatcher), owner_(owner), terminus_(dispatcher.interface, {.entries = 8}) {}

  class Landing {
   public:
    Landing(Dispatcher& dispatcher, Receiver& owner, std::size_t bytes, const Slot::Options& options)
        : dispatcher_(dispatcher),
          area_(dispatcher.interface, bytes),
          slot_(area_, dispatcher.queue, options) {
      dispatcher_.add(slot_.number(), owner);
    }
    ~Landing() { dispatcher_.remove(slot_.number()); }
    Landing(const Landing&) = delete;
    Landing& operator=(const Landing&) = delete;

    std::uint32_t number() const noexcept { return slot_.number(); }
    Ticket ticket() const { return slot_.ticket(); }
    Ticket ticket(std::uint32_t entry) const { return slot_.ticket(entry); }
    std::span<std::byte> bytes() noexcept { return slot_.bytes(); }
    std::uint64_t word(std::uint32_t entry) const noexcept {
      const std::span<const std::byte> metadata = slot_.metadata(entry);
      return metadata.size() == sizeof(std::uint64_t) ? base::load_little<std::uint64_t>(metadata.data()) : 0;
    }
    Status arm(std::uint32_t entry) noexcept { return slot_.arm(entry); }
    Status arm(std::uint32_t entry, Limits limits) noexcept { return slot_.arm(entry, limits); }
    Status disarm(std::uint32_t entry) noexcept { return slot_.disarm(entry); }
    void change_key() noexcept { slot_.change_key(); }
    Status expect(std::uint32_t entry, std::uint64_t peer) noexcept { return slot_.expect(entry, peer); }

   private:
    Dispatcher& dispatcher_;
    MessageArea area_;
    Slot slot_;
  };

  Status send_fast(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t word,
                   std::uint64_t offset) noexcept {
    return terminus_.send_fast(ticket, data, word, offset);
  }
  Status send(const Ticket& ticket, std::span<const std::byte> data, const SendOptions& options,
              SendHandle* handle) noexcept {
    return terminus_.send(ticket, data, options, handle);
  }
  Status send_piece(const Ticket& ticket, const Piece& piece, const SendOptions& options,
                    SendHandle* handle) noexcept {
    return terminus_.send_gathered(ticket, {&piece, 1}, options, handle);
  }
  Status status(SendHandle handle) const noexcept { return terminus_.status(handle); }
  Refusal refusal(SendHandle handle) const noexcept { return terminus_.refusal(handle); }
  bool linked(std::uint64_t peer) noexcept { return dispatcher_.linked(peer); }
  Status connect(const Ticket& ticket) noexcept { return terminus_.try_connect(ticket); }
  std::unique_ptr<Landing> make_landing(std::size_t bytes, const Slot::Options& options) {
    return std::make_unique<Landing>(dispatcher_, owner_, bytes, options);
  }
  Terminus& terminus() noexcept { return terminus_; }

 private:
  Dispatcher& dispatcher_;
  Receiver& owner_;
  Terminus terminus_;
};

}  // namespace hamlyn::internal_::protocols
