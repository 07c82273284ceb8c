/* Sessions: streams that are given up, messages with deadlines, the end and its reason, configuration, the
   size of datagrams, and misuse. */
#include "check.h"

/* Two ends that know each other, with a stream between them. */
static Pair *connected(const WeftlineConfig *config, uint64_t *out, uint64_t *in) {
    Pair *pair = pair_new(config, 0);
    size_t written;
    OK(weftline_session_open_stream(pair->ends[0], out));
    OK(weftline_session_write(pair->ends[0], *out, (const uint8_t *)"first", 5, &written));
    run(pair, SECOND);
    MUST(happened(pair, 0, WEFTLINE_EVENT_KIND_CONNECTED, NULL));
    MUST(happened(pair, 1, WEFTLINE_EVENT_KIND_CONNECTED, NULL));
    MUST(happened(pair, 1, WEFTLINE_EVENT_KIND_STREAM_OPENED, NULL));
    OK(weftline_session_accept_stream(pair->ends[1], in));
    MUST(*in == *out);
    return pair;
}

static void reset_and_stop(void) {
    uint64_t out, in;
    size_t got;
    uint8_t buffer[100];
    WeftlineEvent event;
    Pair *pair = connected(NULL, &out, &in);
    WeftlineSession *client = pair->ends[0], *server = pair->ends[1];
    OK(weftline_session_read(server, in, buffer, sizeof buffer, &got));
    MUST(got == 5 && memcmp(buffer, "first", 5) == 0);
    MUST(weftline_session_read(server, in, buffer, sizeof buffer, &got) == WEFTLINE_STATUS_BLOCKED);

    /* The client gives up writing. */
    OK(weftline_session_reset_stream(client, out, 17));
    MUST(weftline_session_write(client, out, buffer, 1, &got) == WEFTLINE_STATUS_END);
    run(pair, SECOND);
    MUST(happened(pair, 1, WEFTLINE_EVENT_KIND_STREAM_READABLE, &event) && event.stream == in);
    MUST(weftline_session_read(server, in, buffer, sizeof buffer, &got) == WEFTLINE_STATUS_RESET);
    MUST(weftline_last_code() == 17);

    /* The client reads no more of the other direction of another stream. */
    OK(weftline_session_open_stream(client, &out));
    OK(weftline_session_write(client, out, buffer, 1, &got));
    run(pair, SECOND);
    OK(weftline_session_accept_stream(server, &in));
    OK(weftline_session_stop_stream(client, out, 99));
    run(pair, SECOND);
    MUST(happened(pair, 1, WEFTLINE_EVENT_KIND_STREAM_STOPPED, &event));
    MUST(event.stream == in && event.code == 99 && event.message == 0);
    MUST(weftline_session_write(server, in, buffer, 1, &got) == WEFTLINE_STATUS_RESET);
    MUST(weftline_last_code() == 99);

    /* A stream that does not exist, and codes that do not fit the wire format. */
    OK(weftline_session_reset_stream(client, 12345, 1));
    OK(weftline_session_stop_stream(client, 12345, 1));
    MUST(weftline_session_reset_stream(client, out, WEFTLINE_MAX_CODE + 1) == WEFTLINE_STATUS_ARGUMENT);
    MUST(weftline_session_stop_stream(client, out, UINT64_MAX) == WEFTLINE_STATUS_ARGUMENT);
    MUST(strstr(weftline_last_error(), "use 0 to"));
    MUST(weftline_session_write(client, 12345, buffer, 1, &got) == WEFTLINE_STATUS_ARGUMENT);
    MUST(weftline_session_read(client, 12345, buffer, 1, &got) == WEFTLINE_STATUS_ARGUMENT);
    MUST(weftline_session_finish(client, 12345) == WEFTLINE_STATUS_ARGUMENT);
    MUST(weftline_session_read(client, out, buffer, 0, &got) == WEFTLINE_STATUS_ARGUMENT);

    /* The largest code is a code. */
    uint64_t other;
    OK(weftline_session_open_stream(client, &other));
    OK(weftline_session_write(client, other, buffer, 1, &got));
    OK(weftline_session_reset_stream(client, other, WEFTLINE_MAX_CODE));
    run(pair, SECOND);
    OK(weftline_session_accept_stream(server, &in));
    while (weftline_session_read(server, in, buffer, sizeof buffer, &got) == WEFTLINE_STATUS_OK)
        ;
    MUST(weftline_last_code() == WEFTLINE_MAX_CODE);
    pair_free(pair);
}

