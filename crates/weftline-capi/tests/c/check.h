/* Checks, chance, and two sessions over a path in virtual time. */
#ifndef CHECK_H
#define CHECK_H

#include "weftline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(condition)                                                                        \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            fprintf(stderr, "line %d: %s (%s)\n", __LINE__, #condition, weftline_last_error()); \
            exit(1);                                                                           \
        }                                                                                      \
    } while (0)

#define OK(call) MUST((call) == WEFTLINE_STATUS_OK)

enum { SLOTS = 4096, LONGEST = 2048, MOST_EVENTS = 256 };
static const uint64_t MS = 1000000, SECOND = 1000000000;

static inline uint32_t draw(uint32_t below) {
    static uint32_t chance = 1;
    chance = chance * 1664525u + 1013904223u;
    return (chance >> 8) % below;
}

/* The client is end 0. Each way takes `delay`, 5 ms at first, and loses one datagram of `lose` (0: none). */
typedef struct Pair {
    WeftlineSession *ends[2];
    uint64_t now, delay;
    uint32_t lose;
    bool cut[2]; /* What this end sends is lost. */
    size_t longest; /* The longest datagram sent since this was last set to 0. */
    struct { uint64_t at; int to; size_t length; uint8_t bytes[LONGEST]; } path[SLOTS];
    size_t head, tail;
    WeftlineEvent events[2][MOST_EVENTS]; /* The ones that `happened` has not found. */
    size_t count[2];
} Pair;

static inline Pair *pair_new(const WeftlineConfig *config, uint32_t lose) {
    Pair *pair = calloc(1, sizeof *pair);
    MUST(pair != NULL);
    pair->lose = lose;
    pair->delay = 5 * MS;
    pair->ends[0] = weftline_session_new(true, config, 1, 0);
    pair->ends[1] = weftline_session_new(false, config, 2, 0);
    MUST(pair->ends[0] && pair->ends[1]);
    return pair;
}

static inline void pair_free(Pair *pair) {
    weftline_session_free(pair->ends[0]);
    weftline_session_free(pair->ends[1]);
    free(pair);
}

/* Drains one end; when it wants to be called again. */
static inline uint64_t drain(Pair *pair, int end) {
    for (;;) {
        WeftlineOutput output;
        uint8_t *bytes = pair->path[pair->head % SLOTS].bytes;
        OK(weftline_session_poll_output(pair->ends[end], pair->now, bytes, LONGEST, &output));
        if (output.kind == WEFTLINE_OUTPUT_KIND_TIMEOUT)
            return output.timeout_ns;
        if (output.kind == WEFTLINE_OUTPUT_KIND_EVENT) {
            MUST(pair->count[end] < MOST_EVENTS && output.event.kind != WEFTLINE_EVENT_KIND_NONE);
            pair->events[end][pair->count[end]++] = output.event;
            continue;
        }
        MUST(output.kind == WEFTLINE_OUTPUT_KIND_TRANSMIT && output.length > 0);
        pair->longest = output.length > pair->longest ? output.length : pair->longest;
        if (pair->cut[end] || (pair->lose && draw(pair->lose) == 0))
            continue;
        pair->path[pair->head % SLOTS].length = output.length;
        pair->path[pair->head % SLOTS].to = 1 - end;
        pair->path[pair->head % SLOTS].at = pair->now + pair->delay;
        pair->head++;
        MUST(pair->head - pair->tail < SLOTS);
    }
}

/* Time passes until the next datagram arrives or the next timer is due, but not beyond `until`. False:
   nothing will ever happen, or not before `until`. */
static inline bool step(Pair *pair, uint64_t until) {
    uint64_t next = WEFTLINE_NO_TIMEOUT;
    for (int end = 0; end < 2; end++) {
        uint64_t timeout = drain(pair, end);
        next = timeout < next ? timeout : next;
    }
    bool arrives = pair->tail < pair->head && pair->path[pair->tail % SLOTS].at <= next;
    next = arrives ? pair->path[pair->tail % SLOTS].at : next;
    if (next == WEFTLINE_NO_TIMEOUT || next > until) {
        pair->now = until > pair->now ? until : pair->now;
        return false;
    }
    pair->now = next > pair->now ? next : pair->now + 1000;
    if (arrives) {
        size_t slot = pair->tail++ % SLOTS;
        OK(weftline_session_handle_datagram(pair->ends[pair->path[slot].to], pair->now,
                                            pair->path[slot].bytes, pair->path[slot].length));
    } else {
        for (int end = 0; end < 2; end++)
            OK(weftline_session_handle_timeout(pair->ends[end], pair->now));
    }
    return true;
}

static inline void run(Pair *pair, uint64_t ns) {
    for (uint64_t until = pair->now + ns; step(pair, until);)
        ;
}

/* Takes the oldest event of a kind, if there is one. */
static inline bool happened(Pair *pair, int end, WeftlineEventKind kind, WeftlineEvent *event) {
    for (size_t at = 0; at < pair->count[end]; at++) {
        if (pair->events[end][at].kind == kind) {
            if (event)
                *event = pair->events[end][at];
            memmove(&pair->events[end][at], &pair->events[end][at + 1],
                    (--pair->count[end] - at) * sizeof *pair->events[end]);
            return true;
        }
    }
    return false;
}

#endif
