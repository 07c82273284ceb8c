/* What C relies on: every field, windows, a relay, a stream over a lossy path, and arguments that make no
   sense. */
#include "check.h"

static WeftlineCoefficients uniform(uint32_t key) {
    WeftlineCoefficients made = {.kind = WEFTLINE_COEFFICIENTS_UNIFORM, .key = key};
    return made;
}

/* Only repair symbols, by key and by vector, a third of them lost. */
static void rateless(uint32_t bits) {
    enum { K = 20, MOST = 333 };
    static uint8_t payloads[K][MOST], repair[MOST + 2];
    const size_t SIZE = weftline_longest_payload(bits, sizeof repair);
    MUST(SIZE > MOST - 64 && SIZE <= MOST);
    WeftlineBlockEncoder *encoder = weftline_block_encoder_new(bits, K, SIZE);
    WeftlineBlockDecoder *decoder = weftline_block_decoder_new(bits, K, SIZE);
    for (int i = 0; i < K; i++) {
        for (size_t at = 0; at < SIZE; at++)
            payloads[i][at] = (uint8_t)draw(256);
        MUST(weftline_block_encoder_push(encoder, payloads[i], SIZE, NULL) == WEFTLINE_STATUS_OK);
    }
    MUST(weftline_block_encoder_push(encoder, payloads[0], SIZE, NULL) == WEFTLINE_STATUS_FULL);
    int useful = 0;
    for (uint32_t key = 1; weftline_block_decoder_deficit(decoder) > 0; key++) {
        MUST(key < 500);
        uint8_t vector[K];
        WeftlineCoefficients coefficients = uniform(key);
        if (key % 2) {
            MUST(weftline_coefficients_fill(bits, coefficients, vector, K) == WEFTLINE_STATUS_OK);
            coefficients.kind = WEFTLINE_COEFFICIENTS_EXPLICIT;
            coefficients.vector = vector;
            coefficients.vector_len = K;
        }
        size_t length;
        MUST(weftline_block_encoder_repair(encoder, coefficients, repair, sizeof repair, &length) == WEFTLINE_STATUS_OK);
        bool innovative;
        if (draw(3) > 0) {
            MUST(weftline_block_decoder_repair(decoder, coefficients, repair, length, &innovative) == WEFTLINE_STATUS_OK);
            useful += innovative;
        }
    }
    MUST(useful == K && weftline_block_decoder_missing(decoder) == 0);
    for (size_t i = 0; i < K; i++) {
        const uint8_t *payload;
        size_t length;
        MUST(weftline_block_decoder_symbol(decoder, i, &payload, &length) == WEFTLINE_STATUS_OK);
        MUST(length == SIZE && memcmp(payload, payloads[i], SIZE) == 0);
    }
    /* The next block begins empty. */
    OK(weftline_block_encoder_clear(encoder));
    OK(weftline_block_decoder_clear(decoder));
    MUST(weftline_block_decoder_missing(decoder) == K);
    size_t index;
    OK(weftline_block_encoder_push(encoder, payloads[1], SIZE, &index));
    MUST(index == 0);
    weftline_block_encoder_free(encoder);
    weftline_block_decoder_free(decoder);
}

static void window(void) {
    WeftlineWindowEncoder *encoder = weftline_window_encoder_new(8, 16, 100);
    WeftlineWindowDecoder *decoder = weftline_window_decoder_new(8, 16, 100);
    uint64_t next = 0;
    for (uint32_t number = 0; number < 200; number++) {
        char text[100];
        size_t length = (size_t)snprintf(text, sizeof text, "number %u", number);
        uint64_t esi, first, end, known;
        MUST(weftline_window_encoder_push(encoder, (uint8_t *)text, length, &esi) == WEFTLINE_STATUS_OK);
        MUST(esi == number);
        if (number % 5 != 2)
            MUST(weftline_window_decoder_source(decoder, esi, (uint8_t *)text, length, NULL) == WEFTLINE_STATUS_OK);
        if (number % 4 == 3) {
            WeftlineCoefficients key = {.key = number};
            uint8_t repair[102];
            MUST(weftline_window_encoder_held(encoder, &first, &end) == WEFTLINE_STATUS_OK);
            MUST(weftline_window_encoder_repair(encoder, first, end, key, repair, sizeof repair, &length) == WEFTLINE_STATUS_OK);
            MUST(weftline_window_decoder_repair(decoder, first, end, key, repair, length, NULL) == WEFTLINE_STATUS_OK);
        }
        while (weftline_window_decoder_next_known(decoder, &known) == WEFTLINE_STATUS_OK) {
            const uint8_t *payload;
            MUST(weftline_window_decoder_symbol(decoder, known, &payload, &length) == WEFTLINE_STATUS_OK);
            size_t expected = (size_t)snprintf(text, sizeof text, "number %u", (unsigned)known);
            MUST(length == expected && memcmp(payload, text, length) == 0);
            next++;
        }
        uint64_t edge = weftline_window_decoder_contiguous(decoder);
        MUST(weftline_window_encoder_discard_before(encoder, edge) == WEFTLINE_STATUS_OK);
        MUST(weftline_window_decoder_forget_before(decoder, edge) == WEFTLINE_STATUS_OK);
    }
    MUST(next == 200);
    weftline_window_encoder_free(encoder);
    weftline_window_decoder_free(decoder);
}

