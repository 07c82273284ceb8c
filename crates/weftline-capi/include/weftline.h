/* The C ABI of Weftline. docs/c-api.md has the rules that hold for every function, and examples.
   A session encrypts nothing and authenticates nobody: docs/c-api.md, "Security".
   Made from crates/weftline-capi by cbindgen: WEFTLINE_HEADER=write cargo test -p weftline-capi */

#ifndef WEFTLINE_H
#define WEFTLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A coefficient other than 0 for every symbol, drawn from `key`. In GF(2) that is the plain sum.
#define WEFTLINE_COEFFICIENTS_NON_ZERO 0

// Any element of the field, also 0, for every symbol, drawn from `key`.
#define WEFTLINE_COEFFICIENTS_UNIFORM 1

// A coefficient other than 0 for each symbol with a probability of (`parameter` + 1) / 16, drawn from `key`.
#define WEFTLINE_COEFFICIENTS_SPARSE 2

// A coefficient other than 0 for the `parameter` newest symbols, and for fewer of the older ones, drawn from
// `key`.
#define WEFTLINE_COEFFICIENTS_FADING 3

// The coefficients of RFC 8681, with `key` as repair key (16 bits) and `parameter` as density threshold.
#define WEFTLINE_COEFFICIENTS_RFC8681 4

// The vector itself: `vector_len` elements, one a byte.
#define WEFTLINE_COEFFICIENTS_EXPLICIT 5

// The most symbols of a block, of a window and of a recoder. A decoder needs memory for the square of its
// symbols.
#define WEFTLINE_MAX_SYMBOLS 8192

// What `weftline_session_timeout` returns when the session is over.
#define WEFTLINE_NO_TIMEOUT UINT64_MAX

// The shortest datagram that `weftline_session_set_largest_datagram` accepts, in bytes.
#define WEFTLINE_MIN_DATAGRAM 256

// The largest application error code, 2^62 - 1 (codes are variable-length integers of RFC 9000, section 16).
#define WEFTLINE_MAX_CODE 4611686018427387903

// The deadline of a message that is delivered however long it takes.
#define WEFTLINE_NO_DEADLINE UINT64_MAX

// The result of a call.
typedef enum WeftlineStatus {
  // Done.
  WEFTLINE_STATUS_OK = 0,
  // A handle or a place for a result is NULL.
  WEFTLINE_STATUS_NULL = 1,
  // An argument makes no sense, or does not fit the handle.
  WEFTLINE_STATUS_ARGUMENT = 2,
  // The buffer is too small. The call wrote the length that it needs, and nothing is lost.
  WEFTLINE_STATUS_BUFFER_TOO_SMALL = 3,
  // There is no room: discard symbols that the receiver has, or give up old ones.
  WEFTLINE_STATUS_FULL = 4,
  // That symbol is not known, or there is nothing now.
  WEFTLINE_STATUS_MISSING = 5,
  // Repair symbols contradict each other. The decoder goes on without them.
  WEFTLINE_STATUS_INCONSISTENT = 6,
  // Not now: an event tells when to try again.
  WEFTLINE_STATUS_BLOCKED = 7,
  // The stream is at its end: everything was read, or this end has finished or reset it.
  WEFTLINE_STATUS_END = 8,
  // The peer has reset or stopped the stream; `weftline_last_code` returns its code.
  WEFTLINE_STATUS_RESET = 9,
  // The session is over; `weftline_session_close_reason` says why.
  WEFTLINE_STATUS_CLOSED = 10,
  // A bug in Weftline. Free the handle and use it for nothing else.
  WEFTLINE_STATUS_INTERNAL = 11,
  // The repair symbol came too late: it covers symbols that were forgotten. Drop it. This is not an
  // error of anyone.
  WEFTLINE_STATUS_LATE = 12,
} WeftlineStatus;

// Which field of a `WeftlineOutput` says what to do.
typedef enum WeftlineOutputKind {
  // The buffer holds a datagram of `length` bytes: send it.
  WEFTLINE_OUTPUT_KIND_TRANSMIT = 1,
  // `event` happened: tell the application.
  WEFTLINE_OUTPUT_KIND_EVENT = 2,
  // Nothing more to do now: wait for a datagram, or until `timeout_ns`.
  WEFTLINE_OUTPUT_KIND_TIMEOUT = 3,
} WeftlineOutputKind;