static void streams_available(void) {
    WeftlineConfig *config = weftline_config_parse("auto");
    uint64_t first, second, in, most;
    OK(weftline_config_get(config, WEFTLINE_CONFIG_OPTION_LIMIT_STREAMS, &most));
    Pair *pair = connected(config, &first, &in);
    WeftlineSession *client = pair->ends[0], *server = pair->ends[1];
    WeftlineStatus status;
    uint64_t opened = 1;
    while ((status = weftline_session_open_stream(client, &second)) == WEFTLINE_STATUS_OK)
        opened++;
    MUST(status == WEFTLINE_STATUS_BLOCKED && opened == most);
    /* One stream ends both ways: there is room for another. */
    OK(weftline_session_finish(client, first));
    OK(weftline_session_finish(server, in));
    run(pair, SECOND);
    uint8_t buffer[10];
    size_t got;
    MUST(weftline_session_read(client, first, buffer, sizeof buffer, &got) == WEFTLINE_STATUS_END);
    OK(weftline_session_read(server, in, buffer, sizeof buffer, &got));
    MUST(weftline_session_read(server, in, buffer, sizeof buffer, &got) == WEFTLINE_STATUS_END);
    run(pair, SECOND);
    MUST(happened(pair, 0, WEFTLINE_EVENT_KIND_STREAM_FINISHED, NULL));
    MUST(happened(pair, 0, WEFTLINE_EVENT_KIND_STREAMS_AVAILABLE, NULL));
    OK(weftline_session_open_stream(client, &second));
    weftline_config_free(config);
    pair_free(pair);
}

static void messages(void) {
    uint64_t out, in, first, second;
    size_t length;
    uint8_t buffer[3000], sent[3000];
    WeftlineMessage message;
    Pair *pair = connected(NULL, &out, &in);
    WeftlineSession *client = pair->ends[0], *server = pair->ends[1];
    for (size_t at = 0; at < sizeof sent; at++)
        sent[at] = (uint8_t)draw(256);

    /* Without and with a deadline, in as many symbols as they take, and an empty one. */
    MUST(weftline_session_receive_message(server, buffer, sizeof buffer, &length, &message) == WEFTLINE_STATUS_MISSING);
    OK(weftline_session_send_message(client, pair->now, sent, sizeof sent, WEFTLINE_NO_DEADLINE, &first));
    OK(weftline_session_send_message(client, pair->now, NULL, 0, 100 * MS, &second));
    MUST(second == first + 1);
    run(pair, SECOND);
    MUST(happened(pair, 1, WEFTLINE_EVENT_KIND_MESSAGE_RECEIVED, NULL));
    bool whole = false, empty = false;
    for (int i = 0; i < 2; i++) {
        /* A buffer that is too small, or no place for the length, loses nothing. */
        if (weftline_session_receive_message(server, buffer, 1, &length, NULL) == WEFTLINE_STATUS_BUFFER_TOO_SMALL) {
            MUST(length == sizeof sent);
            MUST(weftline_session_receive_message(server, buffer, sizeof buffer, NULL, &message) == WEFTLINE_STATUS_NULL);
            OK(weftline_session_receive_message(server, buffer, sizeof buffer, &length, &message));
            MUST(message.id == first && length == sizeof sent && memcmp(buffer, sent, length) == 0);
            whole = true;
        } else {
            empty = length == 0;
        }
    }
    MUST(whole && empty);

    /* A symbol to itself. */
    size_t most = weftline_session_message_alone_max(client);
    MUST(most > 500 && most < sizeof sent);
    OK(weftline_session_send_message_alone(client, pair->now, sent, most, WEFTLINE_NO_DEADLINE, NULL));
    MUST(weftline_session_send_message_alone(client, pair->now, sent, most + 1, WEFTLINE_NO_DEADLINE, NULL) == WEFTLINE_STATUS_ARGUMENT);
    run(pair, SECOND);
    OK(weftline_session_receive_message(server, buffer, sizeof buffer, &length, &message));
    MUST(length == most && !message.late && memcmp(buffer, sent, length) == 0);

    /* A full buffer, and room again. */
    OK(weftline_session_set_message_buffer(client, 10000));
    WeftlineStatus status;
    int accepted = 0;
    while ((status = weftline_session_send_message(client, pair->now, sent, sizeof sent, WEFTLINE_NO_DEADLINE, NULL)) == WEFTLINE_STATUS_OK)
        accepted++;
    MUST(status == WEFTLINE_STATUS_BLOCKED && accepted >= 3 && accepted <= 4);
    run(pair, SECOND);
    MUST(happened(pair, 0, WEFTLINE_EVENT_KIND_MESSAGE_WRITABLE, NULL));
    while (accepted-- > 0)
        OK(weftline_session_receive_message(server, buffer, sizeof buffer, &length, NULL));
    MUST(weftline_session_all_acknowledged(client));
    pair_free(pair);
}

