/**
 * Relays a request in a vendor's own format to this vendor. The client gets the answer in the vendor's format, with few
 * changes such as the model's name. So the answer also contains fields that the gateway does not support. In a stream,
 * the gateway parses only events with token counts, the name of the model, the end of the answer or a failure.
 */
import type { FinishReason, ModelChunk, Usage } from '../../../agent/index.ts';
import type { TimeoutOptions, Vendor, VendorSettings } from '../../../agent/internal/index.ts';

/** A request in a vendor's own format, and functions that read the vendor's answer. */
export interface Relay {
  /** Returns whether a provider of this type (for example `anthropic`) can get the request. */
  accepts(type: string): boolean;
  /** Whether the answer is a stream of server-sent events. If false, the answer is one JSON object. */
  readonly stream: boolean;
  /** Returns the path to append to the vendor's base URL, for example `/messages`. */
  path(model: string): string;
  /**
   * Returns the body of the request, with the vendor's name of the model. If `maxOutputTokens` is defined, it replaces
   * the client's limit.
   */
  body(model: string, maxOutputTokens: number | undefined): unknown;
  /** Headers of the client that are forwarded to the vendor, for example `anthropic-beta`. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Changes the text of a stream before its events are parsed, for example to replace the model's name. Called for each
   * piece of the stream, so it must be fast.
   */
  rewrite?(text: string): string;
  /**
   * The pattern of events that are passed to `read`. Other events are forwarded without being parsed. The pattern must
   * not have the flag g or y, because a match would then depend on the previous one.
   */
  readonly watched: RegExp;
  /**
   * Reads an event or the complete answer. May change it, for example to replace the model's name. The events arrive
   * in order, so the function may keep state in its closure. For this reason, each request needs its own Relay.
   */
  read(event: Record<string, unknown>): RelayReading;
}

export interface RelayReading {
  /** The token counts up to now. They replace the earlier counts. */
  readonly usage?: Usage | undefined;
  /** The reason why the answer ended. Set only by the event that contains it. */
  readonly end?: FinishReason | undefined;
  /**
   * Whether the event reports a failure. Such an event is not forwarded. The client gets the gateway's error instead,
   * in the format of the vendor's API.
   */
  readonly failed?: boolean;
  /** Whether `read` has changed the event. */
  readonly changed?: boolean;
  /** Whether the event must not be forwarded to the client. */
  readonly dropped?: boolean;
}

/** A chunk of an answer in the vendor's format: complete events, or the complete JSON object. */
export interface RawChunk {
  readonly kind: 'raw';
  readonly text: string;
  /** The token counts up to now, if the vendor has reported any. */
  readonly usage?: Usage | undefined;
}

/** The vendor and the model to which a request is relayed. */
export interface RelayTarget extends TimeoutOptions {
  readonly vendor: Vendor;
  readonly settings: VendorSettings;
  /** The vendor's name of the model. */
  readonly model: string;
  /** The name in error messages. */
  readonly name: string;
  readonly maxOutputTokens?: number | undefined;
}

export type RelayChunk = RawChunk | Extract<ModelChunk, { kind: 'finish' }>;
