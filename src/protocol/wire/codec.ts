/**
 * A codec converts between the internal format and the JSON of one protocol version. It has no side effects and is
 * independent of HTTP. Almost no other code depends on the format of a version.
 *
 * Decoding validates known fields and keeps most unknown fields. An `invalidParams` error names the invalid field.
 * Encoding never fails.
 */
import type { AgentCard } from '../card.ts';
import type { A2AError } from '../errors.ts';
import type { Operation, ParamsOf, ResultOf, UnaryOperation } from '../methods.ts';
import type { StreamEvent } from '../task.ts';
import type { ProtocolVersion } from '../version.ts';
import type { ErrorSubject } from './error.ts';

/** Converts between the internal format and the JSON of one protocol version. */
export interface WireCodec {
  readonly version: ProtocolVersion;

  /** Server: decodes a peer's parameters. Throws `invalidParams` if they are invalid. */
  decodeParams<O extends Operation>(operation: O, raw: unknown): ParamsOf<O>;
  /** Client: encodes parameters for the peer. */
  encodeParams<O extends Operation>(operation: O, params: ParamsOf<O>): unknown;

  /** Server: encodes a result for the peer. */
  encodeResult<O extends UnaryOperation>(operation: O, result: ResultOf<O>): unknown;
  /** Client: decodes the peer's result. Throws `invalidAgentResponse` if it is invalid. */
  decodeResult<O extends UnaryOperation>(operation: O, raw: unknown): ResultOf<O>;

  /** Encodes one event of a stream, for the JSON-RPC `result` or the SSE `data`. */
  encodeEvent(event: StreamEvent): unknown;
  /**
   * Returns the JSON text of an event without creating objects first, or undefined if the codec cannot do so for this
   * event. The text equals `lineSafe(JSON.stringify(encodeEvent(event)))`.
   */
  eventText?(event: StreamEvent): string | undefined;
  decodeEvent(raw: unknown): StreamEvent;

  encodeCard(card: AgentCard): unknown;
  /** Decodes a card. Throws `invalidAgentResponse` if it is invalid. */
  decodeCard(raw: unknown): AgentCard;

  /** Returns the `error` member of a JSON-RPC response. */
  encodeError(error: A2AError): { code: number; message: string; data?: unknown };
  /**
   * Decodes the `error` member of a JSON-RPC response, or a REST error body. `http` is the HTTP status, if known.
   * `subject` is the kind of object that the failed REST request was for, such as a task.
   */
  decodeError(raw: unknown, http?: number, subject?: ErrorSubject): A2AError;
}