/* Of four combinations a relay gets three; three of its own are as good. */
static void relay(void) {
    WeftlineBlockEncoder *encoder = weftline_block_encoder_new(8, 3, 10);
    WeftlineRecoder *recoder = weftline_recoder_new(8, 3, 3, 10);
    WeftlineBlockDecoder *decoder = weftline_block_decoder_new(8, 3, 10);
    uint8_t data[12], vector[3];
    size_t length;
    uint64_t first, end;
    MUST(weftline_recoder_recode(recoder, 0, &first, &end, vector, 3, data, 12, &length) == WEFTLINE_STATUS_MISSING);
    for (uint8_t i = 0; i < 3; i++)
        MUST(weftline_block_encoder_push(encoder, &i, 1, NULL) == WEFTLINE_STATUS_OK);
    for (uint32_t key = 0; key < 3; key++) {
        WeftlineCoefficients coefficients = {.key = key};
        MUST(weftline_block_encoder_repair(encoder, coefficients, data, 12, &length) == WEFTLINE_STATUS_OK);
        MUST(weftline_recoder_repair(recoder, 0, 3, coefficients, data, length, NULL) == WEFTLINE_STATUS_OK);
    }
    MUST(weftline_recoder_rank(recoder) == 3);
    MUST(weftline_recoder_recode(recoder, 9, &first, &end, vector, 2, data, 12, &length) == WEFTLINE_STATUS_BUFFER_TOO_SMALL);
    for (uint32_t key = 0; weftline_block_decoder_deficit(decoder) > 0; key++) {
        MUST(key < 20);
        MUST(weftline_recoder_recode(recoder, key, &first, &end, vector, 3, data, 12, &length) == WEFTLINE_STATUS_OK);
        MUST(first == 0 && end == 3);
        WeftlineCoefficients coefficients = {.kind = WEFTLINE_COEFFICIENTS_EXPLICIT, .vector = vector, .vector_len = 3};
        MUST(weftline_block_decoder_repair(decoder, coefficients, data, length, NULL) == WEFTLINE_STATUS_OK);
    }
    weftline_block_encoder_free(encoder);
    weftline_recoder_free(recoder);
    weftline_block_decoder_free(decoder);
}

/* A relay counts a source symbol once. */
static void relay_source(void) {
    WeftlineRecoder *recoder = weftline_recoder_new(8, 3, 3, 10);
    uint8_t byte = 1;
    bool innovative = false;
    OK(weftline_recoder_source(recoder, 0, &byte, 1, &innovative));
    MUST(innovative && weftline_recoder_rank(recoder) == 1);
    OK(weftline_recoder_source(recoder, 0, &byte, 1, &innovative));
    MUST(!innovative && weftline_recoder_rank(recoder) == 1);
    MUST(weftline_recoder_source(NULL, 0, &byte, 1, NULL) == WEFTLINE_STATUS_NULL);
    MUST(weftline_recoder_source(recoder, 0, NULL, 1, NULL) == WEFTLINE_STATUS_NULL);
    weftline_recoder_free(recoder);
}

