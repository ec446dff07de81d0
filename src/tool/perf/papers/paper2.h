#pragma once
// Measurements of paper 2, tables 1 and 3 to 5, and what its text says of figures 2 and 5: Begel, Buonadonna,
// Culler and Gay, An analysis of VI Architecture primitives in support of parallel and distributed
// communication (2001). Table 2 is in logp/table.cc.
#include <array>
#include <cstddef>

#include "tool/perf/our_vi.h"

namespace hamlyn::tool::perf::papers {

// Section 3.3. Half a round trip is of the smallest message.
struct Base {
  const char* what;
  double microseconds, megabytes_per_second;
};
inline constexpr std::array<Base, 4> kBases{{{"Myricom LANai 4 VI", 33.1, 62.8},
                                             {"Myricom LANai 7 VI", 30.2, 68.3},
                                             {"Giganet cLan", 24, 70},
                                             {"Compaq ServerNet II (simulated)", 7.4, 180}}};

// Section 7.3. A row of tables 3 and 4, which have the same calls: per cent of the time that the hosts spend
// on a request and its reply. (The text has lost a row of table 3 and one place of table 4: with 3.5 and 2.4
// in them the columns are 100.)
struct Call {
  const char* category;
  const char* operation;
  ViCall of;             // ours
  double request_reply;  // table 3, Active Messages
  double get;            // table 4, Split-C
};
inline constexpr std::array<Call, 13> kCalls{{
    {"base VI", "VipSendDone", ViCall::send_done, 7.0, 7.1},
    {"base VI", "VipPostSend", ViCall::post_send, 6.1, 9.4},
    {"base VI", "VipRecvDone", ViCall::receive_done, 7.4, 8.0},
    {"base VI", "VipPostRecv", ViCall::post_receive, 4.8, 5.6},
    {"base VI", "recycle send descriptor", ViCall::recycle_send, 1.7, 1.8},
    {"base VI", "recycle receive descriptor", ViCall::recycle_receive, 2.0, 1.8},
    {"base VI", "build send descriptor", ViCall::build_send, 3.5, 2.4},
    {"event notification", "VipCQDone (send)", ViCall::queue_send, 22.1, 24.4},
    {"event notification", "VipCQDone (receive)", ViCall::queue_receive, 22.1, 22.5},
    {"flow control", "send bookkeeping", ViCall::credit, 5.7, 4.9},
    {"flow control", "process received message", ViCall::match, 8.7, 6.7},
    {"semantics", "read data from message", ViCall::read, 6.3, 3.6},
    {"semantics", "act on message", ViCall::act, 2.6, 1.8},
}};
constexpr const Call& call_of(ViCall call) {
  std::size_t at = 0;
  while (kCalls[at].of != call) ++at;
  return kCalls[at];
}
inline constexpr std::array kCategories{"base VI", "event notification", "flow control", "semantics"};

// Section 7.4: why a message of 1 KiB takes longer than by VI alone. Microseconds.
inline constexpr double kCopyMicroseconds = 4, kReceiveMicroseconds = 14.5, kLongerMicroseconds = 18;

}  // namespace hamlyn::tool::perf::papers
