/* C ABI of Weftline. The rules that hold for every function, and an example: docs/c-api.md.
   Made from crates/weftline-capi by cbindgen: WEFTLINE_HEADER=write cargo test -p weftline-capi */

#ifndef WEFTLINE_H
#define WEFTLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Every symbol with a coefficient other than 0, from `key`. In GF(2) that is the plain sum.
#define WEFTLINE_COEFFICIENTS_NON_ZERO 0

// Any element for every symbol, 0 too, from `key`.
#define WEFTLINE_COEFFICIENTS_UNIFORM 1

// A symbol is kept with a probability of (`parameter` + 1) / 16, from `key`.
#define WEFTLINE_COEFFICIENTS_SPARSE 2

// All of the `parameter` newest symbols and fewer the older they are, from `key`.
#define WEFTLINE_COEFFICIENTS_FADING 3

// RFC 8681's, with `key` as repair key (16 bits) and `parameter` as density threshold.
#define WEFTLINE_COEFFICIENTS_RFC8681 4

// The vector itself: `vector_len` elements, one a byte.
#define WEFTLINE_COEFFICIENTS_EXPLICIT 5

// The most symbols of a block, a window or what a recoder holds: decoders need memory for the
// square of it.
#define WEFTLINE_MAX_SYMBOLS 8192

// What `weftline_session_timeout` returns when there is no timer.
#define WEFTLINE_NO_TIMEOUT UINT64_MAX

// What came of a call.
typedef enum WeftlineStatus {
  // Done.
  WEFTLINE_STATUS_OK = 0,
  // A handle or a place for a result is NULL.
  WEFTLINE_STATUS_NULL = 1,
  // An argument makes no sense, or does not fit the handle.
  WEFTLINE_STATUS_ARGUMENT = 2,
  // The buffer is too small; the length needed was written, and nothing is lost.
  WEFTLINE_STATUS_BUFFER_TOO_SMALL = 3,
  // No room: discard acknowledged symbols, or wait until there is.
  WEFTLINE_STATUS_FULL = 4,
  // That symbol is not known, or nothing is there now.
  WEFTLINE_STATUS_MISSING = 5,
  // Repair symbols contradict each other; the decoder goes on without them.
  WEFTLINE_STATUS_INCONSISTENT = 6,
  // Not now: an event tells when it is worth another try.
  WEFTLINE_STATUS_BLOCKED = 7,
  // The stream is at its end: everything was read, or this end has finished it.
  WEFTLINE_STATUS_END = 8,
  // The peer gave the stream up.
  WEFTLINE_STATUS_RESET = 9,
  // The session is over.
  WEFTLINE_STATUS_CLOSED = 10,
  // A bug in Weftline. The handle is only good for freeing.
  WEFTLINE_STATUS_INTERNAL = 11,
} WeftlineStatus;

// What happened in a session.
typedef enum WeftlineEventKind {
  // Nothing more.
  WEFTLINE_EVENT_KIND_NONE = 0,
  // The peer's limits are known.
  WEFTLINE_EVENT_KIND_CONNECTED = 1,
  // The peer opened a stream: accept it.
  WEFTLINE_EVENT_KIND_STREAM_OPENED = 2,
  // There is more to read on `stream`.
  WEFTLINE_EVENT_KIND_STREAM_READABLE = 3,
  // There is room to write to `stream`.
  WEFTLINE_EVENT_KIND_STREAM_WRITABLE = 4,
  // The peer has all of `stream`.
  WEFTLINE_EVENT_KIND_STREAM_FINISHED = 5,
  // The session is over.
  WEFTLINE_EVENT_KIND_CLOSED = 6,
  // Something that this interface has no calls for.
  WEFTLINE_EVENT_KIND_OTHER = 7,
} WeftlineEventKind;

// Recovers a block from any symbols of it that suffice.
typedef struct WeftlineBlockDecoder WeftlineBlockDecoder;

// A block of source symbols, and repair symbols over all of it: send the source symbols and then
// repair symbols (systematic), or nothing but repair symbols, as many as it takes.
typedef struct WeftlineBlockEncoder WeftlineBlockEncoder;

