#pragma once
// What players do, a file for each pair of roles. Each runs until the driver lets everybody leave, and gives
// the process's exit status; an Error ends it.
#include "test/chaos/stage.h"

namespace hamlyn::chaos {

int send_fast(Stage& stage);  // messages of one packet
int receive_fast(Stage& stage);
int send_counted(Stage& stage);  // of many packets, acknowledged, by copy and out of areas
int receive_counted(Stage& stage);
int send_to_many(Stage& stage);  // multicast, to those who receive counted messages
int send_stream(Stage& stage);
int receive_stream(Stage& stage);
int send_datagrams(Stage& stage);
int receive_datagrams(Stage& stage);
int send_tagged(Stage& stage);
int receive_tagged(Stage& stage);
int lend(Stage& stage);
int borrow(Stage& stage);
int fetch(Stage& stage);  // fetch-and-add, and gets
int be_fetched_from(Stage& stage);
int write_segment(Stage& stage);  // puts and compare-and-swap
int export_segment(Stage& stage);
int use_names(Stage& stage);
int scribble(Stage& stage);  // over all memory that a link lets it write
int ask(Stage& stage);       // the bystanders: never killed, never stopped
int answer(Stage& stage);

}  // namespace hamlyn::chaos