/* A slow path: what cannot be sent in time is dropped, and what arrives late is too. */
static void deadlines(bool deliver_late) {
    uint64_t out, in, expired;
    size_t length;
    static uint8_t data[20000];
    WeftlineEvent event;
    WeftlineMessage message;
    WeftlineSessionStats stats;
    WeftlineConfig *config = weftline_config_parse("arq");
    OK(weftline_config_set(config, WEFTLINE_CONFIG_OPTION_FIXED_RATE, 1000000));
    OK(weftline_config_set(config, WEFTLINE_CONFIG_OPTION_DELIVER_LATE_MESSAGES, deliver_late));
    Pair *pair = connected(config, &out, &in);
    WeftlineSession *client = pair->ends[0], *server = pair->ends[1];
    /* 20,000 bytes take 160 ms. */
    OK(weftline_session_send_message(client, pair->now, data, sizeof data, SECOND, NULL));
    OK(weftline_session_send_message(client, pair->now, data, 100, 50 * MS, &expired));
    run(pair, SECOND);
    MUST(happened(pair, 0, WEFTLINE_EVENT_KIND_MESSAGE_EXPIRED, &event) && event.message == expired);
    OK(weftline_session_receive_message(server, data, sizeof data, &length, &message));
    MUST(length == sizeof data && !message.late);
    MUST(weftline_session_receive_message(server, data, sizeof data, &length, &message) == WEFTLINE_STATUS_MISSING);
    OK(weftline_session_stats(client, &stats));
    MUST(stats.expired_messages == 1);
    /* Sent in time, but the path has become slower than any deadline allows for. */
    pair->delay = 200 * MS;
    OK(weftline_session_send_message(client, pair->now, data, 3000, 100 * MS, NULL));
    run(pair, 5 * SECOND);
    WeftlineStatus status = weftline_session_receive_message(server, data, sizeof data, &length, &message);
    OK(weftline_session_stats(server, &stats));
    MUST(stats.late_messages == 1);
    MUST(status == (deliver_late ? WEFTLINE_STATUS_OK : WEFTLINE_STATUS_MISSING));
    MUST(!deliver_late || message.late);
    weftline_config_free(config);
    pair_free(pair);
}

static WeftlineCloseReason reason_of(WeftlineSession *session) {
    WeftlineCloseReason reason;
    OK(weftline_session_close_reason(session, &reason));
    MUST(reason.text != NULL);
    return reason;
}