// Makes new repair symbols of those that reach a relay, without decoding them.
typedef struct WeftlineRecoder WeftlineRecoder;

// One end of a session.
typedef struct WeftlineSession WeftlineSession;

// Recovers source symbols from repair symbols, each as soon as it follows from what arrived.
typedef struct WeftlineWindowDecoder WeftlineWindowDecoder;

// Source symbols numbered by their ESI, and repair symbols over any window of those still held.
typedef struct WeftlineWindowEncoder WeftlineWindowEncoder;

// What multiplies each symbol of a repair symbol's window: a kind (`WEFTLINE_COEFFICIENTS_...`) and
// what that kind needs; other fields are not looked at. `{0}` with a `key` is a good choice in GF(2^8).
typedef struct WeftlineCoefficients {
  // One of `WEFTLINE_COEFFICIENTS_...`.
  uint32_t kind;
  // Determines the vector of all kinds but the explicit one; give each repair symbol another.
  uint32_t key;
  // Of some kinds.
  uint32_t parameter;
  // The explicit vector.
  const uint8_t *vector;
  // Its elements.
  size_t vector_len;
} WeftlineCoefficients;

// What a session may be told beside its preset. Zero in a field is the default.
typedef struct WeftlineSessionOptions {
  // Most payload bytes of a source symbol.
  uint16_t symbol_size;
  // Bytes that what carries the datagrams adds to each, for rate control.
  uint16_t datagram_overhead;
  // Bytes of the largest datagram that the path takes.
  uint32_t largest_datagram;
  // Sends at this rate, bits per second with the overhead, instead of finding out.
  uint64_t fixed_rate;
  // Keeps so many bytes in flight at most, instead of finding out.
  uint64_t fixed_window;
  // Leaves the rate to what carries the datagrams: sends whenever asked.
  bool carrier_rate;
} WeftlineSessionOptions;

// An event.
typedef struct WeftlineEvent {
  // What happened.
  enum WeftlineEventKind kind;
  // The stream concerned.
  uint64_t stream;
} WeftlineEvent;

// Counters of a session.
typedef struct WeftlineSessionStats {
  // Datagrams sent.
  uint64_t datagrams;
  // Source symbols sent for the first time.
  uint64_t source_symbols;
  // Source symbols sent again.
  uint64_t retransmissions;
  // Repair symbols sent.
  uint64_t repair_symbols;
  // Datagrams received that passed all checks.
  uint64_t received_datagrams;
  // Source symbols recovered by decoding.
  uint64_t recovered_symbols;
  // Share of this end's datagrams lost recently.
  double loss;
  // Smoothed round-trip time, nanoseconds.
  uint64_t rtt_ns;
} WeftlineSessionStats;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Why the last call that failed on this thread did, in words: what was expected, what came. Valid
// until the next call that fails on this thread; empty if none has.
const char *weftline_last_error(void);

// What a status means, in words. Valid for ever.
const char *weftline_status_message(uint32_t status);

// The version of the library, such as "0.1.0". Valid for ever.
const char *weftline_version(void);

// Writes the coding vector over a window of `length` symbols in GF(2^bits): one element a byte.
enum WeftlineStatus weftline_coefficients_fill(uint32_t bits,
                                               struct WeftlineCoefficients coefficients,
                                               uint8_t *vector,
                                               size_t length);

// The longest payload, in bytes, whose repair symbols in GF(2^bits) are no longer than `room` bytes: those
// are 2 longer, rounded up to whole groups of the field. 0 if there is none.
size_t weftline_longest_payload(uint32_t bits,
                                size_t room);

// An empty block in GF(2^bits), 1 to 8 bits, for at most `max_symbols` symbols of at most
// `max_symbol_size` bytes (65,535 at most). NULL if that cannot be.
struct WeftlineBlockEncoder *weftline_block_encoder_new(uint32_t bits,
                                                        size_t max_symbols,
                                                        size_t max_symbol_size);

// Frees a block.
void weftline_block_encoder_free(struct WeftlineBlockEncoder *encoder);

// Takes the next source symbol into the block (a copy) and tells its index, unless `index` is NULL.
enum WeftlineStatus weftline_block_encoder_push(struct WeftlineBlockEncoder *encoder,
                                                const uint8_t *payload,
                                                size_t length,
                                                size_t *index);

