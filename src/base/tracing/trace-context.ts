/** The W3C trace context, in the header `traceparent`: `00-TRACE-SPAN-FLAGS`. */
import { randomBytes } from 'node:crypto';

export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  readonly sampled: boolean;
}

// Later versions may append fields. The version ff, and ids that consist only of zeros, are invalid.
const HEADER =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Parses the header. Returns undefined if the header is missing or invalid. */
export function parseTraceparent(header: string | undefined): TraceContext | undefined {
  if (header === undefined || header.length > 256) return undefined;
  const [, version, traceId, spanId, flags, more] = HEADER.exec(header) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (version === '00' && more !== undefined) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** Returns the header, or undefined if it is missing or invalid. */
export function validTraceparent(header: string | undefined): string | undefined {
  return parseTraceparent(header) && header;
}

export function traceparentOf({ traceId, spanId, sampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
}

/**
 * Returns the context of a new span. The span belongs to the trace of its parent, and inherits `sampled` from the
 * parent. Without a parent, a new trace starts.
 */
export function childOf(parent: TraceContext | undefined): TraceContext {
  return {
    traceId: parent?.traceId ?? randomBytes(16).toString('hex'),
    spanId: randomBytes(8).toString('hex'),
    sampled: parent?.sampled ?? true,
  };
}