static void close_reasons(void) {
    uint64_t out, in;
    size_t got;
    uint8_t buffer[100];
    WeftlineCloseReason reason;
    Pair *pair = connected(NULL, &out, &in);
    WeftlineSession *client = pair->ends[0], *server = pair->ends[1];
    MUST(weftline_session_close_reason(client, &reason) == WEFTLINE_STATUS_MISSING);
    MUST(weftline_session_close(client, pair->now, UINT64_MAX, NULL) == WEFTLINE_STATUS_ARGUMENT);
    MUST(weftline_session_close(client, pair->now, 0, "\xff") == WEFTLINE_STATUS_ARGUMENT);
    MUST(weftline_session_close_reason(client, &reason) == WEFTLINE_STATUS_MISSING);
    OK(weftline_session_close(client, pair->now, 42, "enough for today"));
    run(pair, 10 * SECOND);
    MUST(weftline_session_timeout(client) == WEFTLINE_NO_TIMEOUT);
    MUST(weftline_session_timeout(server) == WEFTLINE_NO_TIMEOUT);
    MUST(happened(pair, 0, WEFTLINE_EVENT_KIND_CLOSED, NULL));
    MUST(happened(pair, 1, WEFTLINE_EVENT_KIND_CLOSED, NULL));
    reason = reason_of(client);
    MUST(reason.by == WEFTLINE_CLOSE_CLASS_LOCAL && reason.code == 0 && strlen(reason.text) > 0);
    reason = reason_of(server);
    MUST(reason.by == WEFTLINE_CLOSE_CLASS_PEER && reason.code == 42);
    MUST(strcmp(reason.text, "enough for today") == 0);
    /* The text stays where it is, and a second close changes nothing. */
    const char *text = reason.text;
    OK(weftline_session_close(server, pair->now, 1, NULL));
    MUST(reason_of(server).text == text && reason_of(server).code == 42);

    /* Every function after the end. What had arrived can still be read. */
    OK(weftline_session_read(server, in, buffer, sizeof buffer, &got));
    MUST(got == 5);
    MUST(weftline_session_read(server, in, buffer, sizeof buffer, &got) == WEFTLINE_STATUS_CLOSED);
    MUST(weftline_session_write(client, out, buffer, 1, &got) == WEFTLINE_STATUS_CLOSED);
    MUST(weftline_session_open_stream(client, &out) == WEFTLINE_STATUS_CLOSED);
    MUST(weftline_session_finish(client, out) == WEFTLINE_STATUS_CLOSED);
    MUST(weftline_session_send_message(client, pair->now, buffer, 1, WEFTLINE_NO_DEADLINE, NULL) == WEFTLINE_STATUS_CLOSED);
    MUST(weftline_session_receive_message(client, buffer, sizeof buffer, &got, NULL) == WEFTLINE_STATUS_CLOSED);
    OK(weftline_session_reset_stream(client, out, 1));
    OK(weftline_session_stop_stream(client, out, 1));
    OK(weftline_session_set_largest_datagram(client, 1000));
    OK(weftline_session_handle_datagram(client, pair->now, buffer, sizeof buffer));
    OK(weftline_session_handle_timeout(client, pair->now));
    pair_free(pair);

    /* A peer of another version. */
    uint8_t other[] = {5, 99, 0};
    WeftlineSession *session = weftline_session_new(false, NULL, 1, 0);
    OK(weftline_session_handle_datagram(session, 0, other, sizeof other));
    reason = reason_of(session);
    MUST(reason.by == WEFTLINE_CLOSE_CLASS_PROTOCOL && strstr(reason.text, "version"));
    /* It tells the peer, which learns that it was refused. */
    WeftlineSession *peer = weftline_session_new(true, NULL, 1, 0);
    OK(weftline_session_poll_datagram(session, 0, buffer, sizeof buffer, &got));
    OK(weftline_session_handle_datagram(peer, 0, buffer, got));
    reason = reason_of(peer);
    MUST(reason.by == WEFTLINE_CLOSE_CLASS_REFUSED && strstr(reason.text, "version"));
    weftline_session_free(session);
    weftline_session_free(peer);
}

