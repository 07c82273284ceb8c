import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, describe, test } from "node:test";

import { BlockDecoder, BlockEncoder, init, kernel, longestPayload, Recoder, ReedSolomon, WeftlineError, WindowDecoder, WindowEncoder } from "weftline/codec";

import { bytes, random, seed } from "./support/random.mjs";

const vectors = JSON.parse(readFileSync(process.env.WEFTLINE_VECTORS, "utf8"));
const hex = (digits) => Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const fails = (code, call) => assert.throws(call, (error) => error instanceof WeftlineError && error.code === code);

before(() => init());

test("the kernel with SIMD computes", () => {
    assert.equal(kernel(), "simd128");
});

describe("RFC 8681, by vectors of another implementation", () => {
    for (const vector of vectors.repair_symbols) {
        test(vector.name, () => {
            const options = { bits: vector.m };
            const encoder = new WindowEncoder(vector.nss, vector.e, options);
            const symbols = vector.source_symbols_hex.map(hex);
            symbols.forEach((symbol) => encoder.push(symbol));
            const key = { kind: "rfc8681", key: vector.repair_key, densityThreshold: vector.dt };
            // The first two bytes are the sum of the lengths, which the vectors do not have.
            const repair = encoder.repair(0, vector.nss, key);
            assert.deepEqual(repair.subarray(2), hex(vector.repair_symbol_hex));
            const explicit = encoder.repair(0, vector.nss, Uint8Array.from(vector.coefficients));
            assert.deepEqual(explicit, repair);
        });
    }
});

test("RFC 5510, by vectors of another implementation", () => {
    const cases = vectors.reed_solomon_rfc5510.filter(({ m }) => m === 8);
    assert.ok(cases.length > 0);
    for (const { k, n, source_elements, repair_elements } of cases) {
        const code = new ReedSolomon(k, n - k, { construction: "rfc5510" });
        const sources = source_elements.map((shard) => Uint8Array.from(shard));
        assert.deepEqual(code.encode(sources), repair_elements.map((shard) => Uint8Array.from(shard)));
    }
});

test(`a window recovers what a path lost, in every field (seed ${seed})`, () => {
    for (let bits = 1; bits <= 8; bits++) {
        const next = random(seed + bits);
        const encoder = new WindowEncoder(64, 1200, { bits });
        const decoder = new WindowDecoder(512, 1200, { bits });
        const sent = [];
        let key = 0;
        const repair = () => {
            const { first, end } = encoder.held;
            key += 1;
            const coefficients = { kind: "uniform", key };
            decoder.repair(first, end, coefficients, encoder.repair(first, end, coefficients));
        };
        for (let round = 0; round < 400; round++) {
            const payload = bytes(next, Math.floor(next() * 1200));
            sent.push(payload);
            if (sent.length > 64) {
                encoder.discardBefore(sent.length - 64);
            }
            const esi = encoder.push(payload);
            assert.equal(esi, round);
            if (next() > 0.2) {
                assert.equal(decoder.source(esi, payload), true);
            }
            if (round % 2 === 1) {
                repair();
            }
        }
        // A repair of GF(2) brings nothing new in one of two cases, so the last losses may still be open.
        for (let more = 0; decoder.contiguous < 400; more++) {
            assert.ok(more < 100, `GF(2^${bits}): ${decoder.contiguous} of 400 known`);
            repair();
        }
        const known = new Set();
        for (let esi; (esi = decoder.nextKnown()) !== undefined; ) {
            known.add(esi);
            assert.deepEqual(decoder.symbol(esi), sent[esi]);
        }
        assert.equal(known.size, 400);
        assert.equal(decoder.symbol(1000), undefined);
        decoder.forgetBefore(decoder.contiguous);
        assert.equal(decoder.symbol(0), undefined);
        encoder.free();
        decoder.free();
    }
});

test("a block comes from any symbols that suffice", () => {
    const next = random(seed);
    const encoder = new BlockEncoder(32, 1000);
    const decoder = new BlockDecoder(32, 1000);
    for (let block = 0; block < 3; block++) {
        const sent = Array.from({ length: 32 }, () => bytes(next, 1 + Math.floor(next() * 1000)));
        sent.forEach((payload, index) => assert.equal(encoder.push(payload), index));
        assert.equal(encoder.length, 32);
        fails("full", () => encoder.push(new Uint8Array(1)));
        sent.forEach((payload, index) => index % 3 > 0 && decoder.source(index, payload));
        assert.equal(decoder.missing, 11);
        for (let key = 0; decoder.deficit > 0; key++) {
            decoder.repair({ kind: "nonZero", key }, encoder.repair(key));
            assert.ok(key < 40, "too many repair symbols were needed");
        }
        sent.forEach((payload, index) => assert.deepEqual(decoder.symbol(index), payload));
        encoder.clear();
        decoder.clear();
        assert.equal(decoder.symbol(0), undefined);
    }
});