// Writes the repair symbol with these coefficients over the whole block, and its length: 2 bytes
// more than the longest payload, rounded up to whole groups of the field.
enum WeftlineStatus weftline_block_encoder_repair(struct WeftlineBlockEncoder *encoder,
                                                  struct WeftlineCoefficients coefficients,
                                                  uint8_t *buffer,
                                                  size_t capacity,
                                                  size_t *length);

// Empties the block for the next one; memory is reused.
enum WeftlineStatus weftline_block_encoder_clear(struct WeftlineBlockEncoder *encoder);

// A decoder in GF(2^bits), 1 to 8 bits, for a block of `symbols` symbols of at most
// `max_symbol_size` bytes. NULL if that cannot be.
struct WeftlineBlockDecoder *weftline_block_decoder_new(uint32_t bits,
                                                        size_t symbols,
                                                        size_t max_symbol_size);

// Frees a decoder.
void weftline_block_decoder_free(struct WeftlineBlockDecoder *decoder);

// Takes a source symbol (a copy). `innovative`, unless NULL, tells whether it brought anything new.
enum WeftlineStatus weftline_block_decoder_source(struct WeftlineBlockDecoder *decoder,
                                                  size_t index,
                                                  const uint8_t *payload,
                                                  size_t length,
                                                  bool *innovative);

// Takes a repair symbol made with these coefficients. `innovative`, unless NULL, tells whether it
// brought anything new. The one that makes the block solvable solves it.
enum WeftlineStatus weftline_block_decoder_repair(struct WeftlineBlockDecoder *decoder,
                                                  struct WeftlineCoefficients coefficients,
                                                  const uint8_t *data,
                                                  size_t length,
                                                  bool *innovative);

// How many more innovative symbols complete the block; 0 when every symbol is known.
size_t weftline_block_decoder_deficit(const struct WeftlineBlockDecoder *decoder);

// How many source symbols are missing.
size_t weftline_block_decoder_missing(const struct WeftlineBlockDecoder *decoder);

// Where the payload of a known symbol is, and its length; valid until the decoder is used again
// but for looking.
enum WeftlineStatus weftline_block_decoder_symbol(const struct WeftlineBlockDecoder *decoder,
                                                  size_t index,
                                                  const uint8_t **payload,
                                                  size_t *length);

// Forgets everything and begins a block of as many symbols; memory is reused.
enum WeftlineStatus weftline_block_decoder_clear(struct WeftlineBlockDecoder *decoder);

// An empty window in GF(2^bits), 1 to 8 bits, that holds at most `capacity` symbols of at most
// `max_symbol_size` bytes (65,535 at most). NULL if that cannot be.
struct WeftlineWindowEncoder *weftline_window_encoder_new(uint32_t bits,
                                                          size_t capacity,
                                                          size_t max_symbol_size);

// Frees an encoder.
void weftline_window_encoder_free(struct WeftlineWindowEncoder *encoder);

// Takes the next source symbol (a copy) and tells its ESI, unless `esi` is NULL. `WEFTLINE_STATUS_FULL`
// while the window holds as many as it may.
enum WeftlineStatus weftline_window_encoder_push(struct WeftlineWindowEncoder *encoder,
                                                 const uint8_t *payload,
                                                 size_t length,
                                                 uint64_t *esi);

// The symbols held: the first ESI and one past the last.
enum WeftlineStatus weftline_window_encoder_held(const struct WeftlineWindowEncoder *encoder,
                                                 uint64_t *first,
                                                 uint64_t *end);

// Lets go of all symbols below `esi`, which the receiver has.
enum WeftlineStatus weftline_window_encoder_discard_before(struct WeftlineWindowEncoder *encoder,
                                                           uint64_t esi);

// Writes the repair symbol over the symbols from `first` to before `end`, and its length: 2 bytes
// more than the longest payload, rounded up to whole groups of the field.
enum WeftlineStatus weftline_window_encoder_repair(struct WeftlineWindowEncoder *encoder,
                                                   uint64_t first,
                                                   uint64_t end,
                                                   struct WeftlineCoefficients coefficients,
                                                   uint8_t *buffer,
                                                   size_t capacity,
                                                   size_t *length);

