// Two ends of something like a WebTransport connection, in real time.

/** `delay` in ms; `lose(datagram)` says which are lost; `room`: datagrams that may leave per millisecond. */
export const transports = ({ delay = 1, lose = () => false, room = Infinity, maxDatagramSize = 1200 } = {}) => {
    const ends = ["client", "server"].map(() => new End(delay, lose, room, maxDatagramSize));
    [ends[0].other, ends[1].other] = [ends[1], ends[0]];
    return ends;
};

class End {
    #receiver;
    #resolve;
    #reject;
    /** How `close` was called. */
    closedWith;
    /** Lengths of the datagrams that were sent. */
    sent = [];
    isOpen = true;

    constructor(delay, lose, room, maxDatagramSize) {
        this.closed = new Promise((resolve, reject) => {
            [this.#resolve, this.#reject] = [resolve, reject];
        });
        this.closed.catch(() => {});
        const readable = new ReadableStream({
            start: (controller) => {
                this.#receiver = controller;
            },
        }, { highWaterMark: 0 });
        const writable = new WritableStream({
            write: (datagram) => {
                this.sent.push(datagram.length);
                if (!lose(datagram)) {
                    setTimeout(() => this.other.arrive(datagram), delay);
                }
                return Number.isFinite(room) ? new Promise((resolve) => setTimeout(resolve, 1 / room)) : undefined;
            },
        });
        this.datagrams = { readable, writable, maxDatagramSize, incomingHighWaterMark: 1, outgoingHighWaterMark: 1 };
    }

    arrive(datagram) {
        if (this.isOpen) {
            this.#receiver.enqueue(datagram);
        }
    }

    /** As a browser does when the application closes. */
    close(info = {}) {
        if (this.isOpen) {
            this.closedWith = info;
            this.#end(info);
            setTimeout(() => this.other.isOpen && this.other.#end(info), 1);
        }
    }

    #end(info) {
        this.isOpen = false;
        this.#receiver.close();
        this.#resolve({ closeCode: info.closeCode ?? 0, reason: info.reason ?? "" });
    }

    /** As a browser does when the network is gone. */
    fail(error) {
        this.isOpen = false;
        this.#receiver.error(error);
        this.#reject(error);
    }
}