/* A repair symbol over symbols that were forgotten is late, which is not an error of anyone. */
static void late(void) {
    WeftlineWindowEncoder *encoder = weftline_window_encoder_new(8, 16, 10);
    WeftlineWindowDecoder *decoder = weftline_window_decoder_new(8, 16, 10);
    WeftlineRecoder *recoder = weftline_recoder_new(8, 16, 16, 10);
    WeftlineCoefficients coefficients = {.key = 7};
    uint8_t repair[12];
    size_t length;
    for (uint8_t i = 0; i < 4; i++)
        OK(weftline_window_encoder_push(encoder, &i, 1, NULL));
    OK(weftline_window_encoder_repair(encoder, 0, 4, coefficients, repair, sizeof repair, &length));
    OK(weftline_window_decoder_forget_before(decoder, 2));
    OK(weftline_recoder_forget_before(recoder, 2));
    bool innovative = true;
    MUST(weftline_window_decoder_repair(decoder, 0, 4, coefficients, repair, length, &innovative) == WEFTLINE_STATUS_LATE);
    MUST(weftline_recoder_repair(recoder, 0, 4, coefficients, repair, length, &innovative) == WEFTLINE_STATUS_LATE);
    MUST(innovative && strstr(weftline_last_error(), "forgotten"));
    /* A later one is as good as ever, and one that makes no sense is an error as ever. */
    OK(weftline_window_encoder_repair(encoder, 2, 4, coefficients, repair, sizeof repair, &length));
    OK(weftline_window_decoder_repair(decoder, 2, 4, coefficients, repair, length, &innovative));
    /* One equation for two symbols. */
    MUST(innovative && weftline_window_decoder_missing(decoder) == 2);
    MUST(weftline_window_decoder_deficit(decoder) == 1);
    MUST(weftline_window_decoder_repair(decoder, 4, 4, coefficients, repair, length, NULL) == WEFTLINE_STATUS_ARGUMENT);
    weftline_window_encoder_free(encoder);
    weftline_window_decoder_free(decoder);
    weftline_recoder_free(recoder);
}

/* 300 kB over a path of 5 ms each way that loses a tenth. */
static void session(const char *scheme) {
    enum { TOTAL = 300000 };
    static uint8_t sent[TOTAL];
    for (int i = 0; i < TOTAL; i++)
        sent[i] = (uint8_t)draw(256);
    WeftlineConfig *config = weftline_config_parse(scheme);
    OK(weftline_config_set(config, WEFTLINE_CONFIG_OPTION_SYMBOL_SIZE, 1200));
    OK(weftline_config_set(config, WEFTLINE_CONFIG_OPTION_FIXED_RATE, 20000000));
    Pair *pair = pair_new(config, 10);
    weftline_config_free(config);
    uint64_t out, in = 0;
    size_t written = 0, read = 0, taken = 0;
    bool open = false, finished = false, over = false;
    OK(weftline_session_open_stream(pair->ends[0], &out));
    while (!over) {
        MUST(pair->now < 60 * SECOND);
        WeftlineStatus status = WEFTLINE_STATUS_OK;
        while (written < TOTAL && status == WEFTLINE_STATUS_OK) {
            status = weftline_session_write(pair->ends[0], out, sent + written, TOTAL - written, &taken);
            MUST(status == WEFTLINE_STATUS_OK || status == WEFTLINE_STATUS_BLOCKED);
            written += status == WEFTLINE_STATUS_OK ? taken : 0;
        }
        if (written == TOTAL && !finished) {
            OK(weftline_session_finish(pair->ends[0], out));
            finished = true;
        }
        MUST(step(pair, 60 * SECOND));
        pair->count[0] = pair->count[1] = 0;
        if (!open)
            open = weftline_session_accept_stream(pair->ends[1], &in) == WEFTLINE_STATUS_OK;
        uint8_t buffer[5000];
        for (size_t got; open && !over;) {
            status = weftline_session_read(pair->ends[1], in, buffer, sizeof buffer, &got);
            if (status == WEFTLINE_STATUS_BLOCKED)
                break;
            over = status == WEFTLINE_STATUS_END;
            if (!over) {
                MUST(status == WEFTLINE_STATUS_OK && read + got <= TOTAL);
                MUST(memcmp(buffer, sent + read, got) == 0);
                read += got;
            }
        }
    }
    MUST(read == TOTAL);
    run(pair, SECOND);
    MUST(weftline_session_all_acknowledged(pair->ends[0]));
    WeftlineSessionStats stats;
    OK(weftline_session_stats(pair->ends[0], &stats));
    MUST(stats.source_symbols >= TOTAL / 1200 && stats.rtt_ns >= 10 * MS && stats.min_rtt_ns >= 10 * MS);
    MUST(stats.data == TOTAL && stats.bytes > TOTAL && stats.queued == 0 && stats.loss > 0.01);
    OK(weftline_session_stats(pair->ends[1], &stats));
    MUST(stats.received_data == TOTAL && stats.received_bytes > TOTAL && stats.feedback > 0);
    pair_free(pair);
}

