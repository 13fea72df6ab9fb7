/**
 * The events of one task in memory. The most recent ones are objects; older ones, and all of a finished task, are
 * JSON outside the JavaScript heap, so that a hundred thousand finished tasks are nothing to the garbage collector.
 */
import type { LogEntry, TaskEvent } from '../protocol/index.ts';

/** So many events are packed together: a reader that wants one of them parses them all. */
const PACK = 128;

export class EventShelf {
  /** Full packs of PACK events each, then, in a finished task, one with the rest. */
  #packs: Buffer[] | undefined;
  /** The events behind the full packs; undefined while they are packed too. */
  #recent: TaskEvent[] | undefined = [];
  #length = 0;
  #bytes = 0;

  get length(): number {
    return this.#length;
  }

  /** What is packed, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  push(event: TaskEvent): void {
    const recent = (this.#recent ??= this.#unpackRest());
    recent.push(event);
    this.#length++;
    if (recent.length >= 2 * PACK) this.#pack(recent.splice(0, PACK));
  }

  /** Nothing more is expected for now. */
  close(): void {
    const recent = this.#recent;
    if (!recent) return;
    this.#recent = undefined;
    for (let at = 0; at < recent.length; at += PACK) this.#pack(recent.slice(at, at + PACK));
  }

  read(after: number, limit: number): LogEntry[] {
    const entries: LogEntry[] = [];
    const end = Math.min(after + limit, this.#length);
    for (let at = after; at < end;) {
      const { events, first } = this.#around(at);
      const stop = Math.min(end, first + events.length);
      for (; at < stop; at++) entries.push({ seq: at + 1, event: events[at - first]! });
    }
    return entries;
  }

  /** The pack, or the recent events, that hold event `at`, and where they begin. */
  #around(at: number): { events: readonly TaskEvent[]; first: number } {
    const index = Math.floor(at / PACK);
    const pack = this.#packs?.[index];
    if (pack) return { events: unpack(pack), first: index * PACK };
    return { events: this.#recent ?? [], first: (this.#packs?.length ?? 0) * PACK };
  }

  #pack(events: readonly TaskEvent[]): void {
    const pack = Buffer.from(JSON.stringify(events));
    (this.#packs ??= []).push(pack);
    this.#bytes += pack.length;
  }

  /** Takes back what is behind the last full pack, because the task goes on. */
  #unpackRest(): TaskEvent[] {
    if (this.#length % PACK === 0) return [];
    const rest = this.#packs?.pop();
    if (!rest) return [];
    this.#bytes -= rest.length;
    return unpack(rest);
  }
}

/** What was packed here is what comes out: these are our own bytes. */
function unpack(pack: Buffer): TaskEvent[] {
  return JSON.parse(pack.toString());
}
