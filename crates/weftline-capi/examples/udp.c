/* A driver for one session over UDP (POSIX): two processes over loopback, a client and a server. The client
   sends a stream and a message with a deadline; the server sends the message back; the client closes.
   Nothing is encrypted and nobody is authenticated: for a network that you trust. */
#define _POSIX_C_SOURCE 200112L
#include "weftline.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TOTAL = 1000000, LONGEST = 2048 };

typedef struct Driver {
    WeftlineSession *session;
    int socket; /* connected to the peer */
    void (*on_event)(struct Driver *driver, const WeftlineEvent *event);
    uint64_t stream;
    size_t bytes; /* of the stream: written by the client, read by the server */
    int open;     /* what the client still waits for */
} Driver;

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void must(int condition, const char *what) {
    if (!condition) {
        fprintf(stderr, "%s: %s\n", what, weftline_last_error());
        exit(1);
    }
}

/* Does everything that the session asks for; when it wants to be called again. */
static uint64_t drain(Driver *driver) {
    for (;;) {
        uint8_t datagram[LONGEST];
        WeftlineOutput output;
        WeftlineStatus status = weftline_session_poll_output(driver->session, now(), datagram,
                                                             sizeof datagram, &output);
        must(status == WEFTLINE_STATUS_OK, "poll_output");
        switch (output.kind) {
        case WEFTLINE_OUTPUT_KIND_TRANSMIT:
            /* A datagram that cannot be sent is a lost datagram, which the session repairs. */
            (void)!send(driver->socket, datagram, output.length, 0);
            break;
        case WEFTLINE_OUTPUT_KIND_EVENT:
            driver->on_event(driver, &output.event);
            break;
        case WEFTLINE_OUTPUT_KIND_TIMEOUT:
            return output.timeout_ns;
        }
    }
}

/* Drives a session until it is over. */
static void drive(Driver *driver) {
    uint64_t timeout;
    while ((timeout = drain(driver)) != WEFTLINE_NO_TIMEOUT) {
        uint64_t time = now(), wait = timeout > time ? timeout - time : 0;
        struct pollfd ready = {.fd = driver->socket, .events = POLLIN};
        /* In milliseconds, rounded up. */
        poll(&ready, 1, (int)((wait + 999999) / 1000000));
        uint8_t datagram[LONGEST];
        ssize_t length;
        while ((length = recv(driver->socket, datagram, sizeof datagram, MSG_DONTWAIT)) >= 0)
            weftline_session_handle_datagram(driver->session, now(), datagram, (size_t)length);
        /* Datagrams must not keep the timers waiting. An early call is harmless. */
        weftline_session_handle_timeout(driver->session, now());
    }
}

static uint8_t pattern(size_t at) { return (uint8_t)(at * 31 + at / 997); }

/* Writes until the session has no room. */
static void write_more(Driver *driver) {
    WeftlineStatus status = WEFTLINE_STATUS_OK;
    while (driver->bytes < TOTAL && status == WEFTLINE_STATUS_OK) {
        uint8_t chunk[10000];
        size_t length = 0, written;
        while (length < sizeof chunk && driver->bytes + length < TOTAL) {
            chunk[length] = pattern(driver->bytes + length);
            length++;
        }
        status = weftline_session_write(driver->session, driver->stream, chunk, length, &written);
        driver->bytes += status == WEFTLINE_STATUS_OK ? written : 0;
        if (driver->bytes == TOTAL)
            must(!weftline_session_finish(driver->session, driver->stream), "finish");
    }
    must(status == WEFTLINE_STATUS_OK || status == WEFTLINE_STATUS_BLOCKED, "write");
}

