#include "splitc/vi/partner.h"

namespace hamlyn::internal_::splitc {

const char* words_of(Broken rule) noexcept {
  switch (rule) {
    case Broken::none:
      return "nothing that is wrong";
    case Broken::kind:
      return "a message of no kind that there is";
    case Broken::number:
      return "a request out of its turn";
    case Broken::length:
      return "a message of a length that cannot be";
    case Broken::credits:
      return "more requests than its credits";
    case Broken::place:
      return "a request that leads out of the heap";
    case Broken::operation:
      return "an operation that there is not, or on a word that is not aligned";
    case Broken::unasked:
      return "an answer to nothing that was asked";
    case Broken::store:
      return "an acknowledgement of stores that are not under way";
  }
  return "something that is no rule";
}

}  // namespace hamlyn::internal_::splitc