// What happened in a session.
typedef enum WeftlineEventKind {
  // There is no event now.
  WEFTLINE_EVENT_KIND_NONE = 0,
  // The peer's limits are known.
  WEFTLINE_EVENT_KIND_CONNECTED = 1,
  // The peer opened a stream: accept it.
  WEFTLINE_EVENT_KIND_STREAM_OPENED = 2,
  // There is more to read on `stream`: data, its end or its reset.
  WEFTLINE_EVENT_KIND_STREAM_READABLE = 3,
  // There is room to write to `stream`.
  WEFTLINE_EVENT_KIND_STREAM_WRITABLE = 4,
  // The peer has everything that was written to `stream`, which is finished.
  WEFTLINE_EVENT_KIND_STREAM_FINISHED = 5,
  // The session is over; `weftline_session_close_reason` says why. No event follows.
  WEFTLINE_EVENT_KIND_CLOSED = 6,
  // The peer reads no more of `stream`; `code` is its application error code.
  WEFTLINE_EVENT_KIND_STREAM_STOPPED = 7,
  // A stream can be opened again.
  WEFTLINE_EVENT_KIND_STREAMS_AVAILABLE = 8,
  // A message can be received.
  WEFTLINE_EVENT_KIND_MESSAGE_RECEIVED = 9,
  // There is room to send messages again.
  WEFTLINE_EVENT_KIND_MESSAGE_WRITABLE = 10,
  // The deadline of `message` passed before the peer acknowledged all of it; nothing more is done for it.
  WEFTLINE_EVENT_KIND_MESSAGE_EXPIRED = 11,
  // The peer has `message`.
  WEFTLINE_EVENT_KIND_MESSAGE_DELIVERED = 12,
  // An event that this version of the header does not know. Ignore it.
  WEFTLINE_EVENT_KIND_OTHER = 255,
} WeftlineEventKind;

// Who ended a session, and how.
typedef enum WeftlineCloseClass {
  // This end closed it.
  WEFTLINE_CLOSE_CLASS_LOCAL = 1,
  // The peer's application closed it with a code.
  WEFTLINE_CLOSE_CLASS_PEER = 2,
  // Nothing arrived for the idle timeout.
  WEFTLINE_CLOSE_CLASS_TIMED_OUT = 3,
  // The peer broke the protocol.
  WEFTLINE_CLOSE_CLASS_PROTOCOL = 4,
  // The peer says that this end broke the protocol, or speaks another version.
  WEFTLINE_CLOSE_CLASS_REFUSED = 5,
  // A reason that this version of the header does not know.
  WEFTLINE_CLOSE_CLASS_OTHER = 255,
} WeftlineCloseClass;

// What `weftline_config_set` sets. Times are nanoseconds, sizes are bytes.
enum WeftlineConfigOption
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // The longest payload of a source symbol.
  WEFTLINE_CONFIG_OPTION_SYMBOL_SIZE = 1,
  // What the carrier, UDP and IP add to each datagram. Only rate control uses it.
  WEFTLINE_CONFIG_OPTION_DATAGRAM_OVERHEAD = 2,
  // Sends at this rate, in bits per second with the overhead, and does not search for one. 0:
  // no fixed rate.
  WEFTLINE_CONFIG_OPTION_FIXED_RATE = 3,
  // Keeps at most this many bytes in flight, and does not search for a window. 0: no fixed window.
  WEFTLINE_CONFIG_OPTION_FIXED_WINDOW = 4,
  // 1: the carrier controls the rate, and the session sends whenever it is asked. 0: it does not.
  WEFTLINE_CONFIG_OPTION_CARRIER_RATE = 5,
  // What the session accepts from the application before it is sent: on each stream, and in messages.
  WEFTLINE_CONFIG_OPTION_SEND_BUFFER = 6,
  // The session ends when nothing arrives for this long.
  WEFTLINE_CONFIG_OPTION_IDLE_TIMEOUT = 7,
  // Sends a probe when nothing was sent for this long. 0: sends none.
  WEFTLINE_CONFIG_OPTION_KEEP_ALIVE = 8,
  // The round-trip time that is assumed until one is measured.
  WEFTLINE_CONFIG_OPTION_INITIAL_RTT = 9,
  // 1: delivers messages after their deadline too. 0: drops them.
  WEFTLINE_CONFIG_OPTION_DELIVER_LATE_MESSAGES = 10,
  // The longest payload of a source symbol that this end accepts.
  WEFTLINE_CONFIG_OPTION_LIMIT_SYMBOL_SIZE = 32,
  // Source symbols that the peer may send beyond the oldest one that is missing here.
  WEFTLINE_CONFIG_OPTION_LIMIT_SYMBOLS = 33,
  // Source symbols that one repair symbol may cover.
  WEFTLINE_CONFIG_OPTION_LIMIT_WINDOW = 34,
  // Symbols that may be missing at once before further repair symbols are refused.
  WEFTLINE_CONFIG_OPTION_LIMIT_UNKNOWNS = 35,
  // Stream data in the whole session that the application has not read.
  WEFTLINE_CONFIG_OPTION_LIMIT_SESSION_DATA = 36,
  // Data of one stream that the application has not read.
  WEFTLINE_CONFIG_OPTION_LIMIT_STREAM_DATA = 37,
  // Streams that the peer may have open at once.
  WEFTLINE_CONFIG_OPTION_LIMIT_STREAMS = 38,
  // The longest message that this end accepts.
  WEFTLINE_CONFIG_OPTION_LIMIT_MESSAGE_SIZE = 39,
  // Messages that are incomplete or that the application has not received.
  WEFTLINE_CONFIG_OPTION_LIMIT_MESSAGE_DATA = 40,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum WeftlineConfigOption WeftlineConfigOption;
