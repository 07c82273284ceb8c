/* A block of ten packets over a path that loses every third: repair symbols until it is decoded. */
#include "weftline.h"

#include <stdio.h>
#include <string.h>

enum { SYMBOLS = 10, SIZE = 1200, GF256 = 8 };

int main(void) {
    WeftlineBlockEncoder *sender = weftline_block_encoder_new(GF256, SYMBOLS, SIZE);
    WeftlineBlockDecoder *receiver = weftline_block_decoder_new(GF256, SYMBOLS, SIZE);
    int sent = 0, failed = !sender || !receiver;

    /* Systematic: first the packets as they are, which may differ in length. */
    for (size_t index = 0; index < SYMBOLS && !failed; index++) {
        char text[SIZE];
        int length = snprintf(text, sizeof text, "packet number %zu", index);
        failed |= weftline_block_encoder_push(sender, (uint8_t *)text, (size_t)length, NULL);
        if (++sent % 3 != 0)
            failed |= weftline_block_decoder_source(receiver, index, (uint8_t *)text,
                                                    (size_t)length, NULL);
    }

    /* Then combinations of all of them, each with another key, which travels with it. */
    for (uint32_t key = 0; weftline_block_decoder_deficit(receiver) > 0 && !failed; key++) {
        WeftlineCoefficients coefficients = {.kind = WEFTLINE_COEFFICIENTS_NON_ZERO, .key = key};
        uint8_t repair[SIZE + 2];
        size_t length;
        failed |= weftline_block_encoder_repair(sender, coefficients, repair, sizeof repair, &length);
        if (++sent % 3 != 0 && !failed)
            failed |= weftline_block_decoder_repair(receiver, coefficients, repair, length, NULL);
    }

    for (size_t index = 0; index < SYMBOLS && !failed; index++) {
        char expected[SIZE];
        int length = snprintf(expected, sizeof expected, "packet number %zu", index);
        const uint8_t *payload;
        size_t got;
        failed |= weftline_block_decoder_symbol(receiver, index, &payload, &got);
        failed |= !failed && (got != (size_t)length || memcmp(payload, expected, got) != 0);
    }
    if (failed)
        fprintf(stderr, "failed: %s\n", weftline_last_error());
    else
        printf("%d packets sent, every third lost, all %d here\n", sent, SYMBOLS);
    weftline_block_encoder_free(sender);
    weftline_block_decoder_free(receiver);
    return failed;
}