/* The three functions below `poll_output`, and buffers that are too small. */
static void polls(void) {
    WeftlineSession *client = weftline_session_new(true, NULL, 1, 0);
    uint64_t stream;
    size_t length, needed;
    uint8_t buffer[LONGEST], again[LONGEST];
    WeftlineOutput output;
    WeftlineEvent event;
    OK(weftline_session_open_stream(client, &stream));
    OK(weftline_session_poll_event(client, &event));
    MUST(event.kind == WEFTLINE_EVENT_KIND_NONE);
    /* A buffer that is too small loses nothing, whichever function asks next. */
    MUST(weftline_session_poll_datagram(client, 0, buffer, 3, &needed) == WEFTLINE_STATUS_BUFFER_TOO_SMALL);
    MUST(needed > 3);
    MUST(weftline_session_poll_output(client, 0, buffer, 3, &output) == WEFTLINE_STATUS_BUFFER_TOO_SMALL);
    MUST(output.kind == WEFTLINE_OUTPUT_KIND_TRANSMIT && output.length == needed);
    OK(weftline_session_poll_output(client, 0, buffer, sizeof buffer, &output));
    MUST(output.kind == WEFTLINE_OUTPUT_KIND_TRANSMIT && output.length == needed);
    /* The same seed makes the same datagram. */
    WeftlineSession *twin = weftline_session_new(true, NULL, 1, 0);
    OK(weftline_session_poll_datagram(twin, 0, again, sizeof again, &length));
    MUST(length == needed && memcmp(buffer, again, length) == 0);
    MUST(weftline_session_poll_datagram(twin, 0, again, sizeof again, &length) == WEFTLINE_STATUS_MISSING);
    OK(weftline_session_poll_output(client, 0, buffer, sizeof buffer, &output));
    MUST(output.kind == WEFTLINE_OUTPUT_KIND_TIMEOUT && output.timeout_ns == weftline_session_timeout(twin));
    weftline_session_free(twin);
    weftline_session_free(client);
}

/* One place for two results, a place within a buffer, one buffer twice: the caller finds what was written
   last, and nothing else is harmed. With references on the other side this is undefined and would pass all the
   same: the test of the header refuses those. */
static void one_place(void) {
    WeftlineWindowEncoder *encoder = weftline_window_encoder_new(8, 4, 10);
    WeftlineRecoder *recoder = weftline_recoder_new(8, 4, 4, 10);
    uint64_t place = 99;
    uint8_t byte = 7;
    for (uint64_t i = 0; i < 3; i++) {
        OK(weftline_window_encoder_push(encoder, &byte, 1, NULL));
        OK(weftline_recoder_source(recoder, i, &byte, 1, NULL));
    }
    OK(weftline_window_encoder_held(encoder, &place, &place));
    MUST(place == 3);
    union { uint8_t bytes[64]; size_t length; } both;
    OK(weftline_window_encoder_repair(encoder, 0, 3, (WeftlineCoefficients){.key = 1}, both.bytes, 64, &both.length));
    memset(both.bytes, 0, sizeof both);
    OK(weftline_recoder_recode(recoder, 1, &place, &place, both.bytes, 64, both.bytes, 64, &both.length));
    MUST(place == 3 && both.bytes[0] != 0 && both.bytes[1] != 0 && both.bytes[2] != 0);
    uint8_t vector[3] = {1, 2, 3};
    WeftlineCoefficients itself = {.kind = WEFTLINE_COEFFICIENTS_EXPLICIT, .vector = vector, .vector_len = 3};
    OK(weftline_coefficients_fill(8, itself, vector, 3));
    MUST(vector[0] == 1 && vector[1] == 2 && vector[2] == 3);
    weftline_window_encoder_free(encoder);
    weftline_recoder_free(recoder);
    /* Any int that is not 0 makes a client. With a bool in the header C would convert each to 0 or 1, and this
       pointer would not compile. */
    WeftlineSession *(*make)(int, const WeftlineConfig *, uint64_t, uint64_t) = weftline_session_new;
    int roles[] = {0, 1, 2, 256, -1};
    for (size_t i = 0; i < 5; i++) {
        WeftlineSession *session = make(roles[i], NULL, 1, 0);
        OK(weftline_session_open_stream(session, &place));
        MUST(place == (roles[i] ? 0 : 1));
        weftline_session_free(session);
    }
}

