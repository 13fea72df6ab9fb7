/**
 * A stored entry for the readers of a log. All readers that are not behind share one object. So it is serialized once
 * per view and protocol version, not once per reader.
 */
import { lineSafe } from '../../base/index.ts';
import type { LogEntry, TaskEvent, WireCodec } from '../../protocol/index.ts';
import type { SerializedEntry } from '../store/store.ts';
import { roughSize } from './size.ts';
import { viewed, type LogView } from './view.ts';

/** A stored event, with its JSON for each protocol version. */
export class Published implements LogEntry {
  readonly seq: number;
  readonly event: TaskEvent;
  readonly #stored: string | undefined;
  #codec: WireCodec | undefined;
  #text = '';
  #others: Map<WireCodec, string> | undefined;
  #views: Map<LogView, Published | undefined> | undefined;

  constructor(entry: SerializedEntry) {
    this.seq = entry.seq;
    this.event = entry.event;
    this.#stored = entry.json;
  }

  /** The approximate size of the event's JSON. */
  get size(): number {
    return this.#stored?.length ?? roughSize(this.event);
  }

  /** Returns the event's JSON in the codec's protocol version. */
  text(codec: WireCodec): string {
    if (this.#codec === codec) return this.#text;
    const known = this.#others?.get(codec);
    if (known !== undefined) return known;
    const text = codec.eventText?.(this.event) ?? lineSafe(this.#encoded(codec));
    if (this.#codec === undefined) {
      this.#codec = codec;
      this.#text = text;
    } else {
      (this.#others ??= new Map()).set(codec, text);
    }
    return text;
  }

  /** Returns the entry as a view shows it, or undefined if the view does not contain it. */
  in(view: LogView): Published | undefined {
    const known = this.#views?.get(view);
    if (known !== undefined || this.#views?.has(view)) return known;
    const event = viewed(view, this.event);
    if (event === this.event) return this;
    const shown = event && new Published({ seq: this.seq, event });
    (this.#views ??= new Map()).set(view, shown);
    return shown;
  }

  #encoded(codec: WireCodec): string {
    const encoded = codec.encodeEvent(this.event);
    return encoded === this.event && this.#stored !== undefined
      ? this.#stored
      : JSON.stringify(encoded);
  }
}
