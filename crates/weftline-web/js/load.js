// Loads a module in WebAssembly, in a page, in a worker and in Node.js.

import { WeftlineError } from "./objects.js";

/**
 * Where the module comes from: its address, its bytes, or the compiled module (which a page can give its workers, so
 * that it is compiled once).
 *
 * @typedef {URL | string | BufferSource | WebAssembly.Module} WasmSource
 */

/**
 * A function that loads a module once; further calls wait for the same.
 *
 * @param {(module: { module_or_path: WebAssembly.Module }) => Promise<unknown>} instantiate
 * @param {URL} usual where the module is unless the caller says otherwise
 * @returns {(source?: WasmSource) => Promise<void>}
 */
export const loader = (instantiate, usual) => {
    /** @type {Promise<void> | undefined} */
    let loading;
    /** @param {WasmSource} source */
    const load = async (source) => {
        const module = await compiled(source);
        try {
            await instantiate({ module_or_path: module });
        } catch (cause) {
            const advice = "the module and the scripts beside it must be of one version";
            throw new WeftlineError("argument", `the module of Weftline cannot be started: ${advice}`, { cause });
        }
    };
    return (source = usual) => {
        loading ??= load(source).catch((/** @type {unknown} */ error) => {
            loading = undefined;
            throw error;
        });
        return loading;
    };
};

/** @param {WasmSource} source @returns {Promise<WebAssembly.Module>} */
const compiled = async (source) => {
    if (source instanceof WebAssembly.Module) {
        return source;
    }
    const bytes = typeof source === "string" || source instanceof URL ? await fetched(new URL(source, import.meta.url)) : source;
    try {
        return await WebAssembly.compile(bytes);
    } catch (cause) {
        const advice = "it needs SIMD: Chrome 91, Firefox 89, Safari 16.4, Node.js 20.16 or later";
        throw new WeftlineError("unsupported", `the module of Weftline cannot be compiled here: ${advice}`, { cause });
    }
};

/** @param {URL} url @returns {Promise<BufferSource>} */
const fetched = async (url) => {
    try {
        if (url.protocol === "file:") {
            return await ofFile(url);
        }
        const response = await fetch(url);
        if (!response.ok) {
            throw new Error(`the server answers ${response.status}`);
        }
        return await response.arrayBuffer();
    } catch (cause) {
        const advice = "put the file beside the script, or say with `wasm` where it is";
        throw new WeftlineError("argument", `${url} cannot be loaded: ${advice}`, { cause });
    }
};

/**
 * Node.js reads files; its `fetch` does not.
 *
 * @param {URL} url
 * @returns {Promise<BufferSource>}
 */
const ofFile = async (url) => {
    // Not imported: tools that pack scripts for browsers would look for it.
    const { process } = /** @type {{ process?: { getBuiltinModule?: (name: string) => any } }} */ (globalThis);
    const files = process?.getBuiltinModule?.("node:fs/promises");
    return files ? files.readFile(url) : (await fetch(url)).arrayBuffer();
};