#else
typedef uint32_t WeftlineConfigOption;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Recovers a block from as many of its symbols as suffice, whichever they are.
typedef struct WeftlineBlockDecoder WeftlineBlockDecoder;

// A block of source symbols, which makes repair symbols over all of them. Send the source symbols and then
// repair symbols (systematic), or only repair symbols.
typedef struct WeftlineBlockEncoder WeftlineBlockEncoder;

// The configuration of a session. It can be used for any number of sessions.
typedef struct WeftlineConfig WeftlineConfig;

// Makes new repair symbols from the symbols that reach a relay, without decoding them.
typedef struct WeftlineRecoder WeftlineRecoder;

// One end of a session.
typedef struct WeftlineSession WeftlineSession;

// Recovers source symbols from repair symbols, each as soon as the symbols that arrived determine it.
typedef struct WeftlineWindowDecoder WeftlineWindowDecoder;

// Source symbols, numbered by their ESI (encoding symbol id). It makes repair symbols over any window of
// the symbols that it still holds.
typedef struct WeftlineWindowEncoder WeftlineWindowEncoder;

// The coding vector of a repair symbol, which has one coefficient for each symbol of its window: a kind
// (`WEFTLINE_COEFFICIENTS_...`) and the fields that the kind uses. Other fields are ignored. `{0}` with a `key` is
// a good choice in GF(2^8).
typedef struct WeftlineCoefficients {
  // One of `WEFTLINE_COEFFICIENTS_...`.
  uint32_t kind;
  // Determines the vector of all kinds except the explicit one. Use a new key for each repair symbol.
  uint32_t key;
  // Some kinds have one.
  uint32_t parameter;
  // The explicit vector.
  const uint8_t *vector;
  // How many elements it has.
  size_t vector_len;
} WeftlineCoefficients;

// An event. A field that `kind` does not mention is 0.
typedef struct WeftlineEvent {
  // What happened.
  enum WeftlineEventKind kind;
  // The stream concerned.
  uint64_t stream;
  // The message concerned, as `weftline_session_send_message` numbered it.
  uint64_t message;
  // The peer's application error code.
  uint64_t code;
} WeftlineEvent;

// What a driver must do next. A field that `kind` does not mention is 0.
typedef struct WeftlineOutput {
  // What to do.
  enum WeftlineOutputKind kind;
  // Bytes of the datagram in the buffer.
  size_t length;
  // What happened.
  struct WeftlineEvent event;
  // When `weftline_session_handle_timeout` is due, in nanoseconds; `WEFTLINE_NO_TIMEOUT` when the session
  // is over and can be freed.
  uint64_t timeout_ns;
} WeftlineOutput;

// A message that was received.
typedef struct WeftlineMessage {
  // The peer's number for it.
  uint64_t id;
  // Its deadline had passed when it was complete.
  bool late;
} WeftlineMessage;

// Why a session is over.
typedef struct WeftlineCloseReason {
  // Who ended it, and how.
  enum WeftlineCloseClass by;
  // The application error code of the peer, which is 0 if all went well; 0 for other classes.
  uint64_t code;
  // The peer's words if its application closed the session, else a description. UTF-8, never NULL, and
  // valid until the session is freed.
  const char *text;
} WeftlineCloseReason;

