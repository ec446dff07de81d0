#pragma once
// Chooses the constructors of senders that begin to open and do not wait for the other side.

namespace hamlyn {

// Type of `kBegin`, which is the only one that anybody needs. A value.
struct Begin {
  // For `kBegin` alone: nobody gets here by an empty pair of braces.
  constexpr explicit Begin(int) noexcept {}
};

// Stands last among a sender's arguments: `StreamSender prices{manager, seed, kBegin}`. The sender opens
// while the program does other work; its `opened` says how far it is.
inline constexpr Begin kBegin{0};

}  // namespace hamlyn
