#pragma once
// Names a private member, which an explicit instantiation may: who waits inside is nobody's business but the
// library's and ours.

namespace hamlyn::test {

template <class Name, typename Name::Type member>
struct Reveal {
  friend typename Name::Type reveal(Name) { return member; }
};

}  // namespace hamlyn::test

// `object.*reveal(Name{})` is its member then.
#define HAMLYN_REVEAL(Name, Class, Member, member) \
  struct Name {                                    \
    using Type = Member Class::*;                  \
    friend Type reveal(Name);                      \
  };                                               \
  template struct Reveal<Name, &Class::member>