static void mistakes(void) {
    size_t length = 0;
    uint8_t byte = 0;
    WeftlineCoefficients none = {.kind = 99};
    MUST(weftline_block_encoder_new(9, 10, 100) == NULL);
    MUST(strstr(weftline_last_error(), "GF(2^9)") != NULL);
    MUST(weftline_block_encoder_new(8, 0, 100) == NULL && weftline_block_decoder_new(8, (size_t)-1, 100) == NULL);
    MUST(weftline_window_encoder_new(8, 4, 1 << 20) == NULL && weftline_recoder_new(0, 1, 1, 1) == NULL);
    MUST(weftline_block_encoder_push(NULL, &byte, 1, NULL) == WEFTLINE_STATUS_NULL);
    MUST(weftline_block_decoder_deficit(NULL) == 0 && weftline_session_timeout(NULL) == WEFTLINE_NO_TIMEOUT);
    weftline_block_encoder_free(NULL);
    weftline_session_free(NULL);
    uint64_t first = 0, end = 0;
    const uint8_t *place;
#define NO(call) MUST((call) == WEFTLINE_STATUS_NULL)
    NO(weftline_coefficients_fill(8, none, NULL, 1));
    NO(weftline_block_encoder_repair(NULL, (WeftlineCoefficients){0}, &byte, 1, &length));
    NO(weftline_block_encoder_clear(NULL));
    NO(weftline_block_decoder_source(NULL, 0, &byte, 1, NULL));
    NO(weftline_block_decoder_repair(NULL, (WeftlineCoefficients){0}, &byte, 1, NULL));
    NO(weftline_block_decoder_symbol(NULL, 0, &place, &length));
    NO(weftline_block_decoder_clear(NULL));
    NO(weftline_window_encoder_push(NULL, &byte, 1, NULL));
    NO(weftline_window_encoder_held(NULL, &first, &end));
    NO(weftline_window_encoder_discard_before(NULL, 0));
    NO(weftline_window_encoder_repair(NULL, 0, 1, (WeftlineCoefficients){0}, &byte, 1, &length));
    NO(weftline_window_decoder_source(NULL, 0, &byte, 1, NULL));
    NO(weftline_window_decoder_repair(NULL, 0, 1, (WeftlineCoefficients){0}, &byte, 1, NULL));
    NO(weftline_window_decoder_next_known(NULL, &first));
    NO(weftline_window_decoder_symbol(NULL, 0, &place, &length));
    NO(weftline_window_decoder_forget_before(NULL, 0));
    NO(weftline_recoder_repair(NULL, 0, 1, (WeftlineCoefficients){0}, &byte, 1, NULL));
    NO(weftline_recoder_recode(NULL, 0, &first, &end, &byte, 1, &byte, 1, &length));
    NO(weftline_recoder_forget_before(NULL, 0));
    MUST(weftline_block_decoder_missing(NULL) == 0 && weftline_window_decoder_contiguous(NULL) == 0);
    MUST(weftline_window_decoder_missing(NULL) == 0 && weftline_window_decoder_deficit(NULL) == 0);
    MUST(weftline_recoder_rank(NULL) == 0 && weftline_longest_payload(9, 100) == 0);
    weftline_block_decoder_free(NULL);
    weftline_window_encoder_free(NULL);
    weftline_window_decoder_free(NULL);
    weftline_recoder_free(NULL);
    WeftlineBlockEncoder *encoder = weftline_block_encoder_new(8, 1, 10);
    MUST(weftline_block_encoder_push(encoder, NULL, 5, NULL) == WEFTLINE_STATUS_NULL);
    MUST(weftline_block_encoder_push(encoder, &byte, 11, NULL) == WEFTLINE_STATUS_ARGUMENT);
    MUST(weftline_block_encoder_push(encoder, NULL, 0, NULL) == WEFTLINE_STATUS_OK);
    MUST(weftline_block_encoder_repair(encoder, none, &byte, 1, &length) == WEFTLINE_STATUS_ARGUMENT);
    none.kind = 0;
    MUST(weftline_block_encoder_repair(encoder, none, &byte, 1, NULL) == WEFTLINE_STATUS_NULL);
    MUST(weftline_block_encoder_repair(encoder, none, &byte, 1, &length) == WEFTLINE_STATUS_BUFFER_TOO_SMALL);
    MUST(length == 2);
    weftline_block_encoder_free(encoder);
    WeftlineBlockDecoder *decoder = weftline_block_decoder_new(8, 2, 10);
    MUST(weftline_block_decoder_symbol(decoder, 7, NULL, NULL) == WEFTLINE_STATUS_MISSING);
    MUST(weftline_block_decoder_source(decoder, 2, &byte, 1, NULL) != WEFTLINE_STATUS_OK);
    MUST(weftline_block_decoder_repair(decoder, none, &byte, 1, NULL) == WEFTLINE_STATUS_ARGUMENT);
    weftline_block_decoder_free(decoder);
    MUST(strlen(weftline_version()) >= 5 && strlen(weftline_status_message(12345)) > 0);
}

int main(void) {
    for (uint32_t bits = 1; bits <= 8; bits++)
        rateless(bits);
    window();
    relay();
    relay_source();
    late();
    session("auto");
    session("streaming");
    polls();
    one_place();
    mistakes();
    puts("all as C relies on");
    return 0;
}