static void on_client_event(Driver *driver, const WeftlineEvent *event) {
    uint8_t bytes[100];
    size_t length;
    WeftlineMessage message;
    int done = 0;
    switch (event->kind) {
    case WEFTLINE_EVENT_KIND_CONNECTED:
        must(!weftline_session_open_stream(driver->session, &driver->stream), "open_stream");
        write_more(driver);
        /* Worth nothing after 10 s. */
        must(!weftline_session_send_message(driver->session, now(), (const uint8_t *)"in time?", 8,
                                            10000000000, NULL), "send_message");
        driver->open = 2;
        break;
    case WEFTLINE_EVENT_KIND_STREAM_WRITABLE:
        write_more(driver);
        break;
    case WEFTLINE_EVENT_KIND_MESSAGE_RECEIVED:
        while (!weftline_session_receive_message(driver->session, bytes, sizeof bytes, &length, &message)) {
            printf("client: a message %s\n", message.late ? "too late" : "in time");
            done++;
        }
        break;
    case WEFTLINE_EVENT_KIND_STREAM_FINISHED:
        done++;
        break;
    default:
        break;
    }
    if (done > 0 && (driver->open -= done) == 0)
        weftline_session_close(driver->session, now(), 7, "goodbye");
}

static void on_server_event(Driver *driver, const WeftlineEvent *event) {
    uint8_t bytes[10000];
    size_t length;
    WeftlineCloseReason reason;
    WeftlineStatus status;
    switch (event->kind) {
    case WEFTLINE_EVENT_KIND_STREAM_OPENED:
        must(!weftline_session_accept_stream(driver->session, &driver->stream), "accept_stream");
        break;
    case WEFTLINE_EVENT_KIND_STREAM_READABLE:
        while (!(status = weftline_session_read(driver->session, event->stream, bytes, sizeof bytes, &length)))
            for (size_t at = 0; at < length; at++)
                must(bytes[at] == pattern(driver->bytes++), "the bytes differ");
        must(status == WEFTLINE_STATUS_BLOCKED || status == WEFTLINE_STATUS_END, "read");
        break;
    case WEFTLINE_EVENT_KIND_MESSAGE_RECEIVED:
        while (!weftline_session_receive_message(driver->session, bytes, sizeof bytes, &length, NULL))
            must(!weftline_session_send_message(driver->session, now(), bytes, length,
                                                WEFTLINE_NO_DEADLINE, NULL), "send_message");
        break;
    case WEFTLINE_EVENT_KIND_CLOSED:
        must(!weftline_session_close_reason(driver->session, &reason), "close_reason");
        printf("server: %d bytes, then closed by %s, code %d: %s\n", (int)driver->bytes,
               reason.by == WEFTLINE_CLOSE_CLASS_PEER ? "the peer" : "something else",
               (int)reason.code, reason.text);
        break;
    default:
        break;
    }
}

/* A UDP socket on a free port of loopback, and its address. */
static int bound(struct sockaddr_in *address) {
    socklen_t length = sizeof *address;
    int made = socket(AF_INET, SOCK_DGRAM, 0), buffer = 1 << 20;
    memset(address, 0, sizeof *address);
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    must(made >= 0 && bind(made, (struct sockaddr *)address, sizeof *address) == 0, "bind");
    must(getsockname(made, (struct sockaddr *)address, &length) == 0, "getsockname");
    setsockopt(made, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    return made;
}

int main(void) {
    struct sockaddr_in addresses[2];
    int sockets[2] = {bound(&addresses[0]), bound(&addresses[1])};
    for (int end = 0; end < 2; end++)
        must(connect(sockets[end], (struct sockaddr *)&addresses[1 - end], sizeof *addresses) == 0, "connect");
    pid_t child = fork();
    must(child >= 0, "fork");
    int end = child == 0;

    WeftlineConfig *config = weftline_config_parse("auto");
    must(config != NULL, "config_parse");
    weftline_config_set(config, WEFTLINE_CONFIG_OPTION_IDLE_TIMEOUT, 10000000000);
    /* IP's and UDP's headers. */
    weftline_config_set(config, WEFTLINE_CONFIG_OPTION_DATAGRAM_OVERHEAD, 28);
    Driver driver = {.socket = sockets[end], .on_event = end ? on_server_event : on_client_event};
    driver.session = weftline_session_new(end == 0, config, (uint64_t)getpid(), now());
    must(driver.session != NULL, "session_new");
    weftline_config_free(config);
    must(!weftline_session_set_largest_datagram(driver.session, 1452), "set_largest_datagram");
    drive(&driver);
    weftline_session_free(driver.session);
    fflush(stdout);
    if (end == 1)
        _exit(0);
    int status;
    must(waitpid(child, &status, 0) == child && status == 0, "server");
    return 0;
}
