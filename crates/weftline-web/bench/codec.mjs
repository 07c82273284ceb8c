// How fast is the codec in WebAssembly, beside the same calls in Rust?
//
//   packaging/web
//   cargo build --release -p weftline-codec --example speed
//   node crates/weftline-web/bench/codec.mjs target/release/examples/speed
//
// Both in turns, with the kernel that the processor is best at and with the one of equal registers (SSSE3). Each number
// is the median over the rounds of the least of many short batches. SIZE is the bytes of all symbols of a call.

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

import { BlockEncoder, init, kernel, Recoder, ReedSolomon, WindowEncoder } from "../dist/npm/codec.js";

const BATCH = 0.5; // ms
const BATCHES = 300;

const measure = (call) => {
    const start = performance.now();
    let calls = 0;
    while (performance.now() - start < BATCH) {
        call();
        calls += 1;
    }
    let least = Infinity;
    for (let batch = 0; batch < BATCHES; batch++) {
        const began = performance.now();
        for (let count = 0; count < calls; count++) {
            call();
        }
        least = Math.min(least, ((performance.now() - began) * 1e6) / calls);
    }
    return least;
};

const web = () => {
    const results = {};
    for (const [symbols, size] of [[64, 1024], [256, 1200], [64, 16384]]) {
        const window = new WindowEncoder(symbols, size);
        const block = new BlockEncoder(symbols, size);
        const relay = new Recoder(symbols, symbols, size);
        for (let esi = 0; esi < symbols; esi++) {
            const payload = new Uint8Array(size).fill(esi);
            window.push(payload);
            block.push(payload);
            relay.source(esi, payload);
        }
        let key = 0;
        results[`window-repair-${symbols}x${size}`] = measure(() => window.repair(0, symbols, key++));
        results[`block-repair-${symbols}x${size}`] = measure(() => block.repair(key++));
        results[`recode-${symbols}x${size}`] = measure(() => relay.recode(key++));
        for (const made of [window, block, relay]) {
            made.free();
        }
    }
    const window = new WindowEncoder(16, 65_535, { evict: true });
    const payload = new Uint8Array(65_535).fill(7);
    results["window-push-65535"] = measure(() => window.push(payload));
    for (const size of [8 << 10, 64 << 10, 1 << 20]) {
        const code = new ReedSolomon(10, 4);
        const sources = Array.from({ length: 10 }, (_, index) => new Uint8Array(size).fill(index));
        results[`rs-encode-10+4x${size}`] = measure(() => code.encode(sources));
        const shards = [...Array(4), ...sources.slice(4), ...code.encode(sources)];
        results[`rs-reconstruct-4of10x${size}`] = measure(() => code.reconstruct(shards));
        code.free();
    }
    return results;
};

const native = (program, kernel) => {
    const env = kernel === undefined ? process.env : { ...process.env, WEFTLINE_KERNEL: kernel };
    const { stdout, status } = spawnSync(program, { env, encoding: "utf8" });
    if (status !== 0) {
        throw new Error(`${program} failed`);
    }
    const lines = stdout.trim().split("\n").map((line) => line.split(" "));
    return Object.fromEntries(lines.map(([name, nanos]) => [name, Number(nanos)]));
};

const median = (numbers) => numbers.sort((a, b) => a - b)[numbers.length >> 1];

const main = async () => {
    const program = process.argv[2];
    const rounds = Number(process.argv[3] ?? 5);
    if (program === undefined) {
        console.error(`usage: node ${fileURLToPath(import.meta.url)} SPEED [ROUNDS], see the first lines of this file`);
        process.exit(2);
    }
    await init();
    const runs = { best: [], ssse3: [], web: [] };
    for (let round = 0; round < rounds; round++) {
        runs.best.push(native(program));
        runs.ssse3.push(native(program, "ssse3"));
        runs.web.push(web());
    }
    const micros = (nanos) => (nanos / 1000).toFixed(nanos < 1e5 ? 2 : 0);
    console.log(`| call | Rust, us | Rust with SSSE3, us | web (${kernel()}), us | web for Rust | web for SSSE3 |`);
    console.log("| --- | --- | --- | --- | --- | --- |");
    for (const name of Object.keys(runs.web[0])) {
        const [best, ssse3, web] = [runs.best, runs.ssse3, runs.web].map((run) => median(run.map((one) => one[name])));
        const ratio = (one) => (web / one).toFixed(2);
        console.log(`| ${name} | ${micros(best)} | ${micros(ssse3)} | ${micros(web)} | ${ratio(best)} | ${ratio(ssse3)} |`);
    }
};

await main();
