// What users write, checked strictly.
import { connect, connectOver, type Connection, type Message, type Stats, type Stream, WeftlineError } from "weftline";
import { init as initCodec, ReedSolomon, type Coefficients, WindowDecoder, WindowEncoder } from "weftline/codec";
import { init, Session, type SessionEvent } from "weftline/session";

export const play = async (url: string, hash: Uint8Array): Promise<number> => {
    const connection: Connection = await connect(url, { certificateHash: hash, preset: "auto", session: { deliverLate: true } });
    let bytes = 0;
    for await (const message of connection.messages()) {
        const { data, late }: Message = message;
        bytes += late ? 0 : data.length;
    }
    const { by, code, reason } = await connection.closed;
    const stats: Stats = connection.stats();
    console.log(by === "peer" ? code : reason, stats.path.rtt.toFixed(1), stats.received.recoveredSymbols);
    return bytes;
};

export const send = async (transport: WebTransport): Promise<boolean> => {
    const connection = await connectOver(transport, { role: "server" });
    try {
        const receipt = await connection.sendMessage(new TextEncoder().encode("hello"), { deadline: 50 });
        const stream: Stream = await connection.openStream();
        await new Blob(["file"]).stream().pipeTo(stream.writable);
        return await receipt.delivered;
    } catch (error) {
        if (error instanceof WeftlineError && error.code === "reset") {
            return error.peerCode === 0;
        }
        throw error;
    }
};

export const drive = async (received: Uint8Array): Promise<Uint8Array | undefined> => {
    await init();
    const session = new Session("streaming,l=5", "client", { seed: 1 });
    session.handleDatagram(performance.now(), received);
    const event: SessionEvent | undefined = session.pollEvent();
    if (event?.type === "streamStopped") {
        console.log(event.stream, event.code);
    }
    const message: Message | undefined = session.recvMessage();
    return message?.data ?? session.pollTransmit(performance.now());
};

export const code = async (lost: Uint8Array): Promise<void> => {
    await initCodec();
    const encoder = new WindowEncoder(64, 1200, { evict: true });
    const decoder = new WindowDecoder(64, 1200);
    const { first, end } = encoder.held;
    const vector: Coefficients = { kind: "sparse", key: 7, densityThreshold: 3 };
    decoder.repair(first, end, vector, encoder.repair(first, end, vector));
    const shards: Uint8Array[] = new ReedSolomon(4, 2).encode([lost, lost, lost, lost]);
    // @ts-expect-error: there is no such kind
    encoder.repair(0, 1, { kind: "sparce", key: 1 });
    // @ts-expect-error: a role is client or server
    new Session("auto", "peer");
    console.log(shards.length);
};
