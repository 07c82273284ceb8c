// Runs a WASI program under Node.js: node wasi.mjs PROGRAM [ARGUMENT]...
// docs/reference/testing-kernels.md has the command that uses it.
import { readFile } from "node:fs/promises";
import { WASI } from "node:wasi";

const args = process.argv.slice(2);
const wasi = new WASI({
  version: "preview1",
  args,
  env: process.env,
  preopens: { ".": "." },
  returnOnExit: true,
});
const program = await WebAssembly.compile(await readFile(args[0]));
const instance = await WebAssembly.instantiate(program, {
  wasi_snapshot_preview1: wasi.wasiImport,
});
process.exitCode = wasi.start(instance);