// Counters and estimates of a session. Counters only rise.
typedef struct WeftlineSessionStats {
  // Datagrams sent.
  uint64_t datagrams;
  // Their bytes, without what the carrier adds.
  uint64_t bytes;
  // Source symbols sent for the first time.
  uint64_t source_symbols;
  // Source symbols sent again.
  uint64_t retransmissions;
  // Repair symbols sent.
  uint64_t repair_symbols;
  // Feedback datagrams sent.
  uint64_t feedback;
  // Times that the retransmission timer has fired.
  uint64_t timeouts;
  // Bytes of streams and messages sent for the first time.
  uint64_t data;
  // Messages dropped because their deadline passed before they were sent.
  uint64_t expired_messages;
  // Datagrams received that passed all checks.
  uint64_t received_datagrams;
  // Their bytes, without what the carrier adds.
  uint64_t received_bytes;
  // Source symbols received that were new.
  uint64_t received_source_symbols;
  // Repair symbols received.
  uint64_t received_repair_symbols;
  // Of those, the ones that told the decoder something new.
  uint64_t useful_repair_symbols;
  // Source symbols recovered by decoding.
  uint64_t recovered_symbols;
  // Source symbols given up because the peer no longer covers them.
  uint64_t abandoned_symbols;
  // Bytes of streams and messages delivered to the application.
  uint64_t received_data;
  // Messages that were complete only after their deadline.
  uint64_t late_messages;
  // Datagrams dropped because they were not valid.
  uint64_t dropped_malformed;
  // Datagrams dropped because they had arrived before.
  uint64_t dropped_replayed;
  // Datagrams dropped because their symbols lie outside the limits of this end.
  uint64_t dropped_out_of_window;
  // Datagrams dropped because they contradict what is known.
  uint64_t dropped_inconsistent;
  // Bytes sent, not acknowledged and not known to be lost.
  uint64_t in_flight;
  // Source symbols sent and not acknowledged.
  uint64_t unacknowledged_symbols;
  // Bytes accepted from the application and not sent.
  uint64_t queued;
  // Smoothed round-trip time, nanoseconds.
  uint64_t rtt_ns;
  // Smallest round-trip time, nanoseconds.
  uint64_t min_rtt_ns;
  // Share of this end's datagrams that were lost recently, 0 to 1.
  double loss;
  // Mean length of a run of lost datagrams recently; 0 before the first loss.
  double mean_burst;
} WeftlineSessionStats;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Why the last call that failed on this thread has failed, in words: what was expected and what was
// given. The text is valid until the next call that fails on this thread. It is empty if no call has
// failed.
const char *weftline_last_error(void);

// The application error code that the peer gave when it reset or stopped the stream of the last call
// on this thread that returned `WEFTLINE_STATUS_RESET`. 0 if no call has.
uint64_t weftline_last_code(void);

// What a status means, in words. The text is valid for ever.
const char *weftline_status_message(uint32_t status);

// The version of the library, such as "0.1.0". The text is valid for ever.
const char *weftline_version(void);

// Writes the coding vector over a window of `length` symbols in GF(2^bits): one element a byte.
enum WeftlineStatus weftline_coefficients_fill(uint32_t bits,
                                               struct WeftlineCoefficients coefficients,
                                               uint8_t *vector,
                                               size_t length);

// The longest payload, in bytes, whose repair symbols in GF(2^bits) have at most `room` bytes. A repair symbol
// is 2 bytes longer than the payload, rounded up to whole groups of the field. 0 if there is none.
size_t weftline_longest_payload(uint32_t bits,
                                size_t room);

// Makes an empty block in GF(2^bits), 1 to 8 bits, for at most `max_symbols` symbols
// (`WEFTLINE_MAX_SYMBOLS` at most) of at most `max_symbol_size` bytes (65,535 at most). Returns NULL if there
// is no such code.
struct WeftlineBlockEncoder *weftline_block_encoder_new(uint32_t bits,
                                                        size_t max_symbols,
                                                        size_t max_symbol_size);

// Frees a block.
void weftline_block_encoder_free(struct WeftlineBlockEncoder *encoder);

// Adds a copy of the next source symbol to the block. `index`, unless NULL, gets its index. Returns
// `WEFTLINE_STATUS_FULL` when the block has all its symbols.
enum WeftlineStatus weftline_block_encoder_push(struct WeftlineBlockEncoder *encoder,
                                                const uint8_t *payload,
                                                size_t length,
                                                size_t *index);

// Writes the repair symbol with these coefficients over the whole block, and its length: 2 bytes
// more than the longest payload of the block, rounded up to whole groups of the field.
enum WeftlineStatus weftline_block_encoder_repair(struct WeftlineBlockEncoder *encoder,
                                                  struct WeftlineCoefficients coefficients,
                                                  uint8_t *buffer,
                                                  size_t capacity,
                                                  size_t *length);

// Removes all symbols, so that the next block can begin. The memory is used again.
enum WeftlineStatus weftline_block_encoder_clear(struct WeftlineBlockEncoder *encoder);

// Makes a decoder in GF(2^bits), 1 to 8 bits, for a block of `symbols` symbols of at most
// `max_symbol_size` bytes. Returns NULL if there is no such code.
struct WeftlineBlockDecoder *weftline_block_decoder_new(uint32_t bits,
                                                        size_t symbols,
                                                        size_t max_symbol_size);

// Frees a decoder.
void weftline_block_decoder_free(struct WeftlineBlockDecoder *decoder);

// Gives the decoder a source symbol, which it copies. `innovative`, unless NULL, says whether the symbol was
// new to it.
enum WeftlineStatus weftline_block_decoder_source(struct WeftlineBlockDecoder *decoder,
                                                  size_t index,
                                                  const uint8_t *payload,
                                                  size_t length,
                                                  bool *innovative);

