#pragma once
// Calls (docs/calls.md), in C: procedures by their number, with frames of arguments and results in the one
// layout (docs/wire.md). A program in C++ calls them by their signatures, and the other way round.
// The rules of all functions and handles stand at the top of hamlyn/c.h.
#include "hamlyn/c.h"

#ifdef __cplusplus
extern "C" {
#endif

// Whether a call was done.
enum hamlyn_rpc_fate {
  HAMLYN_RPC_DONE = 0,
  HAMLYN_RPC_NOT_DONE = 1,
  HAMLYN_RPC_UNKNOWN = 2  // no answer has come
};
// Why a server has not done what it was called for, or what its procedure did.
enum hamlyn_rpc_cause {
  HAMLYN_RPC_NONE = 0,
  HAMLYN_RPC_NO_PROCEDURE = 1,
  HAMLYN_RPC_BAD_ARGUMENTS = 2,
  HAMLYN_RPC_CANCELLED = 3,
  HAMLYN_RPC_TOO_DEEP = 4,
  HAMLYN_RPC_THREW = 5,  // the procedure has failed: `text` says how
  HAMLYN_RPC_RESULT_TOO_LONG = 6,
  HAMLYN_RPC_NO_MEMORY = 7,
  HAMLYN_RPC_UNANSWERED = 8,
  HAMLYN_RPC_TOO_MANY = 9
};
// The name of a cause. Never NULL.
const char* hamlyn_rpc_cause_name(uint32_t cause);

// How a side waits.
enum hamlyn_rpc_waits { HAMLYN_RPC_LATELY = 0, HAMLYN_RPC_SPIN = 1, HAMLYN_RPC_SLEEP = 2 };

// --- servers

// Serves procedures. Any thread; as many serve as call hamlyn_rpc_run or hamlyn_rpc_serve_one.
typedef struct hamlyn_rpc_server hamlyn_rpc_server;
// One call, until its procedure returns.
typedef struct hamlyn_rpc_call hamlyn_rpc_call;
// An answer that is given later, by any thread, one at a time.
typedef struct hamlyn_rpc_owed hamlyn_rpc_owed;

// Does a call: answers it by one of hamlyn_rpc_answer, hamlyn_rpc_fail and hamlyn_rpc_later. Otherwise its
// caller is told `unanswered`. An exception that it throws, in C++, is told as hamlyn_rpc_fail tells it,
// unless it was answered later by then. The arguments are good until it returns, at a multiple of 8 bytes,
// and whatever a stranger has sent.
typedef void (*hamlyn_rpc_function)(void* context, hamlyn_rpc_call* call, const void* arguments,
                                    size_t length);

// One procedure of a server's.
typedef struct hamlyn_rpc_procedure {
  const char* signature;         // "minus(i32,i32)->i32": clients ask for that
  hamlyn_rpc_function function;  // does its calls, in any thread that serves
} hamlyn_rpc_procedure;

// As hamlyn::rpc::ServerOptions.
typedef struct hamlyn_rpc_server_options {
  size_t size;
  uint32_t clients;   // at a time; 64
  uint32_t of_one;    // of them of one interface; 8
  uint32_t stacks;    // calls under way of each client; 16
  uint32_t owed;      // answers that may be given later, of all clients; 1024
  size_t frame;       // bytes of arguments that are copied out; 2048
  size_t long_frame;  // bytes of longer ones; 65536
  size_t result;      // bytes of a result; 65536
  uint32_t rights;    // HAMLYN_FOR_GROUP, HAMLYN_FOR_EVERYONE
  uint32_t waits;     // enum hamlyn_rpc_waits
} hamlyn_rpc_server_options;

// Registers a server of `count` procedures under `name`; their numbers are their places. `context` is given
// to each. As hamlyn_publish; also invalid_argument: a signature that is none.
HAMLYN_NODISCARD hamlyn_status hamlyn_rpc_server_make(hamlyn_interface* interface, const char* name,
                                                      const hamlyn_rpc_procedure* procedures, size_t count,
                                                      void* context, const hamlyn_rpc_server_options* options,
                                                      hamlyn_rpc_server** made);
// Threads that serve have left before.
HAMLYN_NODISCARD hamlyn_status hamlyn_rpc_server_free(hamlyn_rpc_server* server);
// Serves in this thread until hamlyn_rpc_stop. ok: it was stopped; cancelled, forked.
HAMLYN_NODISCARD hamlyn_status hamlyn_rpc_run(hamlyn_rpc_server* server);
// Waits for one call and serves it. ok: also without one, if somebody may wait no longer for a call whose
// answer is owed; timed_out, cancelled (stopped, too), forked.
HAMLYN_NODISCARD hamlyn_status hamlyn_rpc_serve_one(hamlyn_rpc_server* server, int64_t timeout);
// Has all threads that serve leave, once they have answered what they have begun.
HAMLYN_NODISCARD hamlyn_status hamlyn_rpc_stop(hamlyn_rpc_server* server);
// For epoll: readable when there may be a call, or somebody may wait no longer for one. Serve until timed_out
// before going back.
HAMLYN_NODISCARD hamlyn_status hamlyn_rpc_server_descriptor(hamlyn_rpc_server* server, int* descriptor);
// Gives the number of clients that there are now.
HAMLYN_NODISCARD hamlyn_status hamlyn_rpc_server_clients(const hamlyn_rpc_server* server, size_t* clients);

// Answers a call. ok; too_long: for its caller's room, who is told so; no_buffer; invalid: it was answered.
HAMLYN_NODISCARD hamlyn_status hamlyn_rpc_answer(hamlyn_rpc_call* call, const void* result, size_t length);
// Tells the caller that the procedure has failed, with the first 200 bytes of `text`. ok; invalid: it was
// answered; no_buffer.
HAMLYN_NODISCARD hamlyn_status hamlyn_rpc_fail(hamlyn_rpc_call* call, const char* text);
// Has it answered later, through `owed`. ok; queue_full: as many are owed as may be, and the call has ended
// so; no_buffer; invalid: it was answered.
HAMLYN_NODISCARD hamlyn_status hamlyn_rpc_later(hamlyn_rpc_call* call, hamlyn_rpc_owed** owed);

// A call, as its procedure is told of it.
typedef struct hamlyn_rpc_caller {
  uint64_t client;    // its interface, as the node attests it
  int64_t left;       // nanoseconds; HAMLYN_FOREVER: it has no deadline
  uint32_t user;      // as the node attests it
  uint32_t urgent;    // 1: it has overtaken others
  uint8_t trace[16];  // all zeros: none
} hamlyn_rpc_caller;
// Says who calls, and how. ok.
HAMLYN_NODISCARD hamlyn_status hamlyn_rpc_call_caller(const hamlyn_rpc_call* call, hamlyn_rpc_caller* caller);
// `cancelled`: 1, its caller has given up, or its time is over. Runs the interface.
HAMLYN_NODISCARD hamlyn_status hamlyn_rpc_call_cancelled(const hamlyn_rpc_call* call, int* cancelled);

// As hamlyn_rpc_answer; link_ended: the caller, or the server, has gone. Before the procedure has returned
// the answer is kept, and leaves when it returns.
HAMLYN_NODISCARD hamlyn_status hamlyn_rpc_owed_give(hamlyn_rpc_owed* owed, const void* result, size_t length);
// As hamlyn_rpc_fail, and link_ended.
HAMLYN_NODISCARD hamlyn_status hamlyn_rpc_owed_fail(hamlyn_rpc_owed* owed, const char* text);
// As hamlyn_rpc_call_cancelled; 1 also once it was answered.
HAMLYN_NODISCARD hamlyn_status hamlyn_rpc_owed_cancelled(const hamlyn_rpc_owed* owed, int* cancelled);
// Ends it `unanswered`, unless it was answered. It may be there for longer than its server.
HAMLYN_NODISCARD hamlyn_status hamlyn_rpc_owed_free(hamlyn_rpc_owed* owed);

// --- clients

// Calls the procedures of one server. Any thread, several at a time.
typedef struct hamlyn_rpc_client hamlyn_rpc_client;

// As hamlyn::rpc::ClientOptions.
typedef struct hamlyn_rpc_client_options {
  size_t size;
  uint32_t stacks;  // calls under way at most; 16
  uint32_t waits;   // enum hamlyn_rpc_waits
  size_t frame;     // bytes of a result that comes as one packet; 2048
  size_t result;    // bytes of a result; 65536
  int64_t timeout;  // to find the server and to be let in; 5 s
} hamlyn_rpc_client_options;

// Names a call. A value.
typedef struct hamlyn_rpc_id {
  uint64_t server;    // its interface
  uint64_t sequence;  // of its stack's calls, never used again; 0: of no call
  uint32_t session;   // one opening of the client
  uint32_t stack;     // of the client's
} hamlyn_rpc_id;

// Terms that a caller has for its call.
typedef struct hamlyn_rpc_terms {
  size_t size;
  int64_t time;          // that the call has, at both sides; 0: no end
  const uint8_t* trace;  // 16 bytes; NULL: that of the call that this thread serves
  uint32_t urgent;       // 1: it overtakes others
} hamlyn_rpc_terms;

// How a call ended.
typedef struct hamlyn_rpc_result {
  hamlyn_rpc_id call;
  size_t length;   // bytes of the result
  uint32_t cause;  // enum hamlyn_rpc_cause
  uint32_t fate;   // enum hamlyn_rpc_fate
  char text[208];  // of a procedure that has failed; zero-terminated
} hamlyn_rpc_result;

// Finds the server of that name. A call names its procedure by its place in `signatures`. As hamlyn_lookup;
// also seed_wrong_kind, version_mismatch, peer_refused, peer_died, invalid_argument: a signature that is
// none.
HAMLYN_NODISCARD hamlyn_status hamlyn_rpc_client_make(hamlyn_interface* interface, const char* name,
                                                      const char* const* signatures, size_t count,
                                                      const hamlyn_rpc_client_options* options,
                                                      hamlyn_rpc_client** made);
// Its calls have ended, or are dropped.
HAMLYN_NODISCARD hamlyn_status hamlyn_rpc_client_free(hamlyn_rpc_client* client);
// `has`: 1, the server has that procedure.
HAMLYN_NODISCARD hamlyn_status hamlyn_rpc_client_has(const hamlyn_rpc_client* client, size_t procedure,
                                                     int* has);
// Opens it again after its link has ended. ok; timed_out; refused, stale, link_ended, cancelled, forked.
HAMLYN_NODISCARD hamlyn_status hamlyn_rpc_client_reopen(hamlyn_rpc_client* client, int64_t timeout);

// Calls, and waits for the result, which is put into `into`; `terms` may be NULL. The status is that of
// hamlyn::rpc::Result; `result` is filled whatever it is. too_long: also a result of more than `room` bytes,
// of which those that there is room for are there.
HAMLYN_NODISCARD hamlyn_status hamlyn_rpc_do(hamlyn_rpc_client* client, size_t procedure,
                                             const void* arguments, size_t length,
                                             const hamlyn_rpc_terms* terms, void* into, size_t room,
                                             hamlyn_rpc_result* result);
// Starts a call, and never waits. ok: it is under way, until hamlyn_rpc_wait or hamlyn_rpc_drop; queue_full,
// too_long, refused, timed_out, link_ended, no_buffer, forked: it has not left.
HAMLYN_NODISCARD hamlyn_status hamlyn_rpc_start(hamlyn_rpc_client* client, size_t procedure,
                                                const void* arguments, size_t length,
                                                const hamlyn_rpc_terms* terms, hamlyn_rpc_id* call);
// Waits for its result, once. As hamlyn_rpc_do; timed_out, cancelled, no_buffer: it goes on.
HAMLYN_NODISCARD hamlyn_status hamlyn_rpc_wait(hamlyn_rpc_client* client, const hamlyn_rpc_id* call,
                                               int64_t timeout, void* into, size_t room,
                                               hamlyn_rpc_result* result);
// The server is asked not to begin it, or told to end it.
HAMLYN_NODISCARD hamlyn_status hamlyn_rpc_cancel(hamlyn_rpc_client* client, const hamlyn_rpc_id* call);
// Nobody wants its result any more.
HAMLYN_NODISCARD hamlyn_status hamlyn_rpc_drop(hamlyn_rpc_client* client, const hamlyn_rpc_id* call);
// Turns HAMLYN_RPC_UNKNOWN into one of the other two, while the server lives and remembers.
HAMLYN_NODISCARD hamlyn_status hamlyn_rpc_settle(hamlyn_rpc_client* client, const hamlyn_rpc_id* call,
                                                 int64_t timeout, uint32_t* fate);

#ifdef __cplusplus
}
#endif