/* The idle timeout, the keep-alive and the first round-trip time are those of the configuration. */
static void timeouts(void) {
    uint64_t out, in, value;
    WeftlineSessionStats before, after;
    WeftlineConfig *config = weftline_config_parse("auto");
    OK(weftline_config_set(config, WEFTLINE_CONFIG_OPTION_IDLE_TIMEOUT, 7 * SECOND));
    OK(weftline_config_set(config, WEFTLINE_CONFIG_OPTION_KEEP_ALIVE, 2 * SECOND));
    OK(weftline_config_get(config, WEFTLINE_CONFIG_OPTION_IDLE_TIMEOUT, &value));
    MUST(value == 7 * SECOND);
    Pair *pair = connected(config, &out, &in);
    OK(weftline_session_stats(pair->ends[0], &before));
    run(pair, 60 * SECOND);
    OK(weftline_session_stats(pair->ends[0], &after));
    MUST(!happened(pair, 0, WEFTLINE_EVENT_KIND_CLOSED, NULL));
    MUST(after.datagrams >= before.datagrams + 25);
    /* The server falls silent. */
    pair->cut[1] = true;
    uint64_t silent = pair->now;
    while (!happened(pair, 0, WEFTLINE_EVENT_KIND_CLOSED, NULL))
        MUST(step(pair, silent + 8 * SECOND));
    MUST(pair->now >= silent + 5 * SECOND);
    WeftlineCloseReason reason = reason_of(pair->ends[0]);
    MUST(reason.by == WEFTLINE_CLOSE_CLASS_TIMED_OUT && strstr(reason.text, "7 s"));
    pair_free(pair);

    /* Without a keep-alive an idle session ends. */
    OK(weftline_config_set(config, WEFTLINE_CONFIG_OPTION_KEEP_ALIVE, 0));
    pair = connected(config, &out, &in);
    run(pair, 60 * SECOND);
    MUST(reason_of(pair->ends[0]).by == WEFTLINE_CLOSE_CLASS_TIMED_OUT);
    MUST(reason_of(pair->ends[1]).by == WEFTLINE_CLOSE_CLASS_TIMED_OUT);
    pair_free(pair);

    /* The first copy of the greeting comes one and a half round trips later. */
    uint8_t buffer[LONGEST];
    WeftlineOutput output;
    for (uint64_t rtt = 20 * MS; rtt <= 200 * MS; rtt *= 10) {
        OK(weftline_config_set(config, WEFTLINE_CONFIG_OPTION_INITIAL_RTT, rtt));
        WeftlineSession *client = weftline_session_new(true, config, 1, 0);
        do
            OK(weftline_session_poll_output(client, 0, buffer, sizeof buffer, &output));
        while (output.kind != WEFTLINE_OUTPUT_KIND_TIMEOUT);
        MUST(output.timeout_ns == rtt * 3 / 2);
        weftline_session_free(client);
    }
    weftline_config_free(config);
}

/* A peer may not send more than the limits allow. */
static void limits(void) {
    uint64_t out, in;
    size_t written, total = 0, got;
    static uint8_t data[400000];
    WeftlineConfig *config = weftline_config_parse("streaming");
    OK(weftline_config_set(config, WEFTLINE_CONFIG_OPTION_LIMIT_STREAM_DATA, 300000));
    OK(weftline_config_set(config, WEFTLINE_CONFIG_OPTION_LIMIT_MESSAGE_SIZE, 1 << 17));
    OK(weftline_config_set(config, WEFTLINE_CONFIG_OPTION_SEND_BUFFER, 1 << 20));
    Pair *pair = connected(config, &out, &in);
    OK(weftline_session_write(pair->ends[0], out, data, sizeof data, &written));
    MUST(written == sizeof data);
    run(pair, 5 * SECOND);
    while (weftline_session_read(pair->ends[1], in, data, sizeof data, &got) == WEFTLINE_STATUS_OK)
        total += got;
    MUST(total == 300000);
    run(pair, 5 * SECOND);
    while (weftline_session_read(pair->ends[1], in, data, sizeof data, &got) == WEFTLINE_STATUS_OK)
        total += got;
    MUST(total == sizeof data + 5);
    MUST(weftline_session_send_message(pair->ends[0], pair->now, data, (1 << 17) + 1, WEFTLINE_NO_DEADLINE, NULL) == WEFTLINE_STATUS_ARGUMENT);
    MUST(strstr(weftline_last_error(), "131072"));
    OK(weftline_session_send_message(pair->ends[0], pair->now, data, 1 << 17, WEFTLINE_NO_DEADLINE, NULL));
    weftline_config_free(config);
    pair_free(pair);
}