// Gives the decoder a repair symbol that was made with these coefficients. `innovative`, unless NULL, says
// whether it told the decoder something new. The block is solved as soon as that is possible.
enum WeftlineStatus weftline_block_decoder_repair(struct WeftlineBlockDecoder *decoder,
                                                  struct WeftlineCoefficients coefficients,
                                                  const uint8_t *data,
                                                  size_t length,
                                                  bool *innovative);

// How many more innovative symbols the decoder needs; 0 when every symbol is known.
size_t weftline_block_decoder_deficit(const struct WeftlineBlockDecoder *decoder);

// How many source symbols are missing.
size_t weftline_block_decoder_missing(const struct WeftlineBlockDecoder *decoder);

// Writes where the payload of a known symbol is, and its length. The payload is valid until the next call
// that changes the decoder. Returns `WEFTLINE_STATUS_MISSING` for a symbol that is not known.
enum WeftlineStatus weftline_block_decoder_symbol(const struct WeftlineBlockDecoder *decoder,
                                                  size_t index,
                                                  const uint8_t **payload,
                                                  size_t *length);

// Forgets everything, so that the next block of the same number of symbols can begin. The memory is used
// again.
enum WeftlineStatus weftline_block_decoder_clear(struct WeftlineBlockDecoder *decoder);

// Makes an empty encoder in GF(2^bits), 1 to 8 bits, that holds at most `capacity` symbols
// (`WEFTLINE_MAX_SYMBOLS` at most) of at most `max_symbol_size` bytes (65,535 at most). Returns NULL if there
// is no such code.
struct WeftlineWindowEncoder *weftline_window_encoder_new(uint32_t bits,
                                                          size_t capacity,
                                                          size_t max_symbol_size);

// Frees an encoder.
void weftline_window_encoder_free(struct WeftlineWindowEncoder *encoder);

// Adds a copy of the next source symbol. `esi`, unless NULL, gets its ESI. Returns `WEFTLINE_STATUS_FULL`
// while the encoder holds as many symbols as it may.
enum WeftlineStatus weftline_window_encoder_push(struct WeftlineWindowEncoder *encoder,
                                                 const uint8_t *payload,
                                                 size_t length,
                                                 uint64_t *esi);

// Writes which symbols the encoder holds: the first ESI, and the ESI after the last.
enum WeftlineStatus weftline_window_encoder_held(const struct WeftlineWindowEncoder *encoder,
                                                 uint64_t *first,
                                                 uint64_t *end);

// Discards all symbols below `esi`. Call this for symbols that the receiver has.
enum WeftlineStatus weftline_window_encoder_discard_before(struct WeftlineWindowEncoder *encoder,
                                                           uint64_t esi);

// Writes the repair symbol over the symbols from `first` up to and without `end`, and its length: 2 bytes
// more than their longest payload, rounded up to whole groups of the field.
enum WeftlineStatus weftline_window_encoder_repair(struct WeftlineWindowEncoder *encoder,
                                                   uint64_t first,
                                                   uint64_t end,
                                                   struct WeftlineCoefficients coefficients,
                                                   uint8_t *buffer,
                                                   size_t capacity,
                                                   size_t *length);

// Makes a decoder in GF(2^bits), 1 to 8 bits, that keeps at most `max_span` symbols, known or missing, of at
// most `max_symbol_size` bytes, and accepts repair symbols over at most as many. Returns NULL if there is no
// such code.
struct WeftlineWindowDecoder *weftline_window_decoder_new(uint32_t bits,
                                                          size_t max_span,
                                                          size_t max_symbol_size);

// Frees a decoder.
void weftline_window_decoder_free(struct WeftlineWindowDecoder *decoder);

// Gives the decoder a source symbol, which it copies. `innovative`, unless NULL, says whether the symbol was
// new to it. Returns `WEFTLINE_STATUS_FULL` for a symbol too far above the oldest one that
// the decoder keeps: forget older symbols.
enum WeftlineStatus weftline_window_decoder_source(struct WeftlineWindowDecoder *decoder,
                                                   uint64_t esi,
                                                   const uint8_t *payload,
                                                   size_t length,
                                                   bool *innovative);

// Gives the decoder a repair symbol over the symbols from `first` up to and without `end`. `innovative`,
// unless NULL, says whether it told the decoder something new. Returns `WEFTLINE_STATUS_LATE` if it covers
// symbols that the decoder has forgotten and needs them: drop the repair symbol and continue.
enum WeftlineStatus weftline_window_decoder_repair(struct WeftlineWindowDecoder *decoder,
                                                   uint64_t first,
                                                   uint64_t end,
                                                   struct WeftlineCoefficients coefficients,
                                                   const uint8_t *data,
                                                   size_t length,
                                                   bool *innovative);

