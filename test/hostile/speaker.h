#pragma once
#include <sys/socket.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

#include "base/socket.h"
#include "fabric/shm/shm_link.h"
#include "library/control/link_keeper.h"

namespace hamlyn::test {

// The other end of a link that has a keeper here, as it speaks to it.
struct Speaker : interface::Surroundings {
  static constexpr std::uint64_t kPeer = 9;

  base::Foreign foreign;
  library::AreaBudget budget;     // unless another is given
  library::HandedOut handed_out;  // likewise
  std::optional<library::LinkKeeper> keeper;
  base::FileDescriptor socket;

  explicit Speaker(std::uint32_t uid, library::AreaBudget* shared = nullptr,
                   library::HandedOut* handed = nullptr) {
    auto [ours, theirs] = base::socket_pair();
    socket = std::move(theirs);
    node::Event introduction;
    introduction.peer = kPeer;
    introduction.peer_uid = uid;
    keeper.emplace(std::move(introduction), base::ForeignSocket(foreign, std::move(ours)), 1, 7, 8192,
                   shared != nullptr ? *shared : budget, handed != nullptr ? *handed : handed_out);
    const shm::OwnedMemory page = shm::ShmLink::prepare_page(kPeer, 8192);
    say({.word = library::LinkWord::page}, {page.memfd.get()});
  }
  void say(const library::LinkMessage& message, std::initializer_list<int> fds) {
    base::send_message(socket.get(), std::as_bytes(std::span(&message, 1)),
                       std::span(fds.begin(), fds.size()));
  }
  library::LinkKeeper::End read() {
    const library::LinkKeeper::End end = keeper->read(*this);
    if (end != library::LinkKeeper::End::none) return end;
    const library::LinkKeeper::End settled = keeper->settle();
    keeper->answer();
    return settled;
  }
  // How often the keeper has said that since it was last asked.
  int heard(library::LinkWord word) {
    int times = 0;
    library::LinkMessage message;
    while (base::receive_message(socket.get(), std::as_writable_bytes(std::span(&message, 1)), MSG_DONTWAIT)
               .state == base::SocketState::ok)
      times += message.word == word ? 1 : 0;
    return times;
  }

  std::uint64_t random_key() override { return 1; }
  void want_link(std::uint64_t) noexcept override {}
  void attention() noexcept override {}
  void signal(interface::Queue&) noexcept override {}
};

}  // namespace hamlyn::test