/* The path takes longer and shorter datagrams while the session runs. */
static void largest_datagram(void) {
    static const size_t sizes[] = {1400, 700, 1300, 300};
    static uint8_t data[50000];
    uint64_t out, in;
    Pair *pair = connected(NULL, &out, &in);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t total = 0, got;
        for (int end = 0; end < 2; end++)
            OK(weftline_session_set_largest_datagram(pair->ends[end], sizes[i]));
        OK(weftline_session_write(pair->ends[0], out, data, sizeof data, &got));
        MUST(got == sizeof data);
        pair->longest = 0;
        run(pair, 5 * SECOND);
        MUST(pair->longest <= sizes[i] && pair->longest > sizes[i] - 100);
        while (weftline_session_read(pair->ends[1], in, data, sizeof data, &got) == WEFTLINE_STATUS_OK)
            total += got;
        MUST(total == sizeof data + (i == 0 ? 5 : 0));
    }
    OK(weftline_session_set_largest_datagram(pair->ends[0], WEFTLINE_MIN_DATAGRAM));
    MUST(weftline_session_set_largest_datagram(pair->ends[0], WEFTLINE_MIN_DATAGRAM - 1) == WEFTLINE_STATUS_ARGUMENT);
    MUST(strstr(weftline_last_error(), "256 or more"));
    for (size_t bytes = 0; bytes < 10; bytes++)
        MUST(weftline_session_set_largest_datagram(pair->ends[0], bytes) == WEFTLINE_STATUS_ARGUMENT);
    OK(weftline_session_set_congestion_marks(pair->ends[0], 3));
    pair_free(pair);
}

static void configuration(void) {
    uint64_t value = 5;
    MUST(weftline_config_parse(NULL) == NULL);
    MUST(weftline_config_parse("") == NULL);
    MUST(weftline_config_parse("no such scheme") == NULL);
    MUST(strstr(weftline_last_error(), "no such scheme"));
    MUST(weftline_config_parse("\xff") == NULL);
    WeftlineConfig *config = weftline_config_parse("streaming");
    MUST(config != NULL);
    MUST(weftline_config_set(config, 0, 1) == WEFTLINE_STATUS_ARGUMENT);
    MUST(weftline_config_set(config, 12345, 1) == WEFTLINE_STATUS_ARGUMENT);
    MUST(weftline_config_get(config, 12345, &value) == WEFTLINE_STATUS_ARGUMENT && value == 5);
    MUST(weftline_config_set(config, WEFTLINE_CONFIG_OPTION_SYMBOL_SIZE, 65536) == WEFTLINE_STATUS_ARGUMENT);
    MUST(strstr(weftline_last_error(), "use 0 to 65535"));
    MUST(weftline_config_set(config, WEFTLINE_CONFIG_OPTION_CARRIER_RATE, 2) == WEFTLINE_STATUS_ARGUMENT);
    OK(weftline_config_set(config, WEFTLINE_CONFIG_OPTION_CARRIER_RATE, 1));
    OK(weftline_config_get(config, WEFTLINE_CONFIG_OPTION_CARRIER_RATE, &value));
    MUST(value == 1);
    MUST(weftline_config_set(NULL, WEFTLINE_CONFIG_OPTION_SYMBOL_SIZE, 1) == WEFTLINE_STATUS_NULL);
    MUST(weftline_config_get(NULL, WEFTLINE_CONFIG_OPTION_SYMBOL_SIZE, &value) == WEFTLINE_STATUS_NULL);
    MUST(weftline_config_get(config, WEFTLINE_CONFIG_OPTION_SYMBOL_SIZE, NULL) == WEFTLINE_STATUS_NULL);
    /* A session keeps a copy. */
    WeftlineSession *session = weftline_session_new(true, config, 1, 0);
    weftline_config_free(config);
    weftline_config_free(NULL);
    MUST(weftline_session_timeout(session) != WEFTLINE_NO_TIMEOUT);
    weftline_session_free(session);
}