// A decoder in GF(2^bits), 1 to 8 bits, that keeps at most `max_span` symbols of at most
// `max_symbol_size` bytes, of which any may be missing, and takes repair symbols over windows of
// as many. NULL if that cannot be.
struct WeftlineWindowDecoder *weftline_window_decoder_new(uint32_t bits,
                                                          size_t max_span,
                                                          size_t max_symbol_size);

// Frees a decoder.
void weftline_window_decoder_free(struct WeftlineWindowDecoder *decoder);

// Takes a source symbol (a copy). `innovative`, unless NULL, tells whether it brought anything new.
enum WeftlineStatus weftline_window_decoder_source(struct WeftlineWindowDecoder *decoder,
                                                   uint64_t esi,
                                                   const uint8_t *payload,
                                                   size_t length,
                                                   bool *innovative);

// Takes a repair symbol over the symbols from `first` to before `end`. `innovative`, unless NULL,
// tells whether it brought anything new.
enum WeftlineStatus weftline_window_decoder_repair(struct WeftlineWindowDecoder *decoder,
                                                   uint64_t first,
                                                   uint64_t end,
                                                   struct WeftlineCoefficients coefficients,
                                                   const uint8_t *data,
                                                   size_t length,
                                                   bool *innovative);

// The ESI of the next symbol that became known, received or recovered, each once;
// `WEFTLINE_STATUS_MISSING` when there is none now.
enum WeftlineStatus weftline_window_decoder_next_known(struct WeftlineWindowDecoder *decoder,
                                                       uint64_t *esi);

// Where the payload of a known symbol is, and its length; valid until the decoder is used again
// but for looking.
enum WeftlineStatus weftline_window_decoder_symbol(const struct WeftlineWindowDecoder *decoder,
                                                   uint64_t esi,
                                                   const uint8_t **payload,
                                                   size_t *length);

// The in-order edge: the lowest ESI that is not known.
uint64_t weftline_window_decoder_contiguous(const struct WeftlineWindowDecoder *decoder);

// How many symbols are missing.
size_t weftline_window_decoder_missing(const struct WeftlineWindowDecoder *decoder);

// How many more innovative symbols it takes until nothing is missing.
size_t weftline_window_decoder_deficit(const struct WeftlineWindowDecoder *decoder);

// Forgets all symbols below `esi`; missing ones are given up.
enum WeftlineStatus weftline_window_decoder_forget_before(struct WeftlineWindowDecoder *decoder,
                                                          uint64_t esi);

// A relay in GF(2^bits), 1 to 8 bits, that holds at most `max_symbols` symbols of at most
// `max_symbol_size` bytes, and combines at most `max_span` consecutive ESIs. NULL if that cannot be.
struct WeftlineRecoder *weftline_recoder_new(uint32_t bits,
                                             size_t max_symbols,
                                             size_t max_span,
                                             size_t max_symbol_size);

// Frees a relay.
void weftline_recoder_free(struct WeftlineRecoder *recoder);

// Takes a source symbol that was received. `innovative`, unless NULL, tells whether it brought
// anything new.
enum WeftlineStatus weftline_recoder_source(struct WeftlineRecoder *recoder,
                                            uint64_t esi,
                                            const uint8_t *payload,
                                            size_t length,
                                            bool *innovative);

// Takes a repair symbol that was received, over the symbols from `first` to before `end`.
// `innovative`, unless NULL, tells whether it brought anything new.
enum WeftlineStatus weftline_recoder_repair(struct WeftlineRecoder *recoder,
                                            uint64_t first,
                                            uint64_t end,
                                            struct WeftlineCoefficients coefficients,
                                            const uint8_t *data,
                                            size_t length,
                                            bool *innovative);

// Writes a new repair symbol: its window to `first` and `end`, its explicit coding vector, one element
// a byte and as many as the window has symbols, to `vector`, and its data. Give each another `key`.
// The vector's elements are `end - first`. If a buffer is too small, window and length of the data
// are written all the same.
enum WeftlineStatus weftline_recoder_recode(struct WeftlineRecoder *recoder,
                                            uint32_t key,
                                            uint64_t *first,
                                            uint64_t *end,
                                            uint8_t *vector,
                                            size_t vector_capacity,
                                            uint8_t *data,
                                            size_t data_capacity,
                                            size_t *data_length);

