// The C interface: a server that answers in capitals, and its client.
//
//   hello_c          serves three questions; starts itself a second time as the client
//   hello_c NAME     asks whoever has published NAME
//
// cc -std=c11 hello_c.c $(pkg-config --cflags --libs hamlyn-c)
#define _POSIX_C_SOURCE 200809L
#include <ctype.h>
#include <hamlyn/hamlyn.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static const int64_t kPatience = INT64_C(30000000000);  // 30 s, in nanoseconds
static const char* const kQuestions[] = {"one", "two", "three"};

// Says what went wrong. Of errors of set-up, from 100 on, the library knows more than the number.
static int failed(hamlyn_status status) {
  fprintf(stderr, "hello_c: %s: %s\n", hamlyn_status_name(status),
          status < 100 ? hamlyn_status_advice(status) : hamlyn_last_error());
  return 1;
}

// Returns `result`, or a failure if some of the output could not be written.
static int written(int result) {
  if (fflush(stdout) == 0 && !ferror(stdout)) return result;
  // `errno` does not say why: the write that failed may have been an earlier one.
  fputs("hello_c: the output could not be written: see whether the disk is full, and who reads it\n", stderr);
  return result != 0 ? result : 1;
}

static pid_t start_client(char* name) {
  char self[] = "/proc/self/exe";
  char* words[] = {self, name, NULL};
  pid_t client = -1;
  return posix_spawn(&client, self, NULL, NULL, words, environ) == 0 ? client : -1;
}

// Takes the next question, and sends the answer to the seed that came with it.
static hamlyn_status answer(hamlyn_manager* manager, hamlyn_datagram_receiver* door) {
  hamlyn_datagram question;
  hamlyn_status status = hamlyn_datagram_receive(door, kPatience, &question);
  if (status != HAMLYN_OK) return status;
  if (!question.has_reply || question.length > 64) return HAMLYN_INVALID;
  char text[64];
  for (size_t i = 0; i < question.length; ++i) text[i] = (char)toupper(((unsigned char*)question.data)[i]);
  status = hamlyn_datagram_make_ready(door);  // its bytes are copied: the next one may come
  if (status != HAMLYN_OK) return status;

  hamlyn_datagram_sender* reply = NULL;
  status = hamlyn_datagram_sender_make(manager, &question.reply, &reply);
  if (status != HAMLYN_OK) return status;
  // Given to the link, and not waited for: a client that does not look holds up nobody else.
  status = hamlyn_datagram_send(reply, text, question.length, NULL, NULL);
  const hamlyn_status freed = hamlyn_datagram_sender_free(reply);
  return status == HAMLYN_OK ? freed : status;
}

static int serve(hamlyn_manager* manager) {
  hamlyn_datagram_receiver* door = NULL;
  hamlyn_status status = hamlyn_datagram_receiver_make(manager, 64, &door);
  if (status != HAMLYN_OK) return failed(status);

  // The seed is a value that grows a sender at the other side: here, of whoever of this user's processes
  // looks the name up.
  char name[32];
  snprintf(name, sizeof name, "hello_c.%ld", (long)getpid());
  hamlyn_seed seed;
  status = hamlyn_datagram_make_seed(door, &seed);
  if (status == HAMLYN_OK) status = hamlyn_manager_publish(manager, name, &seed, 0);

  const pid_t client = status == HAMLYN_OK ? start_client(name) : -1;
  for (size_t i = 0; client > 0 && status == HAMLYN_OK && i < sizeof kQuestions / sizeof *kQuestions; ++i)
    status = answer(manager, door);
  int end = 1;
  if (client > 0) waitpid(client, &end, 0);
  if (status == HAMLYN_OK) status = hamlyn_datagram_receiver_free(door);
  return status == HAMLYN_OK ? end != 0 : failed(status);
}

static int ask(hamlyn_manager* manager, const char* name) {
  hamlyn_seed seed;
  hamlyn_datagram_sender* server = NULL;
  hamlyn_datagram_receiver* mailbox = NULL;
  hamlyn_status status = hamlyn_manager_lookup(manager, name, kPatience, &seed);
  if (status == HAMLYN_OK) status = hamlyn_datagram_sender_make(manager, &seed, &server);
  if (status == HAMLYN_OK) status = hamlyn_datagram_receiver_make(manager, 64, &mailbox);

  const hamlyn_datagram_options options = {.size = sizeof options, .reply = mailbox};
  for (size_t i = 0; status == HAMLYN_OK && i < sizeof kQuestions / sizeof *kQuestions; ++i) {
    do {  // the server may not be ready yet: there is no queue
      status = hamlyn_datagram_deliver(server, kQuestions[i], strlen(kQuestions[i]), &options, kPatience);
    } while (status == HAMLYN_NOT_READY);
    hamlyn_datagram reply;
    if (status == HAMLYN_OK) status = hamlyn_datagram_receive(mailbox, kPatience, &reply);
    if (status == HAMLYN_OK) {
      printf("%.*s\n", (int)reply.length, (const char*)reply.data);
      status = hamlyn_datagram_make_ready(mailbox);
    }
  }
  if (status == HAMLYN_OK) status = hamlyn_datagram_receiver_free(mailbox);
  if (status == HAMLYN_OK) status = hamlyn_datagram_sender_free(server);
  return status == HAMLYN_OK ? 0 : failed(status);
}

int main(int count, char** words) {
  hamlyn_manager* manager = NULL;
  hamlyn_status status = hamlyn_manager_make(NULL, &manager);  // attaches, and starts a node if need be
  if (status != HAMLYN_OK) return failed(status);
  const int result = count > 1 ? ask(manager, words[1]) : serve(manager);
  if (result != 0) return result;  // what is left is freed with the process
  status = hamlyn_manager_free(manager);
  return status == HAMLYN_OK ? written(0) : failed(status);
}