// Writes the ESI of the next symbol that became known, received or recovered, each symbol once. Returns
// `WEFTLINE_STATUS_MISSING` when there is none now.
enum WeftlineStatus weftline_window_decoder_next_known(struct WeftlineWindowDecoder *decoder,
                                                       uint64_t *esi);

// Writes where the payload of a known symbol is, and its length. The payload is valid until the next call
// that changes the decoder. Returns `WEFTLINE_STATUS_MISSING` for a symbol that is not known.
enum WeftlineStatus weftline_window_decoder_symbol(const struct WeftlineWindowDecoder *decoder,
                                                   uint64_t esi,
                                                   const uint8_t **payload,
                                                   size_t *length);

// The in-order edge: the lowest ESI that is not known.
uint64_t weftline_window_decoder_contiguous(const struct WeftlineWindowDecoder *decoder);

// How many symbols are missing.
size_t weftline_window_decoder_missing(const struct WeftlineWindowDecoder *decoder);

// How many more innovative symbols the decoder needs until nothing is missing.
size_t weftline_window_decoder_deficit(const struct WeftlineWindowDecoder *decoder);

// Forgets all symbols below `esi`, and gives up those of them that are missing.
enum WeftlineStatus weftline_window_decoder_forget_before(struct WeftlineWindowDecoder *decoder,
                                                          uint64_t esi);

// Makes a relay in GF(2^bits), 1 to 8 bits, that holds at most `max_symbols` symbols of at most
// `max_symbol_size` bytes, and combines at most `max_span` consecutive ESIs. Returns NULL if there is no
// such code.
struct WeftlineRecoder *weftline_recoder_new(uint32_t bits,
                                             size_t max_symbols,
                                             size_t max_span,
                                             size_t max_symbol_size);

// Frees a relay.
void weftline_recoder_free(struct WeftlineRecoder *recoder);

// Gives the relay a source symbol that it received. `innovative`, unless NULL, says whether it told the
// relay something new.
enum WeftlineStatus weftline_recoder_source(struct WeftlineRecoder *recoder,
                                            uint64_t esi,
                                            const uint8_t *payload,
                                            size_t length,
                                            bool *innovative);

// Gives the relay a repair symbol that it received, over the symbols from `first` up to and without `end`.
// `innovative`, unless NULL, says whether it told the relay something new. Returns `WEFTLINE_STATUS_LATE` if it
// covers symbols that the relay has forgotten and needs them.
enum WeftlineStatus weftline_recoder_repair(struct WeftlineRecoder *recoder,
                                            uint64_t first,
                                            uint64_t end,
                                            struct WeftlineCoefficients coefficients,
                                            const uint8_t *data,
                                            size_t length,
                                            bool *innovative);

// Writes a new repair symbol: its window to `first` and `end`, its explicit coding vector to `vector`
// (`end - first` elements, one a byte), and its data. Use a new `key` for each. If a buffer is too small, the
// window and the length of the data are written all the same. Returns `WEFTLINE_STATUS_MISSING` while the
// relay holds nothing.
enum WeftlineStatus weftline_recoder_recode(struct WeftlineRecoder *recoder,
                                            uint32_t key,
                                            uint64_t *first,
                                            uint64_t *end,
                                            uint8_t *vector,
                                            size_t vector_capacity,
                                            uint8_t *data,
                                            size_t data_capacity,
                                            size_t *data_length);

// How many symbols the relay holds. They are independent of each other.
size_t weftline_recoder_rank(const struct WeftlineRecoder *recoder);

// Forgets all symbols below `esi`, and keeps what is known about the others without them.
enum WeftlineStatus weftline_recoder_forget_before(struct WeftlineRecoder *recoder, uint64_t esi);

// Makes a configuration from a preset and its options as text: "auto", "streaming,l=5",
// "udp-rc,field=256,feedback=periodic:20" (docs/reference/presets.md lists them). What the text does
// not mention has its default. Returns NULL for a text that makes no sense; `weftline_last_error`
// then says what is wrong with it.
struct WeftlineConfig *weftline_config_parse(const char *text);

// Frees a configuration. Sessions made from it stay as they are.
void weftline_config_free(struct WeftlineConfig *config);

// Sets an option, one of `WEFTLINE_CONFIG_OPTION_...`. A value that the option cannot hold is
// refused here; a value that makes no sense for a session is refused by `weftline_session_new`.
enum WeftlineStatus weftline_config_set(struct WeftlineConfig *config,
                                        uint32_t option,
                                        uint64_t value);

// Writes the value of an option, one of `WEFTLINE_CONFIG_OPTION_...`.
enum WeftlineStatus weftline_config_get(const struct WeftlineConfig *config,
                                        uint32_t option,
                                        uint64_t *value);