test("a relay makes new repair symbols without decoding", () => {
    const next = random(seed);
    const sent = Array.from({ length: 10 }, () => bytes(next, 500));
    const relay = new Recoder(32, 64, 500);
    const decoder = new WindowDecoder(64, 500);
    const encoder = new WindowEncoder(16, 500);
    assert.equal(relay.recode(1), undefined);
    sent.forEach((payload) => encoder.push(payload));
    for (let key = 1; relay.rank < 10; key++) {
        relay.repair(0, 10, key, encoder.repair(0, 10, key));
    }
    for (let key = 1; decoder.contiguous < 10; key++) {
        const { first, end, vector, data } = relay.recode(key);
        decoder.repair(first, end, vector, data);
        assert.ok(key < 30, "too many were needed");
    }
    sent.forEach((payload, esi) => assert.deepEqual(decoder.symbol(esi), payload));
});

test("Reed-Solomon recovers from any k shards of k + m", () => {
    const next = random(seed);
    for (const construction of ["cauchy", "rfc5510"]) {
        const code = new ReedSolomon(10, 4, { construction });
        const sources = Array.from({ length: 10 }, () => bytes(next, 999));
        const shards = [...sources, ...code.encode(sources)];
        for (let round = 0; round < 50; round++) {
            const missing = new Set(Array.from({ length: 4 }, () => Math.floor(next() * 14)));
            const received = shards.map((shard, index) => (missing.has(index) ? null : shard));
            assert.deepEqual(code.reconstruct(received), sources);
        }
        fails("missing", () => code.reconstruct(sources.slice(0, 9)));
        fails("argument", () => code.encode(sources.slice(1)));
        fails("argument", () => code.encode([...sources.slice(1), new Uint8Array(3)]));
        fails("argument", () => code.encode([...sources.slice(1), "text"]));
        fails("argument", () => code.reconstruct(7));
    }
});

test("errors have a code for programs and say what to give", () => {
    const encoder = new WindowEncoder(2, 100);
    fails("argument", () => encoder.push(new Uint8Array(101)));
    encoder.push(new Uint8Array(1));
    encoder.push(Buffer.from("a"));
    fails("argument", () => encoder.push(new ArrayBuffer(5)));
    fails("full", () => encoder.push(new Uint8Array(1)));
    assert.throws(() => encoder.repair(0, 3, 1), /holds 0\.\.2/);
    for (const bad of [-1, 0.5, NaN, Infinity, 2 ** 53]) {
        fails("argument", () => encoder.repair(bad, 2, 1));
        fails("argument", () => encoder.discardBefore(bad));
        fails("argument", () => new WindowDecoder(bad, 100));
        fails("argument", () => new BlockDecoder(8, bad));
    }
    for (const bad of [null, undefined, "7", 1.5, 2 ** 32, {}, { kind: "other", key: 1 }, { kind: "sparse", key: 1 }]) {
        fails("argument", () => encoder.repair(0, 2, bad));
    }
    assert.throws(() => new WindowEncoder(9000, 100), /1 to 8192/);
    assert.throws(() => new WindowEncoder(8, 70_000), /at most 65535/);
    assert.throws(() => new WindowEncoder(8, 100, { bits: 9 }), /1 to 8 bits/);
    assert.throws(() => new ReedSolomon(200, 100), /256/);
    const decoder = new WindowDecoder(8, 100);
    fails("full", () => decoder.source(9, new Uint8Array(1)));
    decoder.forgetBefore(5);
    fails("late", () => decoder.repair(0, 6, 1, new Uint8Array(10)));
});

test("an encoder that evicts is never full", () => {
    const encoder = new WindowEncoder(2, 10, { evict: true });
    for (let round = 0; round < 10; round++) {
        encoder.push(new Uint8Array(3));
    }
    assert.deepEqual(encoder.held, { first: 8, end: 10 });
});

test("the longest payload is the one whose repair symbols fit", () => {
    assert.equal(longestPayload(1200), 1198);
    assert.equal(longestPayload(1), 0);
    assert.equal(longestPayload(1200, 3) % 3, 1);
});

test(`random input is refused, never trapped (seed ${seed})`, () => {
    const next = random(seed);
    const odd = () => [Math.floor(next() * 40), -1, next() * 1e9, 2 ** 53 - 1, NaN][Math.floor(next() * 5)];
    const coefficients = () => [odd(), bytes(next, Math.floor(next() * 20)), { kind: "fading", key: odd(), dense: odd() }][Math.floor(next() * 3)];
    const window = new WindowDecoder(32, 50);
    const block = new BlockDecoder(16, 50);
    const relay = new Recoder(8, 32, 50);
    const encoder = new WindowEncoder(16, 50, { evict: true });
    const calls = [
        () => window.source(odd(), bytes(next, next() * 60)),
        () => window.repair(odd(), odd(), coefficients(), bytes(next, next() * 60)),
        () => window.forgetBefore(odd()),
        () => block.source(odd(), bytes(next, next() * 60)),
        () => block.repair(coefficients(), bytes(next, next() * 60)),
        () => relay.source(odd(), bytes(next, next() * 60)),
        () => relay.repair(odd(), odd(), coefficients(), bytes(next, next() * 60)),
        () => relay.recode(odd()),
        () => relay.forgetBefore(odd()),
        () => encoder.push(bytes(next, next() * 60)),
        () => encoder.repair(odd(), odd(), coefficients()),
    ];
    for (let round = 0; round < 20_000; round++) {
        try {
            calls[Math.floor(next() * calls.length)]();
        } catch (error) {
            assert.ok(error instanceof WeftlineError, `${error.stack}`);
        }
    }
});