// How many symbols are held, all of them independent of each other.
size_t weftline_recoder_rank(const struct WeftlineRecoder *recoder);

// Forgets all symbols below `esi`, keeping what can be said without them.
enum WeftlineStatus weftline_recoder_forget_before(struct WeftlineRecoder *recoder, uint64_t esi);

// A session that begins at `now_ns`, with a preset ("auto", "streaming", "arq", ...) and options, or NULL
// for the defaults. One end is the client, the other is not. Equal seeds and calls give equal
// datagrams. Times are nanoseconds from any zero and never go backwards. NULL if that cannot be.
struct WeftlineSession *weftline_session_new(bool client,
                                             const char *preset,
                                             const struct WeftlineSessionOptions *options,
                                             uint64_t seed,
                                             uint64_t now_ns);

// Frees a session.
void weftline_session_free(struct WeftlineSession *session);

// Hands over a datagram that arrived. Whatever it holds, nothing worse happens than that it is
// dropped, or the end of the session for a peer that breaks the protocol.
enum WeftlineStatus weftline_session_handle_datagram(struct WeftlineSession *session,
                                                     uint64_t now_ns,
                                                     const uint8_t *datagram,
                                                     size_t length);

// Writes the next datagram to send; `WEFTLINE_STATUS_MISSING` when there is none now. What to send
// is decided at this moment, so ask only when it can be sent.
enum WeftlineStatus weftline_session_poll_datagram(struct WeftlineSession *session,
                                                   uint64_t now_ns,
                                                   uint8_t *buffer,
                                                   size_t capacity,
                                                   size_t *length);

// When `weftline_session_handle_timeout` is due, in nanoseconds; `WEFTLINE_NO_TIMEOUT` when the session is
// over and can be freed.
uint64_t weftline_session_timeout(const struct WeftlineSession *session);

// The time that `weftline_session_timeout` named has come.
enum WeftlineStatus weftline_session_handle_timeout(struct WeftlineSession *session,
                                                    uint64_t now_ns);

// The next event; its kind is `WEFTLINE_EVENT_KIND_NONE` when there is none.
enum WeftlineStatus weftline_session_poll_event(struct WeftlineSession *session,
                                                struct WeftlineEvent *event);

// Opens a stream, which both ends can write to and read from.
enum WeftlineStatus weftline_session_open_stream(struct WeftlineSession *session, uint64_t *stream);

// Takes a stream that the peer has opened; `WEFTLINE_STATUS_MISSING` when there is none.
enum WeftlineStatus weftline_session_accept_stream(struct WeftlineSession *session,
                                                   uint64_t *stream);

// Writes bytes to a stream and tells how many were taken, at least one unless there are none.
enum WeftlineStatus weftline_session_write(struct WeftlineSession *session,
                                           uint64_t stream,
                                           const uint8_t *data,
                                           size_t length,
                                           size_t *written);

// Ends a stream after what was written.
enum WeftlineStatus weftline_session_finish(struct WeftlineSession *session, uint64_t stream);

// Reads in-order bytes of a stream and tells how many; `WEFTLINE_STATUS_END` when the peer has finished
// it and all was read.
enum WeftlineStatus weftline_session_read(struct WeftlineSession *session,
                                          uint64_t stream,
                                          uint8_t *buffer,
                                          size_t capacity,
                                          size_t *read);

// Whether the peer has everything that was written and finished.
bool weftline_session_all_acknowledged(const struct WeftlineSession *session);

// Ends the session at once, for the peer too: `code` 0 says that all went well.
enum WeftlineStatus weftline_session_close(struct WeftlineSession *session,
                                           uint64_t now_ns,
                                           uint64_t code);

// A snapshot of the counters.
enum WeftlineStatus weftline_session_stats(const struct WeftlineSession *session,
                                           struct WeftlineSessionStats *stats);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* WEFTLINE_H */