// Makes a session that begins at `now_ns`. `config` may be NULL for the defaults; the session keeps
// a copy of it. One end of a session is the client (`client` is not 0) and the other is not. Equal seeds and equal calls
// give equal datagrams; the seed is not a secret. All times are nanoseconds from a zero that the
// caller chooses, and never go backwards. Returns NULL if the configuration makes no sense.
struct WeftlineSession *weftline_session_new(int client,
                                             const struct WeftlineConfig *config,
                                             uint64_t seed,
                                             uint64_t now_ns);

// Frees a session. The peer is told nothing; see `weftline_session_close`.
void weftline_session_free(struct WeftlineSession *session);

// Gives the session a datagram that arrived. The datagram may hold anything: the session drops an
// invalid one, and ends if the peer breaks the protocol.
enum WeftlineStatus weftline_session_handle_datagram(struct WeftlineSession *session,
                                                     uint64_t now_ns,
                                                     const uint8_t *datagram,
                                                     size_t length);

// Tells the session that the time of `weftline_session_timeout` has come. An earlier call is harmless.
enum WeftlineStatus weftline_session_handle_timeout(struct WeftlineSession *session,
                                                    uint64_t now_ns);

// When `weftline_session_handle_timeout` is due, in nanoseconds. `WEFTLINE_NO_TIMEOUT` when the session is
// over and can be freed. The time is right only after the session has no datagram left to send.
uint64_t weftline_session_timeout(const struct WeftlineSession *session);

// Writes the next datagram to send. Returns `WEFTLINE_STATUS_MISSING` when there is none now. The session
// decides at this moment what to send, so ask only when the datagram can be sent.
enum WeftlineStatus weftline_session_poll_datagram(struct WeftlineSession *session,
                                                   uint64_t now_ns,
                                                   uint8_t *buffer,
                                                   size_t capacity,
                                                   size_t *length);

// The path now takes datagrams of at most `bytes` bytes, `WEFTLINE_MIN_DATAGRAM` or more. New symbols
// are made to fit, so this can follow path MTU discovery in both directions. Without this call the
// session sends datagrams as long as its configuration allows.
enum WeftlineStatus weftline_session_set_largest_datagram(struct WeftlineSession *session,
                                                          size_t bytes);

// How many congestion marks (ECN, RFC 3168) the peer has received since the session began, as the
// carrier knows. More of them slow the session down, unless its rate is fixed or the carrier's.
enum WeftlineStatus weftline_session_set_congestion_marks(struct WeftlineSession *session,
                                                          uint64_t count);

// Whether the peer has everything that was written, finished or sent.
bool weftline_session_all_acknowledged(const struct WeftlineSession *session);

// What to do next. After any call that changes the session, call this until the kind of its output is
// `WEFTLINE_OUTPUT_KIND_TIMEOUT`. It is `weftline_session_poll_event`, `weftline_session_poll_datagram` and
// `weftline_session_timeout` in the only order that is safe. If the buffer is too small for a datagram, the
// output says so: its kind is `WEFTLINE_OUTPUT_KIND_TRANSMIT` and its length is the length needed.
enum WeftlineStatus weftline_session_poll_output(struct WeftlineSession *session,
                                                 uint64_t now_ns,
                                                 uint8_t *buffer,
                                                 size_t capacity,
                                                 struct WeftlineOutput *output);

// Writes the next event. Its kind is `WEFTLINE_EVENT_KIND_NONE` when there is none.
enum WeftlineStatus weftline_session_poll_event(struct WeftlineSession *session,
                                                struct WeftlineEvent *event);

// Opens a stream, which both ends can write to and read from. Returns `WEFTLINE_STATUS_BLOCKED` while the
// peer allows no more; `WEFTLINE_EVENT_KIND_STREAMS_AVAILABLE` follows.
enum WeftlineStatus weftline_session_open_stream(struct WeftlineSession *session,
                                                 uint64_t *stream);

// Accepts a stream that the peer has opened. Returns `WEFTLINE_STATUS_MISSING` when there is none.
enum WeftlineStatus weftline_session_accept_stream(struct WeftlineSession *session,
                                                   uint64_t *stream);

// Writes bytes to a stream. `written` is how many the session has accepted, at least one unless
// `length` is 0. Returns `WEFTLINE_STATUS_BLOCKED` while there is no room;
// `WEFTLINE_EVENT_KIND_STREAM_WRITABLE` follows.
enum WeftlineStatus weftline_session_write(struct WeftlineSession *session,
                                           uint64_t stream,
                                           const uint8_t *data,
                                           size_t length,
                                           size_t *written);

// Ends a stream after what was written. `WEFTLINE_EVENT_KIND_STREAM_FINISHED` follows when the peer has all
// of it.
enum WeftlineStatus weftline_session_finish(struct WeftlineSession *session,
                                            uint64_t stream);