/* NULL for each handle and each result. */
static void nothing(void) {
    uint64_t number;
    size_t length;
    uint8_t byte = 0;
    WeftlineEvent event;
    WeftlineOutput output;
    WeftlineCloseReason reason;
    WeftlineSessionStats stats;
    WeftlineSession *session = weftline_session_new(true, NULL, 1, 0);
    MUST(session != NULL);
#define NO(call) MUST((call) == WEFTLINE_STATUS_NULL)
    NO(weftline_session_handle_datagram(NULL, 0, &byte, 1));
    NO(weftline_session_handle_datagram(session, 0, NULL, 1));
    NO(weftline_session_handle_timeout(NULL, 0));
    NO(weftline_session_poll_datagram(NULL, 0, &byte, 1, &length));
    NO(weftline_session_poll_datagram(session, 0, NULL, 1, &length));
    NO(weftline_session_poll_datagram(session, 0, &byte, 1, NULL));
    NO(weftline_session_poll_output(NULL, 0, &byte, 1, &output));
    NO(weftline_session_poll_output(session, 0, NULL, 1, &output));
    NO(weftline_session_poll_output(session, 0, &byte, 1, NULL));
    NO(weftline_session_poll_event(NULL, &event));
    NO(weftline_session_poll_event(session, NULL));
    NO(weftline_session_set_largest_datagram(NULL, 1200));
    NO(weftline_session_set_congestion_marks(NULL, 1));
    NO(weftline_session_set_message_buffer(NULL, 1));
    NO(weftline_session_open_stream(NULL, &number));
    NO(weftline_session_open_stream(session, NULL));
    NO(weftline_session_accept_stream(NULL, &number));
    NO(weftline_session_accept_stream(session, NULL));
    NO(weftline_session_write(NULL, 0, &byte, 1, &length));
    NO(weftline_session_write(session, 0, NULL, 1, &length));
    NO(weftline_session_write(session, 0, &byte, 1, NULL));
    NO(weftline_session_read(NULL, 0, &byte, 1, &length));
    NO(weftline_session_read(session, 0, NULL, 1, &length));
    NO(weftline_session_read(session, 0, &byte, 1, NULL));
    NO(weftline_session_finish(NULL, 0));
    NO(weftline_session_reset_stream(NULL, 0, 0));
    NO(weftline_session_stop_stream(NULL, 0, 0));
    NO(weftline_session_send_message(NULL, 0, &byte, 1, 0, NULL));
    NO(weftline_session_send_message(session, 0, NULL, 1, 0, NULL));
    NO(weftline_session_send_message_alone(NULL, 0, &byte, 1, 0, NULL));
    NO(weftline_session_receive_message(NULL, &byte, 1, &length, NULL));
    NO(weftline_session_receive_message(session, NULL, 1, &length, NULL));
    NO(weftline_session_receive_message(session, &byte, 1, NULL, NULL));
    NO(weftline_session_close(NULL, 0, 0, NULL));
    NO(weftline_session_close_reason(NULL, &reason));
    NO(weftline_session_close_reason(session, NULL));
    NO(weftline_session_stats(NULL, &stats));
    NO(weftline_session_stats(session, NULL));
    MUST(weftline_session_timeout(NULL) == WEFTLINE_NO_TIMEOUT);
    MUST(!weftline_session_all_acknowledged(NULL) && weftline_session_message_alone_max(NULL) == 0);
    weftline_session_free(NULL);
    /* Lengths that no memory has, datagrams of anything, and time that stands still. */
    MUST(weftline_session_handle_datagram(session, 0, &byte, SIZE_MAX) == WEFTLINE_STATUS_ARGUMENT);
    OK(weftline_session_handle_datagram(session, 0, NULL, 0));
    for (uint64_t now = 0; now < 5000; now++) {
        uint8_t noise[64];
        for (size_t at = 0; at < sizeof noise; at++)
            noise[at] = (uint8_t)draw(at == 0 ? 10 : 256);
        OK(weftline_session_handle_datagram(session, now / 2, noise, draw(sizeof noise)));
        if (weftline_session_close_reason(session, &reason) == WEFTLINE_STATUS_OK) {
            weftline_session_free(session);
            session = weftline_session_new(now % 2, NULL, now, 0);
        }
    }
    weftline_session_free(session);
}

int main(void) {
    reset_and_stop();
    streams_available();
    messages();
    deadlines(false);
    deadlines(true);
    close_reasons();
    timeouts();
    limits();
    largest_datagram();
    configuration();
    nothing();
    puts("sessions as C relies on");
    return 0;
}