// Gives up writing to a stream. What was not sent is dropped, and the peer's `weftline_session_read` returns
// `WEFTLINE_STATUS_RESET` with `code`, `WEFTLINE_MAX_CODE` at most. Nothing happens for a stream that does not
// exist or is over.
enum WeftlineStatus weftline_session_reset_stream(struct WeftlineSession *session,
                                                  uint64_t stream,
                                                  uint64_t code);

// Reads no more of a stream. What arrives is dropped, and the peer gets
// `WEFTLINE_EVENT_KIND_STREAM_STOPPED` with `code`, `WEFTLINE_MAX_CODE` at most. Nothing happens for a stream that
// does not exist or is over.
enum WeftlineStatus weftline_session_stop_stream(struct WeftlineSession *session,
                                                 uint64_t stream,
                                                 uint64_t code);

// Reads bytes of a stream in order. `read` is how many. Returns `WEFTLINE_STATUS_BLOCKED` while there are
// none; `WEFTLINE_EVENT_KIND_STREAM_READABLE` follows. Returns `WEFTLINE_STATUS_END` when the peer has finished
// the stream and everything was read, and `WEFTLINE_STATUS_RESET` when the peer has reset it: do not read
// the stream again then. What arrived before the session ended can still be read.
enum WeftlineStatus weftline_session_read(struct WeftlineSession *session,
                                          uint64_t stream,
                                          uint8_t *buffer,
                                          size_t capacity,
                                          size_t *read);

// Sends a message, a copy of `length` bytes. The peer gets it whole, in no particular order. With a
// deadline, in nanoseconds from now, the message is worth nothing to the peer later, and the session
// spends nothing more on it then; `WEFTLINE_EVENT_KIND_MESSAGE_DELIVERED` or `WEFTLINE_EVENT_KIND_MESSAGE_EXPIRED` follows. With
// `WEFTLINE_NO_DEADLINE` it is delivered however long it takes. `message`, unless NULL, gets its number.
// Returns `WEFTLINE_STATUS_BLOCKED` while there is no room; `WEFTLINE_EVENT_KIND_MESSAGE_WRITABLE` follows.
enum WeftlineStatus weftline_session_send_message(struct WeftlineSession *session,
                                                  uint64_t now_ns,
                                                  const uint8_t *data,
                                                  size_t length,
                                                  uint64_t deadline_ns,
                                                  uint64_t *message);

// Sends a message as `weftline_session_send_message` does, but in a source symbol of its own: the message is
// never cut, and no other shares its fate. Use it for packets of others, which must not be lost
// together. `weftline_session_message_alone_max` is the longest.
enum WeftlineStatus weftline_session_send_message_alone(struct WeftlineSession *session,
                                                        uint64_t now_ns,
                                                        const uint8_t *data,
                                                        size_t length,
                                                        uint64_t deadline_ns,
                                                        uint64_t *message);

// The longest message for `weftline_session_send_message_alone`, in bytes. It can grow when the peer's limits
// become known, and it follows `weftline_session_set_largest_datagram`.
size_t weftline_session_message_alone_max(const struct WeftlineSession *session);

// From now on the session accepts at most `bytes` bytes of messages that were not sent, instead of
// `WEFTLINE_CONFIG_OPTION_SEND_BUFFER`. Streams keep their buffers. Messages that wait are not dropped.
enum WeftlineStatus weftline_session_set_message_buffer(struct WeftlineSession *session,
                                                        size_t bytes);

// Writes the next message that arrived and its length; `message`, unless NULL, gets the rest. Returns
// `WEFTLINE_STATUS_MISSING` when there is none now, `WEFTLINE_STATUS_CLOSED` when there will be none.
enum WeftlineStatus weftline_session_receive_message(struct WeftlineSession *session,
                                                     uint8_t *buffer,
                                                     size_t capacity,
                                                     size_t *length,
                                                     struct WeftlineMessage *message);

// Ends the session at once, for the peer too. `code` 0 says that all went well; `WEFTLINE_MAX_CODE` is the
// largest. `text` is for people and may be NULL; the peer gets its first 256 bytes. Continue to drive
// the session until it has no timeout, so that the peer learns of it. To be sure that the peer has
// everything, wait for `weftline_session_all_acknowledged` first. A session that is over stays as it is.
enum WeftlineStatus weftline_session_close(struct WeftlineSession *session,
                                           uint64_t now_ns,
                                           uint64_t code,
                                           const char *text);

// Why the session is over. Returns `WEFTLINE_STATUS_MISSING` while it is not.
enum WeftlineStatus weftline_session_close_reason(struct WeftlineSession *session,
                                                  struct WeftlineCloseReason *reason);

// Writes a snapshot of the counters and estimates.
enum WeftlineStatus weftline_session_stats(const struct WeftlineSession *session,
                                           struct WeftlineSessionStats *stats);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* WEFTLINE_H */
